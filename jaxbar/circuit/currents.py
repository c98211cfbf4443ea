"""The currents through the ohmic cells of a tile, I = g∘(v1ᵀ − 1uᵀ − R(I)), and their derivatives.

The derivatives are implicit: a tangent dI solves the same network with another drive,
dI + g∘R(dI) = dg∘U + g∘(dv1ᵀ − 1duᵀ − dR(I)), so nothing is differentiated through an
iteration or through √g, and the memory does not depend on the iterations.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.custom_derivatives import SymbolicZero

from .linear import Stats, solve_symmetric
from .operator import line_drop
from .solver import Solver
from .wires import Wires

# Cells this much below the largest conductance have their voltage from the drops along
# the lines and not from I/g, which at an open cell would be 0/0.
_OPEN = 1e-9


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def cell_currents(
    solver: Solver, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Stats]:
    """Currents (B, M, N) in ampere through the cells of a tile, and how well they are solved.

    Args:
        solver: method and tolerance.
        g: conductances (M, N) in siemens.
        v: word-line drives (B, M) in volt.
        v_bit: bit-line drives (B, N) in volt.
        wires: line resistances.
    """
    root = jnp.sqrt(g)

    def rhs(v, v_bit):
        return root * (v[:, :, None] - v_bit[:, None, :])

    return solve_symmetric(root, wires, solver, (v, v_bit), rhs, lambda x, *_: root * x)


def _is_open(g: Array) -> Array:
    return g <= _OPEN * jnp.max(g)


def _over(x: Array, y: Array, is_open: Array, otherwise: Array) -> Array:
    return jnp.where(is_open, otherwise, x / jnp.where(is_open, 1.0, y))


def _solve_tangent(solver: Solver, g: Array, wires: Wires, h: Array) -> Array:
    """J (B, M, N) with J + g∘R(J) = h, for any h; linear in h and transposable.

    Where the cell is not open, J = s∘x and s∘b = h; the rest of h is a source of its own.
    """
    root, is_open = jnp.sqrt(g), _is_open(g)

    def matvec(j):
        return j + g * line_drop(j, wires)

    def solve(_, h):
        source = jnp.where(is_open, h, 0.0)

        def rhs(h, source):
            return _over(h, root, is_open, 0.0) - root * line_drop(source, wires)

        def read(x, _, source):
            return source + root * x

        return solve_symmetric(root, wires, solver, (h, source), rhs, read)[0]

    def transpose_solve(_, c):  # W + R(g∘W) = c
        def read(x, c):
            return _over(x, root, is_open, c - line_drop(root * x, wires))

        return solve_symmetric(root, wires, solver, (c,), lambda c: root * c, read)[0]

    return jax.lax.custom_linear_solve(matvec, h, solve, transpose_solve)


@functools.partial(cell_currents.defjvp, symbolic_zeros=True)
def _(solver, primals, tangents):
    g, v, v_bit, wires = primals
    dg, dv, dv_bit, dwires = tangents
    current, stats = cell_currents(solver, g, v, v_bit, wires)

    drive = jnp.zeros_like(current)
    if not _zero(dv):
        drive += dv[:, :, None]
    if not _zero(dv_bit):
        drive -= dv_bit[:, None, :]
    if not all(map(_zero, jax.tree.leaves(dwires, is_leaf=_zero))):
        dwires = jax.tree.map(_dense, dwires, is_leaf=_zero)
        drive -= line_drop(current, dwires)
    h = g * drive
    if not _zero(dg):
        h += dg * _voltage(g, v, v_bit, wires, current)
    tangent = _solve_tangent(solver, g, wires, h)
    return (current, stats), (tangent, jax.tree.map(_no_tangent, stats))


def _voltage(g, v, v_bit, wires, current):
    """U (B, M, N), the voltage across each cell: I/g in value, the drive less the drops in slope.

    The difference loses digits where the wires take most of the drive; I/g does not.
    """
    slope = v[:, :, None] - v_bit[:, None, :] - line_drop(current, wires)
    value = _over(current, g, _is_open(g), slope)
    return slope + jax.lax.stop_gradient(value - slope)


def _zero(tangent) -> bool:
    return isinstance(tangent, SymbolicZero)


def _dense(tangent):
    return jnp.zeros(tangent.shape, tangent.dtype) if _zero(tangent) else tangent


def _no_tangent(x: Array):
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.zeros_like(x)
    return np.zeros(x.shape, jax.dtypes.float0)
