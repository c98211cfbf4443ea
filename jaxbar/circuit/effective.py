"""An ohmic tile as a matrix: currents = v·W."""

import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from .._check import real_dtype
from . import direct
from .currents import cell_currents
from .linear import solve_symmetric
from .solve import checked_tile
from .solver import Solver, use_direct
from .wires import Wires


def effective_conductance(g: ArrayLike, wires: Wires, solver: Solver | None = None) -> Array:
    """The tile as a matrix W (M, N) in siemens: ``solve(g, v, wires).currents == v @ W``.

    Differentiable like `solve`. Iterative methods solve for unit drives from the side
    with fewer lines (the network is reciprocal: the current out of bit line j for 1 V on
    word line i is the one out of word line i for 1 V on bit line j); ``"direct"``
    eliminates the columns.

    Args:
        g: conductances (M, N) in siemens, ≥ 0.
        wires: line resistances in ohm, each ≥ 0.
        solver: method and tolerance; default `Solver()`.

    Raises:
        ValueError: as `solve`.
    """
    g, wires, solver = checked_tile(g, wires, solver, real_dtype(g))
    return corner(solver, *g.shape, g, wires)[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def corner(
    solver: Solver, rows: int, columns: int, g: Array, wires: Wires
) -> tuple[Array, Array]:
    """The top left (rows, columns) of W, and whether all of it converged.

    A tile that is filled in part needs no more, and costs min(rows, columns) unit drives.
    """

    def by_elimination():
        w = direct.effective(jnp.sqrt(g), wires)[:rows, :columns]
        return w, jnp.isfinite(w).all()

    def by_units(solver):
        return lambda: _units(solver, rows, columns, g, wires, differentiable=False)

    if solver.method == "direct":
        return by_elimination()
    if solver.method != "auto":
        return by_units(solver)()
    tolerance = solver.tolerance_for(g.dtype)
    harsh = use_direct(g, wires, min(rows, columns), tolerance)
    return jax.lax.cond(harsh, by_elimination, by_units(_with_cg(solver)))


@corner.defjvp
def _(solver, rows, columns, primals, tangents):
    def matrix(g, wires):
        return _units(solver, rows, columns, g, wires, differentiable=True)

    return jax.jvp(matrix, primals, tangents)


def _with_cg(solver: Solver) -> Solver:
    return Solver("cg", solver.tolerance, solver.max_iterations)


def _units(solver, rows, columns, g, wires, differentiable):
    m, n = g.shape
    from_bit = columns < rows
    v = jnp.zeros((columns, m), g.dtype) if from_bit else jnp.eye(rows, m, dtype=g.dtype)
    # A bit line at −1 V draws current out of the word lines.
    v_bit = -jnp.eye(columns, n, dtype=g.dtype) if from_bit else jnp.zeros((rows, n), g.dtype)
    lines = -1 if from_bit else -2
    if differentiable:
        current, stats = cell_currents(solver, g, v, v_bit, wires)
        out = jnp.sum(current, lines)
    else:  # the currents of the cells are summed chunk by chunk and never stored
        root = jnp.sqrt(g)
        out, stats = solve_symmetric(
            root,
            wires,
            solver,
            (v, v_bit),
            lambda v, v_bit: root * (v[:, :, None] - v_bit[:, None, :]),
            lambda x, *_: jnp.sum(root * x, lines),
        )
    converged = jax.lax.stop_gradient(stats.converged).all()
    return (out.T[:rows] if from_bit else out[:, :columns]), converged
