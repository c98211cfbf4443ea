"""The drops along lines whose segments differ, or that are connected at both ends.

A line with r_k in the segment before cell k and the currents I_k through its cells drops
Σ_{l≤k} r_l·Σ_{j≥l} I_j from its driver to cell k. Let a_k = Σ_{l≤k} r_l be the resistance up to
cell k, and L = a_{n−1} + r_far. A driver of the same voltage at the far end takes over the
share a_j/L of each current, which raises cell k by a_k·Σ_j a_j·I_j/L. As for plain lines the
operator is symmetric and positive semi-definite.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array

from .wires import Wires

# As everywhere: an H200 would otherwise round float32 products to TF32.
_PRECISION = "highest"


def word_drop(current: Array, wires: Wires) -> Array:
    """From the drivers along each word line to each cell: (…, M, N) in volt from ampere."""
    before = jnp.concatenate([wires.source[:, None], wires.word], 1)
    return _drop(current, before, wires.source_far)


def bit_drop(current: Array, wires: Wires) -> Array:
    """From each cell along its bit line to the sense nodes: (…, M, N) in volt from ampere."""
    after = jnp.concatenate([wires.bit, wires.sense[None]], 0)
    # Counted from the sense end, a bit line is a word line.
    turned = jnp.swapaxes(current, -2, -1)[..., ::-1]
    drop = _drop(turned, after.T[:, ::-1], wires.sense_far)
    return jnp.swapaxes(drop[..., ::-1], -2, -1)


def _drop(current: Array, ohm: Array, far: Array | None) -> Array:
    """Along the last axis; ohm (lines, n) of the segment before each cell, far (lines,)."""
    up = jnp.asarray(np.triu(np.ones((ohm.shape[1],) * 2)), current.dtype)
    onward = jnp.matmul(current, up.T, precision=_PRECISION)
    drop = jnp.matmul(ohm * onward, up, precision=_PRECISION)
    if far is None:
        return drop
    along = jnp.matmul(ohm, up, precision=_PRECISION)
    whole = along[:, -1] + far
    # A line without any resistance drops nothing at all.
    resists = (whole > 0)[:, None]
    share = along / jnp.where(resists, whole[:, None], 1.0)
    return jnp.where(resists, drop - along * jnp.sum(share * current, -1, keepdims=True), 0.0)
