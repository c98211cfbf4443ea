"""The hyperbolic sine of the voltage."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from ..._check import check_number
from ..._pytree import register
from .common import allowed, same_dtype

# 1/(2n + 1)! from n = 8 down: sinh(h)/h as a series in h², to double precision for |h| < 1.
_SERIES = tuple(1.0 / float(np.prod(np.arange(1.0, 2 * n + 2))) for n in range(8, -1, -1))


@register("k")
@dataclasses.dataclass(frozen=True)
class Sinh:
    """I = g·sinh(k·U)/k: ohmic at small voltages, exponential at high ones; odd.

    The current law of the data-driven RRAM models (Messaris 2018, Yang 2021: i = a·g·sinh(b·v)
    with b about 3/V, and a about 1/b), scaled so that g is the conductance at 0 V.

    Args:
        k: steepness in 1/V, ≥ 0; 0 is the ohmic cell, exactly, and differentiable there.

    Raises:
        ValueError: k is negative or not finite.
    """

    k: Any

    def __post_init__(self) -> None:
        check_number("Sinh.k", self.k, lambda k: (k >= 0) & np.isfinite(k), allowed("≥ 0", "1/V"))

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across the cell in volt."""
        siemens, u, k = same_dtype(g, voltage, self.k)
        # sinh(z) = 2 sinh(z/2) cosh(z/2), and the small g first: nothing overflows before I does.
        half = 0.5 * k * u
        return siemens * u * _sinhc(half) * jnp.cosh(half)


def _sinhc(h: Array) -> Array:
    """sinh(h)/h, with every derivative at 0."""
    small = jnp.abs(h) < 1
    square = jnp.square(jnp.where(small, h, 0.0))
    series = jnp.zeros_like(h)
    for coefficient in _SERIES:
        series = series * square + coefficient
    large = jnp.where(small, 1.0, h)
    return jnp.where(small, series, jnp.sinh(large) / large)
