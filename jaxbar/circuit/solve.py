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
from .laws import check_cell, check_method, is_ohmic, needs_bit_voltage
from .nodal import require_positive
from .solution import Solution, solution
from .solver import Solver
from .wires import Wires, checked_wires

# The dense method stores this many unknowns squared: 2 GiB in float64.
_DENSE_UNKNOWNS = 16_384


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
    check_cell(cell)
    bit = 0.0 if bit is None else bit
    dtype = real_dtype(g, word, bit)
    g, wires, solver = checked_tile(g, wires, solver, dtype)
    count = 1 if batch is None else batch
    word = jnp.broadcast_to(jnp.asarray(word, dtype), (count, g.shape[0]))
    bit = jnp.broadcast_to(jnp.asarray(bit, dtype), (count, g.shape[1]))
    if bias is not None:
        lines, wires = bias.lines(count), _opened(bias, wires)
    if is_ohmic(cell) and lines is None:
        found = _solve(solver, g, word, bit, wires)
    else:
        name = f"{type(cell).__name__} cells"
        check_method(solver, name if lines is None else "floating lines")
        if lines is not None and needs_bit_voltage(cell):
            raise ValueError(
                f"the bias has floating lines, with {name} whose current depends on the "
                "potential of the bit line: drive every line, and cut rows off by their gates"
            )
        cell = jax.tree.map(lambda x: jnp.asarray(x, dtype), cell)
        how = _solve_gated if needs_bit_voltage(cell) else _solve_newton
        found = how(solver, cell, g, word, bit, wires, lines)
    return jax.tree.map(lambda x: x[0], found) if batch is None else found


@functools.partial(jax.jit, static_argnums=0)
def _solve(solver: Solver, g: Array, v: Array, v_bit: Array, wires: Wires) -> Solution:
    current, stats = cells(solver, True, g, v, v_bit, wires)
    return solution(current, v[:, :, None], v_bit[:, None, :], wires, stats, g)


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
    slope = newton.conductance(cell, g, jax.lax.stop_gradient(voltage))
    current = cell.current(g, voltage)
    return solution(current, v[:, :, None], v_bit[:, None, :], wires, stats, slope)


@functools.partial(jax.jit, static_argnums=0)
def _solve_gated(
    solver: Solver, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires, _: None
) -> Solution:
    current, stats = gated.currents(solver, cell, g, v, v_bit, wires)
    slopes = jax.lax.stop_gradient(gated.slopes(current, cell, g, v, v_bit, wires))
    slope = jnp.maximum(*slopes[1:])
    return solution(current, v[:, :, None], v_bit[:, None, :], wires, stats, slope)


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
