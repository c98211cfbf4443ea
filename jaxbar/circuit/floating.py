"""Lines that nobody drives: each carries no net current, and its potential is unknown.

With the potentials φ of the floating lines, U = drive + Bφ − R(f(U)) where B spreads a word
line's potential over its cells, and a bit line's with the other sign; and Bᵀ f(U) = 0. No huge
resistor stands in for the missing driver. A linear step keeps to the subspace Bᵀ(s∘x) = 0 by
the projector P = Id − s∘B K⁻ Bᵀ(s∘·), where K = Bᵀ(s²∘B·) is the Laplacian of the floating
lines joined by their cells, and K⁻ a generalised inverse where lines are joined to no driver.
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
        """K⁻ (B, M + N, M + N) in ohm, for differential conductances d (B, M, N).

        Symmetric, with K K⁻ K = K; a group of lines that is joined to no driver has its last
        line at 0 V. Every entry is as good as those of d: all is sums of positive numbers.
        """
        scale = jnp.max(d, (-2, -1), keepdims=True)
        d = d / jnp.where(scale > 0, scale, 1.0)
        scale = jnp.where(scale > 0, 1 / jnp.where(scale > 0, scale, 1.0), 0.0)
        joined = jnp.where(self.word[:, :, None] & self.bit[:, None, :], d, 0.0)
        to_drivers = jnp.where(self.bit[:, None, :], 0.0, d)
        word = jnp.where(self.word, jnp.sum(to_drivers, -1), 0.0)
        to_drivers = jnp.where(self.word[:, :, None], 0.0, d)
        bit = jnp.where(self.bit, jnp.sum(to_drivers, -2), 0.0)
        # The word lines first, which are joined to bit lines only: from bit line to bit line …
        inverse = _reciprocal(word + jnp.sum(joined, -1))
        through = joined * inverse[:, :, None]
        between = jnp.einsum("bij,bik->bjk", joined, through, precision="highest")
        bits = _grounded_inverse(between, bit + jnp.einsum("bij,bi->bj", through, word))
        # … and back.
        mixed = jnp.einsum("bij,bjk->bik", through, bits, precision="highest")
        words = jnp.einsum("bij,bkj->bik", mixed, through, precision="highest")
        words += jax.vmap(jnp.diag)(inverse)
        return scale * jnp.block([[words, mixed], [jnp.swapaxes(mixed, 1, 2), bits]])


def _grounded_inverse(joined: Array, ground: Array) -> Array:
    """The inverse (B, N, N) for nodes joined by (B, N, N) and to ground by (B, N) siemens, ≥ 0.

    Elimination without subtraction, of Grassmann, Taksar & Heyman, Operations Research 33
    (1985) 1107; for grounded networks, Alfa, Xue & Ye, Mathematics of Computation 71 (2002) 217.
    A node that nothing is left of to join it to ground is at 0 V.
    """
    n = joined.shape[-1]
    joined = jnp.where(jnp.eye(n, dtype=bool), 0.0, joined)

    def eliminate(k, state):
        joined, ground, lower, inverse = state
        row = jnp.where(jnp.arange(n) > k, joined[:, k], 0.0)
        own = _reciprocal(jnp.sum(row, -1) + ground[:, k])
        share = row * own[:, None]
        ground = ground + share * ground[:, k][:, None]
        joined = joined + share[:, :, None] * row[:, None, :]
        joined = jnp.where(jnp.eye(n, dtype=bool), 0.0, joined)
        return joined, ground, lower.at[:, :, k].set(-share), inverse.at[:, k].set(own)

    none = jnp.zeros_like(joined)
    state = (joined, ground, none, jnp.zeros_like(ground))
    _, _, lower, inverse = jax.lax.fori_loop(0, n, eliminate, state)
    unit = jnp.broadcast_to(jnp.eye(n, dtype=joined.dtype), joined.shape)
    back = jax.scipy.linalg.solve_triangular(lower, unit, lower=True, unit_diagonal=True)
    return jnp.einsum("bki,bk,bkj->bij", back, inverse, back, precision="highest")


def _reciprocal(x: Array) -> Array:
    return jnp.where(x > 0, 1 / jnp.where(x > 0, x, 1.0), 0.0)
