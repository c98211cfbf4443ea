"""The axes that every plot draws on."""

import importlib.util
from typing import Any


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def axes(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure that belongs to no window."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("plots need matplotlib: pip install 'jaxbar[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained").subplots()


def with_unit(ax: Any, unit: str) -> Any:
    """The Figure, its y axis in a unit."""
    from matplotlib.ticker import EngFormatter

    ax.yaxis.set_major_formatter(EngFormatter(unit))
    ax.spines[["top", "right"]].set_visible(False)
    return ax.figure
