"""A memristor and a field-effect transistor in series (1T1R): the node between them eliminated."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from ..._check import as_number, check_number
from ..._pytree import register
from .common import allowed, check_finite, check_positive, same_dtype

# With channel-length modulation the closed form is a start for Newton's method; 5 steps reach
# the last bit of float64 up to λ·U = 1.
_STEPS = 8


@register("vg", "vto", "kp", "w_over_l", "lam")
@dataclasses.dataclass(frozen=True)
class Transistor:
    """An ohmic memristor g from the word line to a level-1 NMOS, whose source is the bit line.

    One transistor, one resistor (1T1R). The transistor is that of Shichman & Hodges 1968 (SPICE
    level 1) with the body tied to the source, so no body effect, and without leakage: with
    the drain at z above the source and an overdrive b = vg − V_bit − vto > 0,

        I = kp·w_over_l·(b − z/2)·z·(1 + lam·z)    0 ≤ z < b, triode
        I = kp·w_over_l·b²/2·(1 + lam·z)           z ≥ b, saturation

    and 0 in cut-off, b ≤ 0. At negative voltages drain and source change places. A cell's
    current depends on the potential of its bit line too, so that a tile's equations are not
    symmetric. Select rows by their gates: lines cannot float in a tile of these cells.

    Args:
        vg: gate voltages in volt against ground; a scalar, or (M,) one for each word line.
        vto: threshold voltage in volt; default 0.4.
        kp: transconductance parameter in A/V², > 0; default 2e-4.
        w_over_l: width over length of the channel, > 0; default 10.
        lam: channel-length modulation in 1/V, ≥ 0; default 0.

    Raises:
        ValueError: a parameter is out of range or of a wrong shape.
    """

    vg: Any
    vto: Any = 0.4
    kp: Any = 2e-4
    w_over_l: Any = 10.0
    lam: Any = 0.0

    needs_bit_voltage: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "vg", as_number(self.vg))
        check_finite("Transistor.vg", self.vg, "V")
        check_finite("Transistor.vto", self.vto, "V")
        check_positive("Transistor.kp", self.kp, "A/V²")
        check_positive("Transistor.w_over_l", self.w_over_l, "")
        check_number(
            "Transistor.lam", self.lam, lambda x: (x >= 0) & np.isfinite(x), allowed("≥ 0", "1/V")
        )

    def current(self, g: ArrayLike, voltage: ArrayLike, bit_voltage: ArrayLike = 0.0) -> Array:
        """Current in ampere.

        Args:
            g: conductance of the memristor (…, M, N) in siemens.
            voltage: across memristor and transistor (…, M, N) in volt.
            bit_voltage: of the bit line at the cell (…, M, N) in volt.
        """
        siemens, *state = self._state(g, voltage, bit_voltage)
        return siemens * _memristor(siemens, *state)

    def middle_voltage(self, g: ArrayLike, word_voltage: ArrayLike, bit_voltage: ArrayLike) -> Any:
        """Potential of the node between memristor and transistor in volt.

        Args:
            g: conductance of the memristor (…, M, N) in siemens.
            word_voltage, bit_voltage: of the lines at the cell (…, M, N) in volt.
        """
        across = jnp.subtract(word_voltage, bit_voltage)
        return word_voltage - _memristor(*self._state(g, across, bit_voltage))

    def _state(self, g, voltage, bit_voltage):
        """g, U, the overdrive b, β and λ, of one shape."""
        for name in ("vto", "kp", "w_over_l", "lam"):
            shape = jnp.shape(getattr(self, name))
            if shape:
                raise ValueError(
                    f"Transistor.{name} has shape {shape}: must be a scalar; use jax.vmap over "
                    "the cells for more"
                )
        siemens, u, bit, vg, vto, kp, w_over_l, lam = same_dtype(
            g, voltage, bit_voltage, self.vg, self.vto, self.kp, self.w_over_l, self.lam
        )
        if vg.ndim:  # one for each row
            rows = jnp.broadcast_shapes(siemens.shape, u.shape, bit.shape)[-2:-1]
            if vg.shape != rows:
                raise ValueError(
                    f"Transistor.vg has shape {vg.shape}: must be a scalar or {rows}, one gate "
                    "voltage for each word line; use jax.vmap over the cells for more"
                )
            vg = vg[:, None]
        return jnp.broadcast_arrays(siemens, u, vg - vto - bit, kp * w_over_l, lam)


def _root(u: Array) -> Array:
    """√u, with a derivative of 0 where u ≤ 0."""
    return jnp.where(u > 0, jnp.sqrt(jnp.where(u > 0, u, 1.0)), 0.0)


@jax.custom_jvp
def _memristor(g: Array, u: Array, b: Array, beta: Array, lam: Array) -> Array:
    """The memristor's voltage w: g·w = I(u − w, b)."""
    w = _without_modulation(g, u, b, beta)
    low, high = jnp.minimum(u, 0.0), jnp.maximum(u, 0.0)

    def improved(_: Any, w: Array) -> Array:
        current, slope, *_ = _channel(u - w, b, beta, lam)
        total = g + slope
        step = (current - g * w) / jnp.where(total > 0, total, 1.0)
        return jnp.clip(w + jnp.where(lam > 0, step, 0.0), low, high)

    return jax.lax.fori_loop(0, jnp.where(jnp.any(lam > 0), _STEPS, 0), improved, w)


