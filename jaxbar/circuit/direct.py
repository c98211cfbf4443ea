"""Column elimination: a tile solved exactly by dense M×M inverses, without iterating.

Seen from its word-line taps, column j is an (M, M) admittance C_j = s_j K_j s_j with
K_j = (Id + s_j R_b s_j)⁻¹, and all columns from j on are Y_j. From the last column to
the first, Y_j = C_j + P_j Y_{j+1} with P_j = (Id + word·Y_{j+1})⁻¹ (a block tridiagonal
elimination). Every inverse is of identity plus a positive semi-definite matrix.
The work is about 6·N·M³, independent of the drop along the wires.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from .operator import PRECISION
from .wires import Wires


class Factors(NamedTuple):
    """What `solve` needs of a tile; M×M matrices, one a column unless stated."""

    root: Array  # s by columns (N, M)
    column: Array  # K_j (N, M, M)
    beyond: Array  # P_j (N, M, M); the last column has nothing beyond: identity
    driver: Array  # (Id + source·Y_0)⁻¹ (M, M), the whole tile seen through the drivers


def _inverse(excess: Array) -> Array:
    """(Id + excess)⁻¹ for a symmetric positive semi-definite excess (M, M)."""
    identity = jnp.eye(excess.shape[-1], dtype=excess.dtype)
    factor = jnp.linalg.cholesky(identity + excess)
    return jax.scipy.linalg.cho_solve((factor, True), identity)


def _bit_matrix(m: int, wires: Wires, dtype: jnp.dtype) -> Array:
    """R_b (M, M) in ohm."""
    from_sense = jnp.arange(m, dtype=dtype)[::-1]
    return wires.sense + wires.bit * jnp.minimum(from_sense[:, None], from_sense)


def _matmul(a: Array, b: Array) -> Array:
    return jnp.matmul(a, b, precision=PRECISION)


def _eliminate(root_g: Array, wires: Wires, carry_outputs: bool):
    """Scan from the last column to the first: (Y_0, E, per column K_j and P_j).

    With `carry_outputs`, E (M, N) collects what each output draws from the word-line
    taps and nothing is kept per column; without it, E is empty.
    """
    m, n = root_g.shape
    bit_matrix = _bit_matrix(m, wires, root_g.dtype)

    def step(carry, column):
        right, outputs = carry
        s, j = column
        k = _inverse(s[:, None] * bit_matrix * s)
        p = _inverse(wires.word * right)
        through = _matmul(p, right)
        right = s[:, None] * k * s + 0.5 * (through + through.T)
        if carry_outputs:
            drawn = s * (_matmul(k, s[:, None])[:, 0])
            return (right, _matmul(p, outputs).at[:, j].set(drawn)), None
        return (right, outputs), (k, p)

    none = jnp.zeros((m, m), root_g.dtype)
    outputs = jnp.zeros((m, n if carry_outputs else 0), root_g.dtype)
    (right, outputs), kept = jax.lax.scan(
        step, (none, outputs), (root_g.T, jnp.arange(n)), reverse=True
    )
    return right, outputs, kept


def factor(root_g: Array, wires: Wires) -> Factors:
    """Eliminate the columns of a tile with √g (M, N); keeps 2N matrices of M×M."""
    right, _, (column, beyond) = _eliminate(root_g, wires, carry_outputs=False)
    return Factors(root_g.T, column, beyond, _inverse(wires.source * right))


def solve(factors: Factors, wires: Wires, b: Array) -> Array:
    """x (B, M, N) with (Id + s∘R(s∘·)) x = b for right-hand sides b (B, M, N)."""
    root = factors.root[:, None, :]
    own = _matmul(jnp.moveaxis(b, -1, 0), factors.column)

    def collect(beyond, column):  # short-circuit currents of all columns from j on
        s, own, p = column
        total = s * own + _matmul(beyond, p)
        return total, total

    none = jnp.zeros(b.shape[:-1], b.dtype)
    _, total = jax.lax.scan(collect, none, (root, own, factors.beyond), reverse=True)

    first = _matmul(-wires.source * total[0], factors.driver)

    def spread(tap, column):  # the change of the word-line taps, from the driver on
        p, total = column
        tap = _matmul(tap - wires.word * total, p)
        return tap, tap

    _, later = jax.lax.scan(spread, first, (factors.beyond[:-1], total[1:]))
    taps = jnp.concatenate([first[None], later])
    return jnp.moveaxis(own + _matmul(root * taps, factors.column), 0, -1)


def effective(root_g: Array, wires: Wires) -> Array:
    """The tile as a matrix W (M, N) in siemens: currents = v·W. Not to be differentiated."""
    right, outputs, _ = _eliminate(root_g, wires, carry_outputs=True)
    return _matmul(_inverse(wires.source * right), outputs)
