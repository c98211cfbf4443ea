"""The symmetric linear quantiser of DAC and ADC."""

import jax
import jax.numpy as jnp
from jax import Array


def quantize(x: Array, limit: Array | float, bits: int | None) -> Array:
    """x on 2^bits − 1 equidistant levels from −limit to limit, 0 among them; beyond, clipped.

    One bit has the two levels ±limit/2 (x = 0 reads as +). Halves round to even. The error is
    at most half a step inside the range. Straight-through gradient: that of the clipping,
    1 inside the range and 0 outside.

    Args:
        x: values, any shape.
        limit: largest value, > 0, broadcast against x.
        bits: resolution ≥ 1; None: x unchanged, not even clipped.
    """
    if bits is None:
        return x
    inside = jnp.clip(x, -limit, limit)
    if bits == 1:
        level = jnp.where(x >= 0, 0.5, -0.5) * limit
    else:
        step = limit / (2 ** (bits - 1) - 1)
        level = jnp.round(inside / step) * step
    return inside + jax.lax.stop_gradient(level - inside)
