"""The range of a converter from the values it will see."""

import jax.numpy as jnp
from jax import Array


def covering_range(x: Array, overflow: float = 0.0) -> Array:
    """The smallest limit with at most a fraction `overflow` of |x| above it; 1 if x is all 0.

    Args:
        x: values seen, any shape, at least one.
        overflow: fraction in [0, 1).
    """
    limit = jnp.quantile(jnp.abs(x), 1.0 - overflow, method="higher")
    return jnp.where(limit > 0, limit, 1.0)
