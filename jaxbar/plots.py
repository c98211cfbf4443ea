"""Plots, each a function that returns a matplotlib Figure and draws on given axes if asked."""

import importlib.util
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from jax.typing import ArrayLike


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def _axes(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure that belongs to no window."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'jaxbar[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained").subplots()


def accuracy_bars(accuracies: Mapping[str, float], ax: Any = None) -> Any:
    """Bars of test accuracies, in percent, in greys.

    Args:
        accuracies: name to accuracy in [0, 1], drawn in this order.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
    """
    ax = _axes(ax, 1.2 + 1.3 * max(len(accuracies), 2), 3.6)
    percent = [100 * share for share in accuracies.values()]
    names = [textwrap.fill(name, 14) for name in accuracies]
    greys = [str(grey) for grey in np.linspace(0.3, 0.75, max(len(names), 2))]
    bars = ax.bar(names, percent, color=greys[: len(names)], width=0.62)
    ax.bar_label(bars, fmt="%.1f", padding=2)
    ax.set(ylabel="test accuracy (%)", ylim=(0, 108), yticks=range(0, 101, 20))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return ax.figure


def voltage_map(voltages: ArrayLike, v_drive: float, ax: Any = None) -> Any:
    """Heat map of the voltage that reaches each cell of a tile, in percent of the drive.

    Args:
        voltages: across the cells, (M, N), volt.
        v_drive: voltage of the drivers, volt.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: voltages is not one tile's.
    """
    share = 100 * np.asarray(voltages) / v_drive
    if share.ndim != 2:
        raise ValueError(f"voltages has shape {share.shape}: one tile's cells are (M, N)")
    ax = _axes(ax, 4.9, 4.1)
    low, high = min(0.0, share.min()), max(100.0, share.max())
    image = ax.imshow(share, cmap="cividis", vmin=low, vmax=high, interpolation="nearest")
    ax.set(
        xlabel="bit line (drivers on the left)",
        ylabel="word line (sense ends below)",
        title=f"{share.min():.1f} to {share.max():.1f} % reach the cells",
    )
    label = f"voltage across the cell (% of the {v_drive:.3g} V drive)"
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax.figure
