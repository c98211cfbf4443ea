"""The classical nodal equations of all 2MN line nodes: the oracle of the other methods.

Chen, "A comprehensive crossbar array model with solutions for line resistance and
nonlinear device characteristics", IEEE TED 60(4), 2013.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, concrete, real_dtype
from .wires import Wires, by_segment, checked_wires


def require_positive(wires: Wires) -> None:
    """Raises ValueError where a resistance is known to be 0."""
    for field in dataclasses.fields(wires):
        name, value = field.name, concrete(getattr(wires, field.name))
        if value is not None and not (value > 0).all():
            raise ValueError(
                f"wires.{name} = {value} ohm: the nodal equations divide by every resistance, "
                "so each must be > 0; the methods 'cg' and 'direct' take 0"
            )


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
    g = jnp.asarray(g, dtype)
    wires = by_segment(checked_wires(wires, dtype, np.shape(g)), np.shape(g))
    word, bit = np.arange(2 * g.size).reshape(2, *g.shape)
    matrix = jnp.zeros((2 * g.size, 2 * g.size), dtype)
    for one, other, siemens in (
        (word, bit, g),
        (word[:, :-1], word[:, 1:], 1 / wires.word),
        (bit[:-1], bit[1:], 1 / wires.bit),
    ):
        matrix = matrix.at[one, one].add(siemens).at[other, other].add(siemens)
        matrix = matrix.at[one, other].add(-siemens).at[other, one].add(-siemens)
    for node, ohm in _ends(word, bit, wires):
        matrix = matrix.at[node, node].add(1 / ohm)
    return matrix


def nodal_drive(v: ArrayLike, v_bit: ArrayLike, wires: Wires) -> Array:
    """What the drivers v (M,) and v_bit (N,), in volt, feed into the 2MN nodes, in ampere."""
    v, v_bit = jnp.asarray(v), jnp.asarray(v_bit)
    word, bit = np.arange(2 * v.size * v_bit.size).reshape(2, v.size, v_bit.size)
    full = by_segment(wires, (v.size, v_bit.size))
    drive = jnp.zeros(2 * v.size * v_bit.size, real_dtype(v, v_bit))
    for node, ohm in _ends(word, bit, full):
        volt = v if node[0] < v.size * v_bit.size else v_bit
        drive = drive.at[node].add(volt / ohm)
    return drive


def _ends(word: np.ndarray, bit: np.ndarray, wires: Wires):
    """The nodes at the ends of the lines that are connected, and the resistances to there."""
    yield word[:, 0], wires.source
    yield bit[-1], wires.sense
    if wires.source_far is not None:
        yield word[:, -1], wires.source_far
    if wires.sense_far is not None:
        yield bit[0], wires.sense_far


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
