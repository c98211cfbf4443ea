"""The range of a converter from the values it will see."""

import jax.numpy as jnp
from jax import Array


def covering_range(x: Array, overflow: float = 0.0) -> Array:
    """The smallest limit with at most a fraction `overflow` of |x| above it; 1 if x is all 0.

    Args:
        x: values seen, any shape, at least one.
        overflow: fraction in [0, 1).
    """
    # The sum's rounding must not cost a value: 0.29·100 is 28.999999999999996.
    above = int(overflow * x.size + 1e-9)
    limit = jnp.sort(jnp.abs(x), axis=None)[x.size - 1 - above]
    return jnp.where(limit > 0, limit, 1.0)