@_memristor.defjvp
def _(primals, tangents):
    g, u, b, beta, lam = primals
    dg, du, db, dbeta, dlam = tangents
    w = _memristor(*primals)
    _, slope, by_b, by_beta, by_lam = _channel(u - w, b, beta, lam)
    total = g + slope
    # In cut-off an open cell's inner node is where it may be.
    total = jnp.where(total > 0, total, 1.0)
    return w, (slope * du + by_b * db + by_beta * dbeta + by_lam * dlam - w * dg) / total


def _without_modulation(g: Array, u: Array, b: Array, beta: Array) -> Array:
    """The same for λ = 0, by the stable root of a quadratic in each region.

    I = β/2·(b₊² − (b − z)₊²) whatever the signs are, and z = u − w.
    """
    c = b - u
    tiny = jnp.finfo(u.dtype).tiny
    # Triode, both squares: β/2·w² + (g + βc)·w = β/2·(b² − c²).
    linear = g + beta * c
    root = _root(jnp.square(g + beta * b) - 2 * beta * g * u)
    upper = beta * u * (2 * b - u) / jnp.where(linear + root > 0, linear + root, 1.0)
    triode = jnp.where(linear > 0, upper, (root - linear) / beta)
    # Reverse saturation, the drain's square alone: g·w = −β/2·t² with t = w + c = g·ratio.
    ratio = 2 * c / jnp.maximum(g + _root(g * g + 2 * beta * g * c), tiny)
    reverse = jnp.where(g > 0, -0.5 * beta * g * ratio * ratio, -c)
    forward = 0.5 * beta * b * b / jnp.maximum(g, tiny)
    is_off = (b <= 0) & (c <= 0)
    saturated = (b > 0) & (u - forward >= b)
    w = jnp.where(saturated, forward, jnp.where(b > 0, triode, reverse))
    return jnp.where(is_off, 0.0, w)


def _channel(z: Array, b: Array, beta: Array, lam: Array) -> tuple[Array, ...]:
    """The transistor's current at z across it, and its derivatives in z, b, β and λ."""
    source, drain = jnp.maximum(b, 0.0), jnp.maximum(b - z, 0.0)
    # (source² − drain²)/2, without their difference where both are on.
    both = (source > 0) & (drain > 0)
    product = jnp.where(both, z * (b - 0.5 * z), 0.5 * (source - drain) * (source + drain))
    long = 1 + lam * jnp.abs(z)
    current = beta * product * long
    by_z = beta * (drain * long + product * lam * jnp.sign(z))
    by_b = beta * jnp.where(both, z, source - drain) * long
    return current, by_z, by_b, product * long, beta * product * jnp.abs(z)
