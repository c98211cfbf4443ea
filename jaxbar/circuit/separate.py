"""One tile of the separate-source topology: source lines beside the bit lines, gates as inputs."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, check_number, real_dtype
from . import newton
from .cells import Ohmic
from .laws import check_cell, check_method, needs_bit_voltage
from .linear import Stats
from .solution import Solution, solution
from .solver import Solver
from .source_lines import SourceLines, checked_source_lines


def solve_source_lines(
    g: ArrayLike,
    gate: ArrayLike,
    wires: SourceLines,
    v_source: ArrayLike = 0.3,
    cell: Any = None,
    solver: Solver | None = None,
) -> Solution:
    """The exact currents and voltages of a tile whose inputs gate its cells.

    Each cell has the conductance gate[i]·g[i, j] between its source line and its bit line.
    Differentiable (reverse and forward mode, any order) in g, gate, v_source and resistances.

    Args:
        g: conductances (M, N) in siemens, ≥ 0.
        gate: share of a row's conductance that is switched on, ≥ 0, (M,) or (B, M) for B inputs;
            0 and 1 for gates that switch.
        wires: line resistances in ohm.
        v_source: voltage of the source lines in volt, a scalar or (N,); default 0.3. Bit lines
            are sensed at 0 V.
        cell: law of all cells, see `solve`; default `Ohmic()`.
        solver: method, ``"auto"`` or ``"cg"``, and tolerance; default `Solver()`.

    Returns:
        The solution; its word voltages are those of the source lines at each cell.

    Raises:
        ValueError: shapes do not meet, or a value is not allowed; the message names it.
    """
    g, gate, v_source = as_number(g), as_number(gate), as_number(v_source)
    check_conductance(g)
    (m, n), given = np.shape(g), np.shape(gate)
    if len(given) not in (1, 2) or given[-1] != m:
        raise ValueError(
            f"gate has shape {given}: a tile g {(m, n)} takes ({m},) or (B, {m}), one for each row"
        )
    check_number("gate", gate, lambda x: (x >= 0) & np.isfinite(x), "must be ≥ 0 and finite")
    if np.shape(v_source) not in ((), (n,)):
        raise ValueError(
            f"v_source has shape {np.shape(v_source)}: must be a scalar or ({n},), one voltage "
            "for each column"
        )
    cell = Ohmic() if cell is None else cell
    check_cell(cell)
    solver = Solver() if solver is None else solver
    check_method(solver, "source lines")
    check_source_cell(cell)
    dtype = real_dtype(g, gate, v_source)
    wires = checked_source_lines(wires, dtype)
    g, gate = jnp.asarray(g, dtype), jnp.atleast_2d(jnp.asarray(gate, dtype))
    v_source = jnp.broadcast_to(jnp.asarray(v_source, dtype), (n,))
    cell = jax.tree.map(lambda x: jnp.asarray(x, dtype), cell)
    found = _solve(solver, cell, g, gate, v_source, wires)
    return jax.tree.map(lambda x: x[0], found) if len(given) == 1 else found


def check_source_cell(cell: Any) -> None:
    """Raises ValueError for a law that has a gate of its own."""
    if needs_bit_voltage(cell):
        raise ValueError(
            f"cell = {type(cell).__name__} with SourceLines: the input is the gate, as a share of "
            "the conductance; use a law of the voltage across the cell"
        )


@functools.partial(jax.jit, static_argnums=0)
def _solve(
    solver: Solver, cell: Any, g: Array, gate: Array, v_source: Array, wires: SourceLines
) -> Solution:
    on, u, stats = gated_voltages(solver, cell, g, gate, v_source, wires)
    slope = newton.conductance(cell, on, jax.lax.stop_gradient(u))
    word, bit = v_source[None, None], jnp.zeros((1, 1, 1), g.dtype)
    return solution(cell.current(on, u), word, bit, wires, stats, slope)


def gated_voltages(
    solver: Solver, cell: Any, g: Array, gate: Array, v_source: Array, wires: SourceLines
) -> tuple[Array, Array, Stats]:
    """What conducts and the voltage across it, both (B, M, N), and how well solved."""
    on = gate[:, :, None] * g
    drive = jnp.broadcast_to(v_source, on.shape)
    (u, _), stats = newton.voltages(solver, cell, on, drive, wires)
    return on, u, stats
