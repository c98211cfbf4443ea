"""An ohmic tile as a matrix: currents = v·W."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, real_dtype
from . import direct
from .currents import line_currents
from .solve import checked_tile
from .solver import Solver, candidates, use_direct
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
    g = as_number(g)
    check_conductance(g)
    g, wires, solver = checked_tile(g, wires, solver, real_dtype(g))
    return corner(solver, *g.shape, g, wires)[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _corner(solver: Solver, rows: int, columns: int, g: Array, wires: Wires) -> tuple[Array, Array]:
    """The top left (rows, columns) of W, and whether all of it converged.

    A tile that is filled in part needs no more, and costs min(rows, columns) unit drives.
    """

    def by_elimination():
        w = direct.effective(jnp.sqrt(g), wires)[:rows, :columns]
        return w, jnp.isfinite(w).all()

    def by_units():
        return _unit_drives(solver, rows, columns, g, wires)

    first, *other = candidates(solver, g.shape, g.dtype, min(rows, columns))
    if not other:
        return by_elimination() if first == "direct" else by_units()
    harsh = use_direct(g, wires, min(rows, columns), solver.tolerance_for(g.dtype))
    solver = dataclasses.replace(solver, method="cg")
    return jax.lax.cond(harsh, by_elimination, by_units)


@_corner.defjvp
def _(solver, rows, columns, primals, tangents):
    return jax.jvp(lambda *a: _unit_drives(solver, rows, columns, *a), primals, tangents)


corner = jax.jit(_corner, static_argnums=(0, 1, 2))


def _unit_drives(solver, rows, columns, g, wires):
    """`corner` from one volt on each of its lines in turn, on the side that has fewer."""
    m, n = g.shape
    if rows <= columns:
        v, v_bit = jnp.eye(rows, m, dtype=g.dtype), jnp.zeros((rows, n), g.dtype)
        w, stats = line_currents(solver, -2, g, v, v_bit, wires)
        w = w[:, :columns]
    else:  # a bit line at −1 V draws current out of the word lines
        v, v_bit = jnp.zeros((columns, m), g.dtype), -jnp.eye(columns, n, dtype=g.dtype)
        w, stats = line_currents(solver, -1, g, v, v_bit, wires)
        w = w[:, :rows].T
    return w, stats.converged.all()
