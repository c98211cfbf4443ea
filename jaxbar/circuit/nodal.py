"""The classical nodal equations of all 2MN line nodes: the oracle of the other methods.

Chen, "A comprehensive crossbar array model with solutions for line resistance and
nonlinear device characteristics", IEEE TED 60(4), 2013.
"""

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, concrete, real_dtype
from .wires import Wires, checked_wires


def require_positive(wires: Wires) -> None:
    """Raises ValueError where a resistance is known to be 0."""
    for name in ("source", "word", "bit", "sense"):
        value = concrete(getattr(wires, name))
        if value is not None and not (value > 0).all():
            raise ValueError(
                f"wires.{name} = {value} ohm: the nodal equations divide by every resistance, "
                "so each must be > 0; the methods 'cg' and 'direct' take 0"
            )


def _line(n: int, first: ArrayLike, segment: ArrayLike) -> Array:
    """Conductances of a line's wires (N, N), driven before its first node."""
    ends = jnp.zeros(n).at[0].set(1.0)
    between = jnp.full(n - 1, 1.0 / segment) if n > 1 else jnp.zeros(0)
    degree = ends / first + jnp.pad(between, (0, 1)) + jnp.pad(between, (1, 0))
    return jnp.diag(degree) - jnp.diag(between, 1) - jnp.diag(between, -1)


def nodal_matrix(g: ArrayLike, wires: Wires) -> Array:
    """The nodal matrix [[A, B], [C, D]] (2MN, 2MN) in siemens.

    The first MN unknowns are the word-line nodes, the others the bit-line nodes, each in
    row-major order of the cells (i, j). Kirchhoff's current law at every node reads
    ``nodal_matrix(g, wires) @ voltages == nodal_drive(v, v_bit, wires)``, with the currents
    leaving a node counted positive in both halves: the matrix is symmetric positive
    definite, with B = C = −diag(g). (Chen 2013 counts the bit-line rows the other way.)

    Args:
        g: conductances (M, N) in siemens, ≥ 0.
        wires: line resistances, each > 0.

    Raises:
        ValueError: a resistance is 0, or g is negative, not finite or not a matrix.
    """
    g = as_number(g)
    check_conductance(g)
    require_positive(wires)
    dtype = real_dtype(g)
    g, wires = jnp.asarray(g, dtype), checked_wires(wires, dtype)
    m, n = g.shape
    cells = jnp.diag(g.ravel())
    word = jnp.kron(jnp.eye(m), _line(n, wires.source, wires.word))
    bit = jnp.kron(_line(m, wires.sense, wires.bit)[::-1, ::-1], jnp.eye(n))
    return jnp.block([[word + cells, -cells], [-cells, bit + cells]]).astype(dtype)


def nodal_drive(v: ArrayLike, v_bit: ArrayLike, wires: Wires) -> Array:
    """What the drivers v (M,) and v_bit (N,), in volt, feed into the 2MN nodes, in ampere."""
    v, v_bit = jnp.asarray(v), jnp.asarray(v_bit)
    word = jnp.zeros((v.size, v_bit.size)).at[:, 0].set(v / wires.source)
    bit = jnp.zeros((v.size, v_bit.size)).at[-1, :].set(v_bit / wires.sense)
    return jnp.concatenate([word.ravel(), bit.ravel()])


def factor(root_g: Array, wires: Wires):
    """LU factors of the nodal matrix of a tile with √g (M, N)."""
    return jax.scipy.linalg.lu_factor(nodal_matrix(root_g**2, wires))


def solve(factors, root_g: Array, b: Array) -> Array:
    """x (B, M, N) with (Id + s∘R(s∘·)) x = b.

    A source of b/s volt in series with each cell feeds s·b ampere from its bit-line node
    to its word-line node; then x = b + s∘(word − bit).
    """
    feed = (root_g * b).reshape(b.shape[0], -1)
    nodes = jax.scipy.linalg.lu_solve(factors, jnp.concatenate([-feed, feed], -1).T).T
    word, bit = jnp.split(nodes, 2, axis=-1)
    return b + root_g * (word - bit).reshape(b.shape)
