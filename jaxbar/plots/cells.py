"""What a cell conducts, and what the cells of a tile bear while one is written."""

from typing import Any

import numpy as np
from jax.typing import ArrayLike

from .._check import as_number
from ..circuit.laws import check_cell, needs_bit_voltage
from ..devices.parameters import check_entries
from ._axes import axes, with_unit


def iv(
    cell: Any,
    g: ArrayLike,
    v_max: float = 1.0,
    v_min: float | None = None,
    log: bool = False,
    ax: Any = None,
) -> Any:
    """Current over voltage of cells of a law, darker for higher conductance.

    Args:
        cell: the law, with a scalar gate if it has one; its bit line is at 0 V.
        g: conductance in siemens, > 0, or a few of them.
        v_max: up to this voltage, > 0; default 1 V.
        v_min: from this voltage, < v_max; None (default): −v_max.
        log: whether to show the magnitude of the current, logarithmic; default False.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: an argument is not allowed.
    """
    from matplotlib.ticker import EngFormatter

    check_cell(cell)
    check_entries("g", as_number(g), "> 0", "S")
    check_entries("v_max", v_max, "> 0", "V")
    low = -v_max if v_min is None else v_min
    if not low < v_max:
        raise ValueError(f"v_min = {v_min} V: must be below v_max = {v_max} V")
    each = np.sort(np.ravel(np.asarray(g, float)))[::-1]
    v = np.linspace(low, v_max, 401)
    ax = axes(ax, 4.6, 3.8)
    for conductance, grey in zip(each, np.linspace(0.05, 0.7, len(each)), strict=True):
        # One cell in each of 401 inputs.
        volts, cells = v[:, None, None], np.full((401, 1, 1), conductance)
        bit = (np.zeros_like(volts),) if needs_bit_voltage(cell) else ()
        current = np.ravel(cell.current(cells, volts, *bit))
        if log:  # there is no logarithm of no current
            current = np.where(current == 0, np.nan, np.abs(current))
        ax.plot(v, current, color=str(grey), lw=1.4, label=f"{EngFormatter('S')(conductance)}")
    if log:
        ax.set_yscale("log")
    else:
        ax.axhline(0, color="0.85", lw=0.8, zorder=0)
    ax.axvline(0, color="0.85", lw=0.8, zorder=0)
    if len(each) > 1:
        ax.legend(frameon=False, title="conductance")
    ylabel = "magnitude of the current" if log else "current"
    ax.set(xlabel="voltage (V)", ylabel=ylabel, title=type(cell).__name__)
    return with_unit(ax, "A")


def stress_map(voltages: ArrayLike, row: int, column: int, ax: Any = None) -> Any:
    """Heat map of the voltage across each cell while one is written, in percent of the latter's.

    Args:
        voltages: across the cells, (M, N), volt; `half_select(...).cell_voltages`.
        row, column: of the cell that is written, which is marked.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure. Its title names the highest stress of another cell.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: voltages is not one tile's, or the cell is not in it or at 0 V.
    """
    volts = np.asarray(voltages)
    if volts.ndim != 2:
        raise ValueError(f"voltages has shape {volts.shape}: one tile's cells are (M, N)")
    for name, index, lines in (("row", row, volts.shape[0]), ("column", column, volts.shape[1])):
        if not 0 <= index < lines:
            raise ValueError(f"{name} = {index}: must be in [0, {lines - 1}]")
    written = volts[row, column]
    if written == 0:
        raise ValueError(f"the cell at row {row}, column {column} is at 0 V: it is not written")
    share = 100 * volts / written
    others = np.abs(np.delete(share, row * volts.shape[1] + column))
    ax = axes(ax, 4.9, 4.1)
    high = max(100.0, others.max(initial=0.0))
    image = ax.imshow(np.abs(share), cmap="cividis", vmin=0, vmax=high, interpolation="nearest")
    ax.plot(column, row, "o", mfc="none", mec="black", ms=9, mew=1.4)
    most = f"the others bear up to {others.max():.1f} %" if others.size else "the only cell"
    ax.set(xlabel="bit line (drivers on the left)", ylabel="word line (sense ends below)")
    ax.set_title(most)
    label = f"voltage, either sign (% of the {written:.3g} V of the written cell)"
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax.figure
