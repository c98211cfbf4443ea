"""Several non-idealities, in one order."""

from collections.abc import Sequence
from typing import Any

import jax
from jax import Array
from jax.typing import ArrayLike

from .base import Kind, NonIdeality, check_range, checked

# Drawn anew for each writing; all else belongs to the chip.
OF_A_WRITE = (Kind.PROGRAMMING, Kind.CYCLE)


def ordered(nonideal: Sequence[NonIdeality]) -> tuple[NonIdeality, ...]:
    """The non-idealities in the order in which they apply, whatever order they are listed in.

    Raises:
        ValueError: one is not a non-ideality, or two are of one kind.
    """
    if isinstance(nonideal, NonIdeality):
        nonideal = (nonideal,)
    kinds: dict[Kind, NonIdeality] = {}
    for item in nonideal:
        if not isinstance(item, NonIdeality):
            raise ValueError(
                f"nonideal has {item!r}: must be a sequence of non-idealities; unpack presets "
                "with *"
            )
        if item.kind in kinds:
            raise ValueError(
                f"nonideal has {type(kinds[item.kind]).__name__} and {type(item).__name__}, both "
                f"of the kind {item.kind.name}: must have one of a kind at most"
            )
        kinds[item.kind] = item
    return tuple(kinds[kind] for kind in sorted(kinds))


def compose(
    nonideal: Sequence[NonIdeality],
    target: ArrayLike,
    key: Array | None = None,
    *,
    used: ArrayLike | None = None,
    g_range: tuple[Any, Any],
    cycle: ArrayLike = 0,
    start: ArrayLike | None = None,
) -> Array:
    """The conductances of a chip on which these targets were written.

    The order, that of `Kind`, is: finite states, programming noise, device to device, cycle to
    cycle, endurance, drift or relaxation, stuck cells. Read noise is left to `read`. Spreads
    and exponents depend on the state that was aimed at, which is the target after finite
    states, not on what the noise before made of it. A stuck cell stays where it is stuck.

    Pure: what comes out depends on the pristine targets, never on an earlier result, so that
    writing the same targets again with the same key and cycle changes nothing. Each kind draws
    from a key of its own: with one more or less, the draws of the others are the same.

    Args:
        nonideal: at most one of each kind, in any order.
        target: siemens, ≥ 0, tiles (..., M, N), as the weights are mapped.
        key: of the chip: same key, same bits. None (default): only where nothing is random.
        used: bool, broadcast to target; where False the cell is padding, and stays as it is.
            None (default): all cells are used.
        g_range: (g_off, g_on) in siemens.
        cycle: number of the writing, ≥ 0; another one draws programming noise and variability
            from cycle to cycle anew on the same chip. Default 0.
        start: siemens that were written for the targets, where devices have been programmed; the
            first non-ideality acts on these. None (default): the targets.

    Returns:
        Siemens, of the shape of the targets.

    Raises:
        ValueError: an argument is not allowed, or a key is missing.
    """
    items = ordered(nonideal)
    g, used, _ = checked(target, used, None)
    check_range(g_range)
    aim = g
    if start is not None:
        g, *_ = checked(start, used, aim)
    for item in items:
        if item.kind == Kind.READ:
            continue
        own = None if key is None else jax.random.fold_in(key, int(item.kind))
        if own is not None and item.kind in OF_A_WRITE:
            own = jax.random.fold_in(own, cycle)
        g = item.apply(g, own, used=used, g_range=g_range, target=aim)
        if item.kind == Kind.FINITE_STATES:
            aim = g
    return g


def read(
    nonideal: Sequence[NonIdeality],
    g: ArrayLike,
    key: Array | None = None,
    *,
    used: ArrayLike | None = None,
    g_range: tuple[Any, Any],
    target: ArrayLike | None = None,
) -> Array:
    """Conductances as one reading sees them: the read noise among the non-idealities, drawn anew.

    Args:
        nonideal: as of `compose`; all but read noise is passed over.
        g: siemens, of the chip, as `compose` returns them.
        key: of this reading: give another to each.
        used: as of `compose`.
        g_range: (g_off, g_on) in siemens.
        target: siemens that was aimed at; None (default): g.

    Raises:
        ValueError: an argument is not allowed, or a key is missing.
    """
    noise = [item for item in ordered(nonideal) if item.kind == Kind.READ]
    g, used, target = checked(g, used, target)
    check_range(g_range)
    for item in noise:
        own = None if key is None else jax.random.fold_in(key, int(item.kind))
        g = item.apply(g, own, used=used, g_range=g_range, target=target)
    return g


def at_time(nonideal: Sequence[NonIdeality], time: ArrayLike) -> tuple[NonIdeality, ...]:
    """The same non-idealities at a time in second after the write, ≥ 0, all at once.

    Raises:
        ValueError: the time is negative, or one of them was not measured at it.
    """
    return tuple(item.at_time(time) for item in ordered(nonideal))
