"""An ohmic tile as a matrix: currents = v·W."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, real_dtype
from . import direct
from .chunks import in_chunks
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
    return corner(solver, *g.shape, min(g.shape), g, wires)[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def _corner(
    solver: Solver, rows: int, columns: int, chunk: int, g: Array, wires: Wires
) -> tuple[Array, Array]:
    """The top left (rows, columns) of W, and whether all of it converged.

    A tile that is filled in part needs no more, and costs min(rows, columns) unit drives, of
    which `chunk` are solved at a time.
    """

    def by_elimination():
        w = direct.effective(jnp.sqrt(g), wires)[:rows, :columns]
        return w, jnp.isfinite(w).all()

    def by_units():
        return _unit_drives(solver, rows, columns, chunk, g, wires)

    first, *other = candidates(solver, g.shape, g.dtype, min(rows, columns), wires.plain)
    if not other:
        return by_elimination() if first == "direct" else by_units()
    harsh = use_direct(g, wires, min(rows, columns), solver.tolerance_for(g.dtype))
    solver = dataclasses.replace(solver, method="cg")
    return jax.lax.cond(harsh, by_elimination, by_units)


@_corner.defjvp
def _(solver, rows, columns, chunk, primals, tangents):
    return jax.jvp(lambda *a: _unit_drives(solver, rows, columns, chunk, *a), primals, tangents)


corner = jax.jit(_corner, static_argnums=(0, 1, 2, 3))


def _unit_drives(solver, rows, columns, chunk, g, wires):
    """`corner` from one volt on each of its lines in turn, on the side that has fewer."""
    m, n = g.shape
    by_rows = rows <= columns
    count, axis = (rows, -2) if by_rows else (columns, -1)

    def solve(k):
        if by_rows:
            v, v_bit = k[:, None] == jnp.arange(m), jnp.zeros((k.size, n))
        else:  # a bit line at −1 V draws current out of the word lines
            v, v_bit = jnp.zeros((k.size, m)), -1.0 * (k[:, None] == jnp.arange(n))
        drives = (v.astype(g.dtype), v_bit.astype(g.dtype))
        w, stats = line_currents(solver, axis, g, *drives, wires)
        return w, stats.converged

    w, converged = in_chunks(solve, (jnp.arange(count),), chunk)
    w = w[:, :columns] if by_rows else w[:, :rows].T
    return w, converged.all()
