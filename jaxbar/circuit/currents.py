"""Ohmic cells in their network, I = g∘U with U = v1ᵀ − 1uᵀ − R(I), and their derivatives.

The derivatives are implicit: a tangent dI solves the same network with another drive,
dI + g∘R(dI) = dg∘U + g∘(dv1ᵀ − 1duᵀ − dR(I)), so nothing is differentiated through an
iteration or through √g, and the memory does not depend on the iterations.
"""

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_derivatives import SymbolicZero

from . import fused
from .batch import any_of_batch
from .linear import OPEN, Stats, kernel_stats, no_tangent, solve_symmetric
from .operator import drop_tangent, line_drop, rare_drop
from .solver import Solver, candidates
from .wires import Wires


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def cells(
    solver: Solver, certify: bool, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Stats]:
    """Current through each cell (B, M, N), in ampere, and how well solved.

    Args:
        solver: method and tolerance.
        certify: as in `solve_symmetric`.
        g: conductances (M, N) in siemens.
        v: word-line drives (B, M) in volt.
        v_bit: bit-line drives (B, N) in volt.
        wires: line resistances.
    """
    root = jnp.sqrt(g)
    return solve_symmetric(root, wires, solver, (v, v_bit), _drive, lambda x, *_: root * x, certify)


@functools.partial(cells.defjvp, symbolic_zeros=True)
def _(solver, certify, primals, tangents):
    g, v, v_bit, wires = primals
    dg, dv, dv_bit, dwires = tangents
    current, stats = cells(solver, certify, g, v, v_bit, wires)

    drive = jnp.zeros_like(current)
    if not _is_zero(dv):
        drive += dv[:, :, None]
    if not _is_zero(dv_bit):
        drive -= dv_bit[:, None, :]
    if not all(map(_is_zero, jax.tree.leaves(dwires, is_leaf=_is_zero))):
        drive -= drop_tangent(current, wires, jax.tree.map(_dense, dwires, is_leaf=_is_zero))
    source = g * drive
    if not _is_zero(dg):
        source += dg * _voltage(g, current, v, v_bit, wires)
    dcurrent = _solve_tangent(solver, g, wires, source)
    return (current, stats), (dcurrent, jax.tree.map(no_tangent, stats))


def _drive(v: Array, v_bit: Array) -> Array:
    return v[:, :, None] - v_bit[:, None, :]


def _voltage(g: Array, current: Array, v: Array, v_bit: Array, wires: Wires) -> Array:
    """The voltage across each cell (B, M, N) from the currents of all."""
    is_open = _is_open(g)

    def with_drops(current):
        return _divide(current, g, is_open, _drive(v, v_bit) - rare_drop(current, wires))

    def without(current):
        return _divide(current, g, is_open, 0.0)

    return jax.lax.cond(any_of_batch(is_open.any()), with_drops, without, current)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def line_currents(
    solver: Solver, axis: int, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Stats]:
    """The currents of `cells` summed along an axis, without storing those of the cells.

    Axis −2 gives the current out of each bit line (B, N), −1 that into each word line (B, M).
    """
    root = jnp.sqrt(g)
    if candidates(solver, g.shape, g.dtype, v.shape[0], wires.plain) == ("fused",):
        tolerance = solver.tolerance_for(g.dtype)
        solved = fused.solve_drives(root, wires, v, v_bit, axis, tolerance, solver.max_iterations)
        return solved.found, kernel_stats(solved, tolerance)

    def read(x, *_):
        return jnp.sum(root * x, axis)

    return solve_symmetric(root, wires, solver, (v, v_bit), _drive, read)


@line_currents.defjvp
def _(solver, axis, primals, tangents):
    def stored(g, v, v_bit, wires):
        current, stats = cells(solver, False, g, v, v_bit, wires)
        return jnp.sum(current, axis), stats

    return jax.jvp(stored, primals, tangents)


def _solve_tangent(solver: Solver, g: Array, wires: Wires, h: Array) -> Array:
    """J (B, M, N) with J + g∘R(J) = h, for any h; linear in h and transposable.

    Where a cell is not open, J = s∘x and s∘b = h; what h has elsewhere is a source of its own.
    """
    root, is_open = jnp.sqrt(g), _is_open(g)

    def matvec(j):
        return j + g * line_drop(j, wires)

    def solve(_, h):
        def drive(h):
            source = jnp.where(is_open, h, 0.0)
            return _divide(h, g, is_open, 0.0) - line_drop(source, wires)

        def read(x, _, h):
            return jnp.where(is_open, h, 0.0) + root * x

        return solve_symmetric(root, wires, solver, (h,), drive, read, False)[0]

    def transpose_solve(_, c):  # W + R(g∘W) = c
        def read(x, drop, c):
            return _divide(x, root, is_open, c - drop)

        return solve_symmetric(root, wires, solver, (c,), lambda c: c, read, False)[0]

    return jax.lax.custom_linear_solve(matvec, h, solve, transpose_solve)


def _is_open(g: Array) -> Array:
    return g <= OPEN * jnp.max(g)


def _divide(x: Array, y: Array, is_open: Array, otherwise: Array | float) -> Array:
    return jnp.where(is_open, otherwise, x / jnp.where(is_open, 1.0, y))


def _is_zero(tangent) -> bool:
    return isinstance(tangent, SymbolicZero)


def _dense(tangent):
    return jnp.zeros(tangent.shape, tangent.dtype) if _is_zero(tangent) else tangent
