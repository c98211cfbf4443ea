"""Drift, compensated by a factor on the outputs."""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from .._check import check_choice
from .base import check_shape

SCOPES = ("layer", "tile", "column")


def compensation(
    before: ArrayLike, after: ArrayLike, *, used: ArrayLike | None = None, scope: str = "tile"
) -> Array:
    """α = mean|before| / mean|after|, the factor that undoes drift on average.

    Joshi et al., Nature Communications 11 (2020), compare the currents of a tile summed over
    its columns; Le Gallo et al., Nature Electronics 1 (2018), introduced it. Probed with one
    word line at a time, the outputs are the conductances themselves, or their differences for
    pairs: give those, exact, or after `read` as a chip would measure them.

    Args:
        before: siemens (or currents of probes) when the outputs were calibrated, (..., M, N).
        after: the same now.
        used: bool, broadcast to them; padding is not measured. None (default): all cells.
        scope: one factor for the ``"layer"``, for each ``"tile"`` (default; the global one of
            the papers), or for each ``"column"`` of each tile.

    Returns:
        Without unit: (), (...) or (..., N); 1 where nothing is left to measure. Multiply the
        outputs by it.

    Raises:
        ValueError: another scope, or shapes that do not meet.
    """
    check_choice("scope", scope, SCOPES)
    old, new = jnp.abs(jnp.asarray(before)), jnp.abs(jnp.asarray(after))
    mask = jnp.asarray(True if used is None else used)
    if old.ndim < 2 or old.shape != new.shape:
        raise ValueError(
            f"before has shape {old.shape} and after {new.shape}: must be the same, (..., M, N)"
        )
    check_shape("used", mask.shape, old.shape)
    axes = {"layer": None, "tile": (-2, -1), "column": -2}[scope]
    old, new = (jnp.sum(jnp.where(mask, x, 0), axes) for x in (old, new))
    known = (old > 0) & (new > 0)
    return jnp.where(known, old / jnp.where(known, new, 1), 1)
