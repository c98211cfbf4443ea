"""The memory that solving tiles takes, in bytes, from shapes alone.

XLA allocates for a compiled program its arguments, its results and one block of temporaries.
The temporaries are a number of arrays of the state, one value for each cell, input and tile in
flight, and the factors of the methods that have some. The numbers below are those of XLA's own
`memory_analysis`, rounded up; `tests/test_memory.py` holds them to it.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import jax.numpy as jnp

from .circuit.fused import padded_shape
from .circuit.linear import cache_chunk
from .circuit.operator import padded


class _Arrays(NamedTuple):
    """Arrays of the state that a method holds of what is in flight."""

    solving: float  # while it solves
    backward: float  # more of them with a gradient
    voltages: float  # and more if those of the forward pass are kept
    again: float = 0.0  # and more if the forward pass is done again


# By platform ("gpu" stands for all but the CPU) and method. On a CPU the kernel is interpreted.
# Of jax 0.11 and 0.12, which differ by up to a half, the larger.
_ARRAYS = {
    ("cpu", "cg"): _Arrays(12.6, 3.0, 1.0),
    ("gpu", "cg"): _Arrays(9.9, 2.4, 1.0),
    ("cpu", "cg_library"): _Arrays(14.2, 2.6, 1.0),
    ("gpu", "cg_library"): _Arrays(9.9, 2.4, 1.0),
    ("cpu", "direct"): _Arrays(10.4, 3.0, 1.0),
    ("gpu", "direct"): _Arrays(11.0, 4.2, 1.0),
    ("cpu", "fused"): _Arrays(12.2, 3.0, 1.0),
    ("gpu", "fused"): _Arrays(0.0, 8.6, 1.0),
    # Wires that are not plain, cells that are not ohmic, and lines that are not grounded.
    ("cpu", "segments"): _Arrays(12.4, 1.6, 1.0, 2.0),
    ("gpu", "segments"): _Arrays(12.4, 1.6, 1.0, 2.0),
    ("cpu", "source_lines"): _Arrays(18.9, 8.8, 1.0, 2.4),
    ("gpu", "source_lines"): _Arrays(18.9, 8.8, 1.0, 2.4),
    ("cpu", "source_newton"): _Arrays(24.3, 11.8, 1.0),
    ("gpu", "source_newton"): _Arrays(24.3, 11.8, 1.0),
    ("cpu", "newton"): _Arrays(18.8, 1.4, 1.0, 5.6),
    ("gpu", "newton"): _Arrays(18.8, 1.4, 1.0, 5.6),
    ("cpu", "gated"): _Arrays(27.8, 0.6, 1.0, 8.6),
    ("gpu", "gated"): _Arrays(27.8, 0.6, 1.0, 8.6),
}
# Workspaces of the GPU's libraries, which XLA's analysis does not count.
_GPU_WORKSPACE = 48 * 2**20


@dataclasses.dataclass(frozen=True)
class Need:
    """The bytes that solving tiles takes, by the chunks in which it is done.

    Args:
        methods: that the program may use, as `candidates` names them, or "segments",
            "source_lines", "source_newton", "newton" or "gated" for what has but one.
        shape: word lines M and bit lines N of a tile.
        tiles: how many.
        inputs: how many for each tile.
        dtype: of the conductances.
        gradient: whether a backward pass follows.
        platform: "cpu" or "gpu".
    """

    methods: tuple[str, ...]
    shape: tuple[int, int]
    tiles: int
    inputs: int
    dtype: Any
    gradient: bool
    platform: str

    @property
    def fixed(self) -> int:
        """Conductances, drives and currents of all tiles, with a gradient theirs too."""
        m, n = self.shape
        return (1 + self.gradient) * self._item * self.tiles * (m * n + self.inputs * (m + n))

    @property
    def each(self) -> int:
        """For one input of one tile in flight."""

        def of(method: str) -> float:
            arrays = self._arrays(method)
            backward = arrays.backward + max(arrays.voltages, arrays.again)
            count = arrays.solving + self.gradient * backward
            return self._state(method) * count

        return math.ceil(max(map(of, self.methods)))

    @property
    def tile(self) -> int:
        """For one tile in flight, whatever the inputs: the factors of its method."""
        return math.ceil(max(self._factors(method, 1, False) for method in self.methods))

    def peak(self, tile_chunk: int, input_chunk: int, checkpoint: bool) -> int:
        """In use at most, arguments and results included.

        Args:
            tile_chunk: tiles in flight at a time.
            input_chunk: inputs of each in flight at a time.
            checkpoint: whether the backward pass solves each chunk again.
        """

        def of(method: str) -> float:
            return self._in_flight(method, tile_chunk, input_chunk, checkpoint)

        whole = self._is_whole(tile_chunk, input_chunk)
        # In a loop, some of it is there as a whole and as what is cut from it or joined.
        fixed = self.fixed * (1.0 if whole else 1.5)
        workspace = 0 if self.platform == "cpu" else _GPU_WORKSPACE
        return math.ceil(fixed + max(map(of, self.methods)) + workspace)

    def _is_whole(self, tile_chunk: int, input_chunk: int) -> bool:
        return tile_chunk >= self.tiles and input_chunk >= self.inputs

    def _in_flight(self, method: str, tile_chunk: int, input_chunk: int, checkpoint: bool) -> float:
        arrays, state = self._arrays(method), self._state(method)
        # On a CPU the inputs are solved in smaller chunks still, which stay in the cache.
        cached = input_chunk
        if self.platform == "cpu":
            cached = min(input_chunk, cache_chunk(self.shape, self.dtype))
        filled = -(-input_chunk // max(1, cached)) * cached
        flight, kept = arrays.solving * cached, 0.0
        if self.gradient:
            flight += arrays.backward * filled
            if checkpoint:
                flight += arrays.again * filled
            elif not self._is_whole(tile_chunk, input_chunk):
                flight += arrays.voltages * filled
                kept = state * self.tiles * self.inputs  # the voltages of every tile
        m, n = self.shape
        lines = 192 * 1024 + self._item * tile_chunk * (
            16 * (input_chunk + 1) * (m + n) + 3 * m * n
        )
        return (
            state * tile_chunk * flight
            + kept
            + lines
            + self._factors(method, tile_chunk, checkpoint)
        )

    def _arrays(self, method: str) -> _Arrays:
        return _ARRAYS[self.platform, "direct" if method == "dense" else method]

    def _state(self, method: str) -> int:
        """One value for each cell, with the padding of the method."""
        if method == "fused":
            return self._item * math.prod(padded_shape(self.shape))
        if method in ("cg", "cg_library"):
            return self._item * math.prod(map(padded, self.shape))
        return self._item * math.prod(self.shape)

    def _factors(self, method: str, tile_chunk: int, checkpoint: bool) -> float:
        m, n = self.shape
        if method == "direct":
            copies = 2.1 if tile_chunk > 1 and self.platform == "cpu" else 1.6
            size = max(copies * 2 * n * m * m, 16.0 * max(m * m, m * n))
        elif method == "dense":
            size = 2.4 * (2 * m * n) ** 2
        else:
            return 0.0
        # A forward pass that is done again meets the factors of the backward pass.
        again = self.gradient and checkpoint and len(self.methods) == 1
        return self._item * tile_chunk * size * (1.7 if again else 1.0)

    @property
    def _item(self) -> int:
        return jnp.dtype(self.dtype).itemsize
