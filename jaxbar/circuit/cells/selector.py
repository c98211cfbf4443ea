"""A memristor and a selector in series: the node between them eliminated."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from ..._pytree import register
from .common import check_positive, same_dtype

# 5 reach the last bit of float64 up to 600·v_0, whatever the conductance; one to spare.
_STEPS = 6


@register("i_s", "v_0")
@dataclasses.dataclass(frozen=True)
class Selector:
    """An ohmic memristor g in series with an exponential selector, I = i_s·sinh(V/v_0); odd.

    One selector, one resistor (1S1R): U = I/g + v_0·asinh(I/i_s), solved for the current to
    rounding for any g ≥ 0 and any drive. The derivatives are those of the solution.

    Args:
        i_s: scale of the selector's current in ampere, > 0.
        v_0: scale of the selector's voltage in volt, > 0.

    Raises:
        ValueError: a parameter is not finite and > 0.
    """

    i_s: Any
    v_0: Any

    def __post_init__(self) -> None:
        check_positive("Selector.i_s", self.i_s, "A")
        check_positive("Selector.v_0", self.v_0, "V")

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across both in volt."""
        siemens, u, i_s, v_0 = same_dtype(g, voltage, self.i_s, self.v_0)
        return siemens * v_0 * _memristor(*jnp.broadcast_arrays(u / v_0, siemens * v_0 / i_s))


@jax.custom_jvp
def _memristor(u: Array, a: Array) -> Array:
    """The memristor's voltage x, in v_0: x + asinh(a·x) = u.

    In ξ = ln x, K(ξ) = x + asinh(a·x) − |u| is increasing and convex, and between a line and an
    exponential whatever a is: Halley's steps from an upper bound come down to the root.
    """
    u, sign = jnp.abs(u), jnp.sign(u)
    tiny = jnp.finfo(u.dtype).tiny
    some = jnp.where(u > tiny, u, 1.0)
    # Each element alone would take the whole voltage: x ≤ u and a·x ≤ sinh(u), in logarithms.
    ln_sinh = some + jnp.log(-jnp.expm1(-2 * some)) - jnp.log(jnp.asarray(2.0, u.dtype))
    selector = ln_sinh - jnp.log(jnp.maximum(a, tiny))
    x = jnp.exp(jnp.minimum(jnp.log(some), selector))
    for _ in range(_STEPS):
        x = jnp.maximum(x, tiny)
        y = a * x
        inverse = 1 / _hypotenuse(y)
        slope = x + y * inverse  # dK/dξ
        curvature = (x + y * inverse * inverse * inverse) / slope  # of K over its slope, 0 to 1
        newton = (x + jnp.arcsinh(y) - some) / slope
        x = x * jnp.exp(-2 * newton / (2 - newton * curvature))
    return sign * jnp.where(u > tiny, x, u / (1 + a))


@_memristor.defjvp
def _(primals, tangents):
    (u, a), (du, da) = primals, tangents
    x = _memristor(u, a)
    inverse = 1 / _hypotenuse(a * x)
    return x, (du - x * inverse * da) / (1 + a * inverse)


def _hypotenuse(y: Array) -> Array:
    """√(1 + y²), for y whose square overflows too."""
    y = jnp.abs(y)
    long, short = jnp.maximum(1.0, y), jnp.minimum(1.0, y)
    return long * jnp.sqrt(1 + jnp.square(short / long))
