"""Poole–Frenkel conduction."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from ..._pytree import register
from .common import as_tuple, check_finite, check_positive, checked_range, same_dtype

_CHARGE = 1.602176634e-19  # C
_BOLTZMANN = 1.380649e-23  # J/K


@register("ln_c", "ln_d_eps", "temperature")
@dataclasses.dataclass(frozen=True)
class PooleFrenkel:
    """I = c·U·exp((q/kT)·√(q|U|/(π·d·ε))), with ln c and ln(d·ε) linear in ln R, R = 1/g; odd.

    Joksas et al., Advanced Science 2022: c in siemens scales the current, d·ε in farad is the
    thickness times the permittivity, and R is the resistance at the voltage of the fit (0.1 V
    there), so g is not the slope at 0 V, which is c.

    Outside g_range the shape, c/g and d·ε, stays that of its end, so that an open cell (g = 0)
    carries nothing. The first derivative at 0 V is c, exactly; the second diverges there, as
    ±1/√|U| on the two sides, and is given as 0, their mean.

    Args:
        ln_c: (slope, intercept) of ln(c / 1 S) over ln(R / 1 ohm).
        ln_d_eps: (slope, intercept) of ln(d·ε / 1 F) over ln(R / 1 ohm).
        g_range: (lowest, highest) conductance in siemens of the fit.
        temperature: in kelvin, > 0; default 300 (Joksas fitted with 293.15).

    Raises:
        ValueError: a parameter is not allowed.
    """

    ln_c: Any
    ln_d_eps: Any
    g_range: tuple[float, float]
    temperature: Any = 300.0

    def __post_init__(self) -> None:
        for name in ("ln_c", "ln_d_eps"):
            pair = as_tuple(getattr(self, name))
            object.__setattr__(self, name, pair)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(f"PooleFrenkel.{name} = {pair!r}: must be (slope, intercept)")
            for value in pair:
                check_finite(f"PooleFrenkel.{name}", value, "")
        check_positive("PooleFrenkel.temperature", self.temperature, "K")
        object.__setattr__(self, "g_range", checked_range("PooleFrenkel.g_range", self.g_range))

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across the cell in volt."""
        siemens, u, ln_c, ln_d_eps, temperature = same_dtype(
            g, voltage, self.ln_c, self.ln_d_eps, self.temperature
        )
        ln_g = jnp.log(jnp.clip(siemens, *self.g_range))
        # Logarithms throughout: d·ε is about 1e-18 F, and q smaller still.
        share = jnp.exp(ln_c[1] - (ln_c[0] + 1) * ln_g)  # c/g
        ln_inverse = math.log(_CHARGE / math.pi) - (ln_d_eps[1] - ln_d_eps[0] * ln_g)
        steepness = _CHARGE / _BOLTZMANN / temperature * jnp.exp(0.5 * ln_inverse)  # 1/√V
        return siemens * u * (share * jnp.exp(steepness * _root(u)))


def _root(voltage: Array) -> Array:
    """√|U|, with the derivative 0 at 0, where it is only ever multiplied by U."""
    none = voltage == 0
    return jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, jnp.abs(voltage))))
