"""Reductions over all tiles of a `jax.vmap`, whose results stay unbatched.

A loop that asks one of them whether to go on is one loop for all tiles, and a branch chosen
by one is one branch. Otherwise `jax.vmap` computes both branches and copies the whole state
of a loop in every step, for the tiles that are done.
"""

import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap


@custom_vmap
def any_of_batch(flags: Array) -> Array:
    """Whether any flag is set, in any tile; ()."""
    return jnp.any(flags)


@any_of_batch.def_vmap
def _(axis_size, in_batched, flags):
    return any_of_batch(flags), False


@custom_vmap
def worst_of_batch(value: Array, tiles: Array) -> tuple[Array, Array]:
    """The largest value of any tile and the number of tiles, both ()."""
    return jnp.max(value), tiles


@worst_of_batch.def_vmap
def _(axis_size, in_batched, value, tiles):
    return worst_of_batch(value, tiles * axis_size), (False, False)
