"""One tile from drives to currents, and as a matrix."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, real_dtype
from . import newton
from .cells import Ohmic
from .currents import cells
from .linear import Stats
from .nodal import require_positive
from .operator import bit_drop, word_drop
from .solver import Solver
from .wires import Wires, checked_wires

# The dense method stores this many unknowns squared: 2 GiB in float64.
_DENSE_UNKNOWNS = 16_384


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Solution:
    """One tile solved for one input, or for B of them.

    Attributes:
        currents: out of each bit line into its sense node, (N,) or (B, N), ampere.
        device_currents: through each cell, from word line to bit line, (M, N) or (B, M, N), A.
        word_voltages: of the word-line node at each cell, (M, N) or (B, M, N), volt.
        bit_voltages: of the bit-line node at each cell, (M, N) or (B, M, N), volt.
        error_bound: |error of currents| ≤ this, certified for ohmic cells and
            to first order in the residual for others, (N,) or (B, N), A.
        converged: the residual meets the tolerance or the rounding floor, () or (B,), bool.
        iterations: conjugate-gradient iterations (0 for direct and dense), or Newton steps where
            the cells are not ohmic, () or (B,), int32.
        residual: ‖residual‖ / ‖s∘drive‖ of the symmetric system, () or (B,).
    """

    currents: Array
    device_currents: Array
    word_voltages: Array
    bit_voltages: Array
    error_bound: Array
    converged: Array
    iterations: Array
    residual: Array

    @property
    def cell_voltages(self) -> Array:
        """The voltage across each cell, word line less bit line, (M, N) or (B, M, N), V."""
        return self.word_voltages - self.bit_voltages


def solve(
    g: ArrayLike,
    v: ArrayLike,
    wires: Wires,
    v_bit: ArrayLike | None = None,
    cell: Any = None,
    solver: Solver | None = None,
) -> Solution:
    """The exact currents and voltages of one tile.

    Differentiable (reverse and forward mode, any order) in g, v, v_bit and every resistance.
    The bound, the flags and the counts have no derivative.

    Args:
        g: conductances (M, N) in siemens, ≥ 0; row i is word line i, column j bit line j.
        v: word-line drives in volt, (M,) or (B, M) for B inputs.
        wires: line resistances in ohm, each ≥ 0.
        v_bit: voltage of the bit lines' sense ends in volt, (N,) or (B, N); default 0 V.
        cell: the law of all cells, with a method ``current(g, voltage)`` that rises with the
            voltage, a pytree; default `Ohmic()`. Other laws take Newton's method.
        solver: method and tolerance; default `Solver()`.

    Raises:
        ValueError: shapes do not meet, or a value is not allowed; the message names it.
    """
    g, v, v_bit = as_number(g), as_number(v), as_number(v_bit)
    check_conductance(g)
    batch = _check_drives(np.shape(g), v, v_bit)
    cell = Ohmic() if cell is None else cell
    _check_cell(cell)
    v_bit = 0.0 if v_bit is None else v_bit
    dtype = real_dtype(g, v, v_bit)
    g, wires, solver = checked_tile(g, wires, solver, dtype)
    count = 1 if batch is None else batch
    v = jnp.broadcast_to(jnp.asarray(v, dtype), (count, g.shape[0]))
    v_bit = jnp.broadcast_to(jnp.asarray(v_bit, dtype), (count, g.shape[1]))
    if isinstance(cell, Ohmic):
        solution = _solve(solver, g, v, v_bit, wires)
    else:
        if solver.method not in ("auto", "cg"):
            raise ValueError(
                f"Solver.method = {solver.method!r} with {type(cell).__name__} cells: each step of "
                "Newton's method is solved by conjugate gradients; use 'auto' or 'cg'"
            )
        cell = jax.tree.map(lambda x: jnp.asarray(x, dtype), cell)
        solution = _solve_newton(solver, cell, g, v, v_bit, wires)
    return jax.tree.map(lambda x: x[0], solution) if batch is None else solution


@functools.partial(jax.jit, static_argnums=0)
def _solve(solver: Solver, g: Array, v: Array, v_bit: Array, wires: Wires) -> Solution:
    current, stats = cells(solver, True, g, v, v_bit, wires)
    stats = jax.lax.stop_gradient(stats)
    # |Δ I_j| = |Σ_i s_ij Δx_ij| ≤ √(Σ_i g_ij)·‖Δx‖, and ‖Δx‖ ≤ ‖residual‖.
    total = jax.lax.stop_gradient(jnp.sqrt(jnp.sum(g, axis=0)))
    return _solution(current, v, v_bit, wires, stats, stats.residual[:, None] * total)


@functools.partial(jax.jit, static_argnums=0)
def _solve_newton(
    solver: Solver, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires
) -> Solution:
    voltage, stats = newton.voltages(solver, cell, g, v[:, :, None] - v_bit[:, None, :], wires)
    stats = jax.lax.stop_gradient(stats)
    current = cell.current(g, voltage)
    # As for ohmic cells, with the differential conductances: to first order in the residual.
    slope = newton.conductance(cell, g, jax.lax.stop_gradient(voltage))
    total = jax.lax.stop_gradient(jnp.sqrt(jnp.sum(slope, axis=1)))
    return _solution(current, v, v_bit, wires, stats, stats.residual[:, None] * total)


def _solution(
    current: Array, v: Array, v_bit: Array, wires: Wires, stats: Stats, bound: Array
) -> Solution:
    return Solution(
        currents=jnp.sum(current, axis=1),
        device_currents=current,
        word_voltages=v[:, :, None] - word_drop(current, wires),
        bit_voltages=v_bit[:, None, :] + bit_drop(current, wires),
        error_bound=bound,
        converged=stats.converged,
        iterations=stats.iterations,
        residual=stats.relative,
    )


def _check_cell(cell: Any) -> None:
    name = type(cell).__name__
    if isinstance(cell, type) or not callable(getattr(cell, "current", None)):
        raise ValueError(
            f"cell = {cell!r}: a cell law has a method current(g, voltage), such as jaxbar.Ohmic()"
        )
    if jax.tree.leaves(cell) == [cell]:
        raise ValueError(
            f"cell = {name}: a cell law must be a pytree of its parameters; decorate it with "
            "jax.tree_util.register_dataclass and dataclasses.dataclass(frozen=True)"
        )


def _check_drives(shape: tuple[int, ...], v: Any, v_bit: Any) -> int | None:
    """The number of inputs, or None for one input without a batch axis."""
    batch = []
    for name, value, size, lines in (
        ("v", v, shape[0], "word lines"),
        ("v_bit", v_bit, shape[1], "bit lines"),
    ):
        if value is None:
            continue
        given = np.shape(value)
        if len(given) not in (1, 2) or given[-1] != size:
            raise ValueError(
                f"{name} has shape {given}: a tile g {shape} takes ({size},) or (B, {size}), "
                f"one voltage for each of its {lines}"
            )
        batch += given[:-1]
    if len(set(batch)) > 1:
        raise ValueError(f"v holds {batch[0]} inputs and v_bit {batch[1]}: they must agree")
    return batch[0] if batch else None


def checked_tile(
    g: ArrayLike, wires: Wires, solver: Solver | None, dtype: jnp.dtype
) -> tuple[Array, Wires, Solver]:
    """Conductances, wires (checked) and solver (checked), of one dtype; raises ValueError."""
    solver = Solver() if solver is None else solver
    if not isinstance(solver, Solver):
        raise ValueError(f"solver = {solver!r}: must be a jaxbar.Solver")
    if solver.method == "dense":
        require_positive(wires)
        if 2 * np.size(g) > _DENSE_UNKNOWNS:
            raise ValueError(
                f"Solver.method = 'dense' on a tile of {np.shape(g)}: its matrix has "
                f"{2 * np.size(g)}² entries, and {_DENSE_UNKNOWNS}² is the limit; use 'cg' or "
                "'direct'"
            )
    return jnp.asarray(g, dtype), checked_wires(wires, dtype), solver
