"""What a network gets right."""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._axes import axes


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
    ax = axes(ax, 1.2 + 1.3 * max(len(accuracies), 2), 3.6)
    percent = [100 * share for share in accuracies.values()]
    names = [textwrap.fill(name, 14) for name in accuracies]
    greys = [str(grey) for grey in np.linspace(0.3, 0.75, max(len(names), 2))]
    bars = ax.bar(names, percent, color=greys[: len(names)], width=0.62)
    ax.bar_label(bars, fmt="%.1f", padding=2)
    ax.set(ylabel="test accuracy (%)", ylim=(0, 108), yticks=range(0, 101, 20))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="x", length=0)
    return ax.figure
