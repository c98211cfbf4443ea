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
from . import gated, newton
from .bias import Bias
from .cells import Ohmic
from .currents import cells
from .floating import Lines
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
    v: ArrayLike | Bias,
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
        v: word-line drives in volt, (M,) or (B, M) for B inputs; or a `Bias`, which says what
            both ends do and which lines float.
        wires: line resistances in ohm, each ≥ 0.
        v_bit: voltage of the bit lines' sense ends in volt, (N,) or (B, N); default 0 V.
        cell: the law of all cells, with a method ``current(g, voltage)`` that rises with the
            voltage, a pytree; default `Ohmic()`. Other laws take Newton's method.
        solver: method and tolerance; default `Solver()`.

    Raises:
        ValueError: shapes do not meet, or a value is not allowed; the message names it.
    """
    bias, lines = v if isinstance(v, Bias) else None, None
    if bias is None:
        word, bit, masks = as_number(v), as_number(v_bit), (None, None)
    elif v_bit is None:
        word, bit, masks = bias.word, bias.bit, (bias.word_floating, bias.bit_floating)
    else:
        raise ValueError("v_bit is given beside a Bias: its `bit` holds these voltages")
    g = as_number(g)
    check_conductance(g)
    batch = _check_drives(np.shape(g), (word, bit), masks)
    cell = Ohmic() if cell is None else cell
    _check_cell(cell)
    bit = 0.0 if bit is None else bit
    dtype = real_dtype(g, word, bit)
    g, wires, solver = checked_tile(g, wires, solver, dtype)
    count = 1 if batch is None else batch
    word = jnp.broadcast_to(jnp.asarray(word, dtype), (count, g.shape[0]))
    bit = jnp.broadcast_to(jnp.asarray(bit, dtype), (count, g.shape[1]))
    if bias is not None:
        lines, wires = bias.lines(count), _opened(bias, wires)
    if isinstance(cell, Ohmic) and lines is None:
        solution = _solve(solver, g, word, bit, wires)
    else:
        if solver.method not in ("auto", "cg"):
            what = f"{type(cell).__name__} cells" if lines is None else "floating lines"
            raise ValueError(
                f"Solver.method = {solver.method!r} with {what}: each step of "
                "Newton's method is solved by conjugate gradients; use 'auto' or 'cg'"
            )
        cell = jax.tree.map(lambda x: jnp.asarray(x, dtype), cell)
        by_bit_line = getattr(cell, "needs_bit_voltage", False)
        if by_bit_line and lines is not None:
            raise ValueError(
                f"bias has floating lines with {type(cell).__name__} cells, whose current "
                "depends on the potential of the bit line: drive every line, and cut rows off by "
                "their gates (`vg`)"
            )
        if by_bit_line:
            solution = _solve_gated(solver, cell, g, word, bit, wires)
        else:
            solution = _solve_newton(solver, cell, g, word, bit, wires, lines)
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
    solver: Solver,
    cell: Any,
    g: Array,
    v: Array,
    v_bit: Array,
    wires: Wires,
    lines: Lines | None,
) -> Solution:
    if lines is not None:  # what is given for them means nothing
        v, v_bit = jnp.where(lines.word, 0.0, v), jnp.where(lines.bit, 0.0, v_bit)
    drive = v[:, :, None] - v_bit[:, None, :]
    (voltage, phi), stats = newton.voltages(solver, cell, g, drive, wires, lines)
    if phi is not None:
        v, v_bit = v + phi[:, : g.shape[0]], v_bit + phi[:, g.shape[0] :]
    stats = jax.lax.stop_gradient(stats)
    current = cell.current(g, voltage)
    # As for ohmic cells, with the differential conductances: to first order in the residual.
    slope = newton.conductance(cell, g, jax.lax.stop_gradient(voltage))
    total = jax.lax.stop_gradient(jnp.sqrt(jnp.sum(slope, axis=1)))
    return _solution(current, v, v_bit, wires, stats, stats.residual[:, None] * total)


@functools.partial(jax.jit, static_argnums=0)
def _solve_gated(
    solver: Solver, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires
) -> Solution:
    current, stats = gated.currents(solver, cell, g, v, v_bit, wires)
    stats = jax.lax.stop_gradient(stats)
    _, d, c = jax.lax.stop_gradient(gated.slopes(current, cell, g, v, v_bit, wires))
    total = jnp.sqrt(jnp.sum(jnp.maximum(d, c), axis=1))
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


def _opened(bias: Bias, wires: Wires) -> Wires:
    """The wires with the far ends of floating lines open."""
    far = {"source_far": bias.word_floating, "sense_far": bias.bit_floating}
    for name, floating in far.items():
        ohm = getattr(wires, name)
        if ohm is None or floating is None:
            continue
        if np.ndim(floating) == 2:
            raise ValueError(
                f"wires.{name} with floating lines that differ by input: give the same (lines,) "
                "for all inputs, or use jax.vmap over the biases"
            )
        wires = dataclasses.replace(wires, **{name: jnp.where(floating, jnp.inf, ohm)})
    return wires


def _check_drives(
    shape: tuple[int, ...], drives: tuple[Any, Any], masks: tuple[Any, Any]
) -> int | None:
    """The number of inputs, or None for one input without a batch axis."""
    batch: dict[str, int] = {}
    for name, value, mask, size, lines in zip(
        ("v", "v_bit"), drives, masks, shape, ("word lines", "bit lines"), strict=True
    ):
        if value is not None:
            given = np.shape(value)
            if len(given) not in (1, 2) or given[-1] != size:
                raise ValueError(
                    f"{name} has shape {given}: a tile g {shape} takes ({size},) or (B, {size}), "
                    f"one voltage for each of its {lines}"
                )
            batch |= {name: given[0]} if len(given) == 2 else {}
        if np.ndim(mask) == 2:
            batch[f"floating {lines}"] = np.shape(mask)[0]
    if len(set(batch.values())) > 1:
        one, first = next(iter(batch.items()))
        other, second = next((n, b) for n, b in batch.items() if b != first)
        raise ValueError(f"{one} holds {first} inputs and {other} {second}: they must agree")
    return next(iter(batch.values())) if batch else None


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
    return jnp.asarray(g, dtype), checked_wires(wires, dtype, jnp.shape(g)), solver
