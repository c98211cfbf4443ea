"""One linear step of a network of any cells: δ + R(d∘δ) − Bφ = rhs with Bᵀ(d∘δ) = net.

d = dI/dU ≥ 0 of each cell, and Bφ are the potentials of floating lines, see `floating`. With
s = √d and x = s∘δ it is the operator of ohmic cells again, (Id + s∘R(s∘·)) x = s∘(rhs + Bφ):
symmetric, every eigenvalue ≥ 1, also between projectors.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from . import cg
from .chunks import in_chunks
from .floating import Lines
from .linear import OPEN, cache_chunk
from .operator import line_drop, padding
from .solver import Solver
from .wires import Wires


class Step(NamedTuple):
    """What a linear step has found."""

    x: Array  # s∘δ (B, M, N)
    delta: Array  # (B, M, N), volt
    phi: Array | None  # (B, M + N), volt; None where no lines float


def take(
    s: Array,
    wires: Wires,
    lines: Lines | None,
    inverse: Array | None,
    rhs: Array,
    net: Array | None,
    accuracy: Array | float,
    max_iterations: int,
) -> Step:
    """The step by conjugate gradients.

    Args:
        s: √d (B, M, N).
        wires: line resistances.
        lines: which lines float, or None.
        inverse: `Lines.inverse` of d, or None.
        rhs: (B, M, N) in volt.
        net: (B, M + N) in ampere, or None.
        accuracy: of the residual, relative to the right-hand side; a number or (B, 1, 1).
        max_iterations: bound.
    """
    if lines is None:
        b = s * rhs
        x = _solve(s, wires, b, accuracy * norm(b), max_iterations)
        return Step(x, _volts(s, x, rhs - line_drop(s * x, wires)), None)

    def potentials(net):
        return jnp.einsum("bij,bj->bi", inverse, net, precision="highest")

    def project(x):
        return x - s * lines.spread(potentials(lines.gather(s * x)))

    def matvec(x):
        return x + s * line_drop(s * x, wires)

    start = s * lines.spread(potentials(net))
    b = project(s * rhs - matvec(start))
    # Rounding keeps b off the subspace by so much of what it was made from.
    size = jnp.maximum(norm(b), 1e-3 * (norm(s * rhs) + norm(start)))
    y, _ = cg.own(s, wires, b, accuracy * size, max_iterations, project)
    x = start + y
    phi = potentials(lines.gather(s * (matvec(x) - s * rhs)))
    return Step(x, _volts(s, x, rhs + lines.spread(phi) - line_drop(s * x, wires)), phi)


def exact(
    solver: Solver,
    d: Array,
    wires: Wires,
    lines: Lines | None,
    rhs: Array,
    net: Array | None,
) -> tuple[Array, Array | None]:
    """(δ, φ) for any rhs and net; linear in both and transposable."""
    tolerance = solver.tolerance_for(d.dtype)

    def pack(cells, nets):
        """One array: transposing wants a right-hand side that is linear as a whole."""
        return (cells, nets) if nets is None else jnp.concatenate([_flat(cells), nets], -1)

    def unpack(packed):
        if lines is None:
            return packed
        cells, nets = jnp.split(packed, [d.shape[1] * d.shape[2]], -1)
        return cells.reshape(d.shape), nets

    def matvec(packed):
        delta, phi = unpack(packed)
        left = delta + line_drop(d * delta, wires)
        if lines is None:
            return pack(left, None)
        return pack(left - lines.spread(phi), lines.gather(d * delta))

    def step(d, rhs, net):
        def chunk(d, rhs, net, lines):
            s = jnp.sqrt(d)
            # Each input is brought to the order of 1: squares of small drives would underflow.
            scale = _largest(s * rhs)
            inverse = None
            if lines is not None:
                inverse = lines.inverse(d)
                scale = jnp.maximum(scale, _largest(s * lines.spread(_apply(inverse, net))))
                net = net / _one_for_zero(scale)[:, :, 0]
            scale = _one_for_zero(scale)
            found = take(
                s, wires, lines, inverse, rhs / scale, net, tolerance, solver.max_iterations
            )
            return jax.tree.map(lambda x: x * scale.reshape(-1, *(1,) * (x.ndim - 1)), found)

        size = cache_chunk(d.shape[-2:], d.dtype)
        return in_chunks(chunk, (d, rhs, net, lines), size, checkpoint=False)

    def solve(_, packed):
        found = step(d, *unpack(packed))
        return pack(found.delta, found.phi)

    # w + d∘(R(w) + Bψ) = c and −Bᵀw = e, by q = R(w) + Bψ.
    def transpose_solve(_, packed):
        c, e = unpack(packed)
        net = None if lines is None else lines.gather(c) + e
        found = step(d, line_drop(c, wires), net)
        return pack(c - jnp.sqrt(d) * found.x, found.phi)

    solved = jax.lax.custom_linear_solve(matvec, pack(rhs, net), solve, transpose_solve)
    return unpack(solved)


def norm(x: Array) -> Array:
    """‖x‖ of each input, (B, 1, 1)."""
    return jnp.sqrt(jnp.sum(x * x, axis=(-2, -1), keepdims=True))


def _flat(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


def _apply(inverse: Array, net: Any) -> Array:
    return jnp.einsum("bij,bj->bi", inverse, net, precision="highest")


def _largest(x: Array) -> Array:
    return jnp.max(jnp.abs(x), axis=(-2, -1), keepdims=True)


def _one_for_zero(x: Array) -> Array:
    return jnp.where(x > 0, x, 1.0)


def _volts(s: Array, x: Array, from_drops: Array) -> Array:
    """δ = x/s, and where a cell is all but open, from the drops along its lines."""
    is_open = s <= OPEN**0.5 * jnp.max(s, axis=(-2, -1), keepdims=True)
    return jnp.where(is_open, from_drops, x / jnp.where(is_open, 1.0, s))


def _solve(s: Array, wires: Wires, b: Array, target: Array, max_iterations: int) -> Array:
    """x (B, M, N) with (Id + s∘R(s∘·)) x = b; open cells fill the lines up to whole blocks."""
    up, right = padding(s.shape, wires)
    s, b = (jnp.pad(a, [(0, 0), (up, 0), (0, right)]) for a in (s, b))
    x, _ = cg.own(s, wires, b, target, max_iterations)
    return x[:, up:, : x.shape[2] - right]
