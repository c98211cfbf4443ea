"""How many tiles are written at a time."""

import math
from typing import Any

import jax
import jax.numpy as jnp

from .._check import check_count
from .._device import SHARE, device, format_bytes, free_bytes, parse_bytes
from ..circuit import Wires
from ..memory import Need
from ..planning import MemoryBudgetError

# Arrays (M, N) of a tile in flight, of XLA's `memory_analysis` rounded up: 8 to 14 where a step
# is of one device, 24 for the model with the longest step and noise. The network comes on top.
_FLIGHT = 26
_RESULTS = 5


def peak(
    shape: tuple[int, int], tiles: int, size: int, dtype: Any, given: int, wires: Wires | None
) -> int:
    """Bytes in use at most while `size` tiles of shape (M, N) are written at a time.

    Args:
        shape: M, N.
        tiles: how many.
        size: of a chunk.
        dtype: of the conductances.
        given: bytes of all arguments.
        wires: of the network; None if there is none.
    """
    item = jnp.dtype(dtype).itemsize * math.prod(shape)
    fixed = given + _RESULTS * item * tiles
    # In a loop, some of it is there as a whole and as what is cut from it or joined.
    total = fixed * (1.0 if size >= tiles else 1.5) + _FLIGHT * item * size
    if wires is not None:
        platform = "cpu" if device().platform == "cpu" else "gpu"
        method = "cg" if wires.plain else "segments"
        total += Need((method,), shape, size, 1, dtype, False, platform).peak(size, 1, False)
    return math.ceil(total)


def tile_chunk_for(
    tree: Any,
    shape: tuple[int, int],
    tiles: int,
    dtype: Any,
    wires: Wires | None,
    tile_chunk: int | None,
    memory_budget: int | str | None,
) -> int:
    """Tiles in flight at a time; what `write_verify` says of its arguments.

    Args:
        tree: all arguments of the tiles.
        shape: M, N.
        tiles: how many.
        dtype: of the conductances.
        wires: of the network; None if there is none.
        tile_chunk, memory_budget: as of `write_verify`.

    Raises:
        MemoryBudgetError: one tile does not fit.
        ValueError: tile_chunk or memory_budget is not allowed.
    """
    if tile_chunk is not None:
        check_count("tile_chunk", tile_chunk, "an int ≥ 1, or None")
    on = device()
    try:
        budget = (
            int(SHARE * free_bytes(on)) if memory_budget is None else parse_bytes(memory_budget)
        )
    except ValueError as error:
        raise ValueError(f"memory_budget = {error}") from None
    given = sum(jnp.size(x) * jnp.result_type(x).itemsize for x in jax.tree.leaves(tree))
    need = lambda size: peak(shape, tiles, size, dtype, given, wires)
    # One at a time is fastest on a CPU, where the loops of a tile need not wait for others'.
    most = tile_chunk or (1 if on.platform == "cpu" else tiles)
    size = max(1, min(most, tiles))
    while size > 1 and need(size) > budget:
        size //= 2
    if tiles and need(size) > budget:
        m, n = shape
        raise MemoryBudgetError(
            f"writing {tiles} tiles of {m}×{n} one at a time needs {format_bytes(need(1))}, but "
            f"memory_budget is {format_bytes(budget)} on {on.device_kind}: give fewer tiles a "
            "call, smaller tiles, or a larger memory_budget"
        )
    # Chunks of one size as near as may be: the last one would else be nearly empty.
    return -(-tiles // -(-tiles // size)) if tiles else 1
