"""Lines that nobody drives: each carries no net current, and its potential is unknown.

With the potentials φ of the floating lines, U = drive + Bφ − R(f(U)) where B spreads a word
line's potential over its cells, and a bit line's with the other sign; and Bᵀ f(U) = 0. No huge
resistor stands in for the missing driver. A linear step keeps to the subspace Bᵀ(s∘x) = 0 by
the projector P = Id − s∘B K⁺ Bᵀ(s∘·), where K = Bᵀ(s²∘B·) is the Laplacian of the floating
lines joined by their cells. Its pseudo-inverse leaves the potential of lines that are
connected to no driver where it was.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Lines(NamedTuple):
    """Which lines float, for B inputs."""

    word: Array  # (B, M), bool
    bit: Array  # (B, N), bool

    def spread(self, phi: Array) -> Array:
        """Bφ (B, M, N) of potentials (B, M + N), volt."""
        m = self.word.shape[-1]
        word = jnp.where(self.word, phi[:, :m], 0.0)
        bit = jnp.where(self.bit, phi[:, m:], 0.0)
        return word[:, :, None] - bit[:, None, :]

    def gather(self, current: Array) -> Array:
        """Bᵀ I (B, M + N): the net current of each floating line, 0 for the others, ampere."""
        word = jnp.where(self.word, jnp.sum(current, -1), 0.0)
        bit = jnp.where(self.bit, -jnp.sum(current, -2), 0.0)
        return jnp.concatenate([word, bit], -1)

    def inverse(self, d: Array) -> Array:
        """K⁺ (B, M + N, M + N) in ohm, for differential conductances d (B, M, N)."""
        word = jnp.where(self.word, jnp.sum(d, -1), 0.0)
        bit = jnp.where(self.bit, jnp.sum(d, -2), 0.0)
        both = jnp.where(self.word[:, :, None] & self.bit[:, None, :], d, 0.0)
        # Each line in units of what its cells conduct; 0 for lines that are driven or open.
        unit = _inverse_root(jnp.concatenate([word, bit], -1))
        corner = -unit[:, : word.shape[1], None] * both * unit[:, None, word.shape[1] :]
        matrix = jax.vmap(jnp.diag)(jnp.where(unit > 0, 1.0, 0.0).astype(d.dtype))
        matrix = matrix.at[:, : word.shape[1], word.shape[1] :].set(corner)
        matrix = matrix.at[:, word.shape[1] :, : word.shape[1]].set(jnp.swapaxes(corner, 1, 2))
        values, vectors = jnp.linalg.eigh(matrix)
        # Below this an eigenvalue is rounding, of lines that are joined to no driver.
        some = values > 4 * jnp.finfo(d.dtype).eps * values.shape[-1]
        inverse = jnp.where(some, 1 / jnp.where(some, values, 1.0), 0.0)
        vectors = unit[:, :, None] * vectors
        return jnp.einsum("bik,bk,bjk->bij", vectors, inverse, vectors, precision="highest")


def _inverse_root(x: Array) -> Array:
    return jnp.where(x > 0, 1 / jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)
