"""Maps of a tile."""

from typing import Any

import numpy as np
from jax.typing import ArrayLike

from ._axes import axes


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
    ax = axes(ax, 4.9, 4.1)
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
