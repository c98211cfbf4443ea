"""What one cell's read or write does to the others: sneak paths and half-select stress."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_conductance, check_number, concrete, is_count
from .bias import Bias
from .solution import Solution
from .solve import solve
from .solver import Solver
from .wires import Wires


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ReadMargin:
    """The sensed current of a cell that is on and of one that is off, at worst.

    Attributes:
        on: the least current of a cell that is on, whatever the others are, ampere.
        off: the largest current of a cell that is off, ampere.
    """

    on: Array
    off: Array

    @property
    def ratio(self) -> Array:
        """on/off: the states are told apart by a current only where this is above 1."""
        return self.on / self.off

    @property
    def window(self) -> Array:
        """(on − off)/on: the share of the current that tells the states apart."""
        return (self.on - self.off) / self.on


def read_margin(
    g_on: ArrayLike,
    g_off: ArrayLike,
    shape: tuple[int, int],
    wires: Wires,
    voltage: ArrayLike = 0.3,
    row: int = 0,
    column: int = -1,
    unselected: str = "floating",
    background: ArrayLike | None = None,
    cell: Any = None,
    solver: Solver | None = None,
) -> ReadMargin:
    """The worst case of reading one cell, sneak paths through all others included.

    The cell is on and off in turn, and the others all on and all off: with lines that float,
    a cell that is off is hidden most by others that are on; with lines that are grounded, the
    others' currents take voltage from one that is on. The worst of these is reported.

    Args:
        g_on, g_off: the two conductances in siemens, 0 ≤ g_off < g_on.
        shape: (M, N).
        wires: line resistances in ohm.
        voltage: of the selected word line in volt; default 0.3.
        row, column: of the cell; default the first row and the last column, which is farthest
            from its driver and its sense node. Negative ones count from the end.
        unselected: the other lines are ``"floating"`` (default) or ``"grounded"``.
        background: the conductances of the others instead, (M, N) or (P, M, N) of P patterns.
        cell: law of the cells; default ohmic.
        solver: method and tolerance.

    Returns:
        The two currents, each (); differentiable in g_on, g_off, voltage and the wires.

    Raises:
        ValueError: an argument is not allowed; the message names it.
    """
    if not (isinstance(shape, tuple | list) and len(shape) == 2 and all(map(is_count, shape))):
        raise ValueError(f"shape = {shape!r}: must be two ints ≥ 1, (word lines, bit lines)")
    m, n = shape
    check_number("g_off", g_off, lambda g: (g >= 0) & np.isfinite(g), "must be ≥ 0, in siemens")
    low = concrete(g_off)
    least = 0.0 if low is None else low
    allowed = f"must be > g_off = {g_off} and finite, in siemens"
    check_number("g_on", g_on, lambda g: (g > least) & np.isfinite(g), allowed)
    for name, index, lines in (("row", row, m), ("column", column, n)):
        if not (isinstance(index, int | np.integer) and -lines <= index < lines):
            raise ValueError(f"{name} = {index!r}: must be an int in [{-lines}, {lines - 1}]")
    bias = Bias.read(shape, voltage, row % m, column % n, unselected)
    if np.ndim(voltage):
        raise ValueError(f"voltage has shape {np.shape(voltage)}: must be a scalar, in volt")
    if background is None:
        patterns = jnp.stack([jnp.full(shape, g) for g in (g_on, g_off)])
    else:
        patterns = jnp.asarray(as_number(background)) * 1.0
        patterns = patterns[None] if patterns.ndim == 2 else patterns
        if patterns.ndim != 3 or patterns.shape[1:] != tuple(shape) or not len(patterns):
            raise ValueError(
                f"background has shape {jnp.shape(background)}: must be {tuple(shape)} or "
                f"(P, {m}, {n}), P ≥ 1"
            )
        for pattern in patterns:
            check_conductance(pattern, "background")

    def sensed(pattern: Array, g: ArrayLike) -> Array:
        tile = pattern.at[row, column].set(g)
        return jnp.abs(solve(tile, bias, wires, cell=cell, solver=solver).currents[column])

    each = jax.vmap(sensed, (0, None))
    return ReadMargin(on=each(patterns, g_on).min(), off=each(patterns, g_off).max())


def half_select(
    g: ArrayLike,
    row: ArrayLike,
    column: ArrayLike,
    voltage: ArrayLike,
    wires: Wires,
    scheme: str = "V/2",
    cell: Any = None,
    solver: Solver | None = None,
) -> Solution:
    """The tile while one cell is written; `cell_voltages` is the stress of every cell.

    Args:
        g: conductances (M, N) in siemens.
        row, column: of the cell, from 0; for K cells written one after another, (K,) each.
        voltage: across it if there were no wires, in volt; a scalar or (K,).
        wires: line resistances in ohm.
        scheme: as `Bias.write`; default ``"V/2"``.
        cell: law of the cells; default ohmic.
        solver: method and tolerance.

    Returns:
        The solution, its arrays (M, N) and (N,), or with a leading axis K.

    Raises:
        ValueError: as `solve` and `Bias.write`.
    """
    shape = jnp.shape(g)
    check_conductance(as_number(g))

    def write(row: Any, column: Any, voltage: Any) -> Bias:
        return Bias.write(shape, row, column, voltage, scheme)

    given = [as_number(x) for x in (row, column, voltage)]
    if any(map(np.ndim, given)):
        for name, value, lines in zip(("row", "column"), given, shape, strict=False):
            if not jnp.issubdtype(jnp.result_type(value), jnp.integer):
                raise ValueError(f"{name} = {value!r}: must be ints, in [0, {lines - 1}]")
            within = functools.partial(_is_index, lines)
            check_number(name, value, within, f"must be in [0, {lines - 1}]")
        check_number("voltage", given[2], np.isfinite, "V: must be finite")
        sizes = [np.shape(x) for x in given if np.shape(x)]
        if len(set(sizes)) > 1 or len(sizes[0]) > 1:
            raise ValueError(
                f"row, column and voltage have shapes {', '.join(map(str, map(np.shape, given)))}: "
                "each must be a scalar or (K,), for the K cells that are written"
            )
        each = jnp.broadcast_arrays(*map(jnp.asarray, given))
        bias = jax.vmap(write)(*each)
    else:
        bias = write(row, column, voltage)
    return solve(g, bias, wires, cell=cell, solver=solver)


def _is_index(lines: int, index: np.ndarray) -> np.ndarray:
    return (index >= 0) & (index < lines)
