"""A function mapped over its inputs part by part, in memory that their number does not raise."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def in_chunks(
    f: Callable[..., Any], arrays: tuple[Any, ...], size: int, *, checkpoint: bool = True
) -> Any:
    """``f(*arrays)`` computed for at most `size` of the entries along their first axis at a time.

    Args:
        f: takes and returns trees of arrays with the same first axis; each entry of a result
            depends on that entry of the arrays alone.
        arrays: what is cut along its first axis, all of one length.
        size: entries at a time, ≥ 1. The last chunk is filled up with zeros, which f must bear.
        checkpoint: whether the backward pass computes each chunk again, so that it keeps no
            more than the forward pass does.
    """
    count = jax.tree.leaves(arrays)[0].shape[0]
    if size >= count:
        return f(*arrays)
    chunks = -(-count // size)

    def split(x):
        spare = [(0, chunks * size - count)] + [(0, 0)] * (x.ndim - 1)
        return jnp.pad(x, spare).reshape(chunks, size, *x.shape[1:])

    body = jax.checkpoint(f) if checkpoint else f
    out = jax.lax.map(lambda chunk: body(*chunk), jax.tree.map(split, arrays))
    return jax.tree.map(lambda y: y.reshape(chunks * size, *y.shape[2:])[:count], out)
