"""The chunks of tiles and inputs that fit a memory budget."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ._check import check_count
from ._device import SHARE, device, format_bytes, free_bytes, parse_bytes
from .circuit import Solver, SourceLines, Wires
from .circuit.laws import check_method, is_ohmic, needs_bit_voltage
from .circuit.solver import candidates
from .memory import Need


class MemoryBudgetError(MemoryError):
    """One input of one tile needs more memory than there is."""


class MemoryBudgetWarning(RuntimeWarning):
    """What does not fit the GPU is solved on the CPU."""


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """How tiles are solved within a budget. Sizes are in bytes.

    Attributes:
        tiles, inputs: what is solved: each tile for so many inputs.
        tile_chunk, input_chunk: how many tiles, and inputs of each, are in flight at a time.
        checkpoint: whether the backward pass solves each chunk again in place of keeping its
            voltages.
        solver: the solver to use; its method is no longer ``"auto"`` where column elimination
            would not fit.
        each: for one input of one tile in flight.
        tile: for one tile in flight, whatever the inputs.
        fixed: conductances, drives and currents of all tiles, with a gradient theirs too.
        peak: expected to be in use at most, `fixed` included.
        budget: allowed.
        device: kind of the device.
    """

    tiles: int
    inputs: int
    tile_chunk: int
    input_chunk: int
    checkpoint: bool
    solver: Solver
    each: int
    tile: int
    fixed: int
    peak: int
    budget: int
    device: str

    @property
    def chunks(self) -> tuple[int, int]:
        """How many chunks of tiles there are, and of inputs in each."""
        return -(-self.tiles // self.tile_chunk), -(-self.inputs // self.input_chunk)

    def __repr__(self) -> str:
        return (
            f"Plan({self.tiles} tiles × {self.inputs} inputs, {self.tile_chunk} × "
            f"{self.input_chunk} at a time, peak {format_bytes(self.peak)} of "
            f"{format_bytes(self.budget)}, {self.device})"
        )


def plan(
    tile_shape: tuple[int, int],
    tiles: int,
    inputs: int,
    *,
    dtype: Any = jnp.float32,
    solver: Solver | None = None,
    gradient: bool = True,
    memory_budget: int | str | None = None,
    tile_chunk: int | None = None,
    wires: Wires | SourceLines | None = None,
    cell: Any = None,
    on: Any = None,
) -> Plan:
    """The chunks in which tiles are solved for their inputs, and the memory that it takes.

    For the matrices of tiles (`effective_conductance`) the inputs are min(M, N) unit drives.

    Args:
        tile_shape: word lines M and bit lines N.
        tiles: how many, ≥ 0.
        inputs: how many for each tile, ≥ 0.
        dtype: of the conductances; default float32.
        solver: method; default `Solver()`.
        gradient: whether a backward pass may follow; default True.
        memory_budget: bytes, or a text such as "2GiB"; None (default): 80 % of what is free
            on the device.
        tile_chunk: tiles in flight at most; None (default): as many as fit on a GPU, and one
            on a CPU, which is fastest while one tile's state stays in its cache.
        wires: of the tiles, whose kind matters; default four scalars.
        cell: law of the cells, whose kind matters; default ohmic.
        on: a jax device; default the one that compiled functions run on.

    Raises:
        MemoryBudgetError: one input of one tile does not fit.
        ValueError: an argument is not allowed; the message names it.
    """
    if not (isinstance(tile_shape, tuple | list) and len(tile_shape) == 2):
        raise ValueError(f"tile_shape = {tile_shape!r}: must be (word lines, bit lines)")
    for size in tile_shape:
        check_count("tile_shape", size, "two ints ≥ 1, (word lines, bit lines)")
    for name, count in (("tiles", tiles), ("inputs", inputs)):
        if isinstance(count, bool) or count != 0:
            check_count(name, count, "an int ≥ 0")
    if tile_chunk is not None:
        check_count("tile_chunk", tile_chunk, "an int ≥ 1, or None")
    if dtype not in (jnp.float32, jnp.float64, "float32", "float64"):
        raise ValueError(f"dtype = {dtype!r}: tiles are solved in float32 or float64")
    if not isinstance(solver, Solver | None):
        raise ValueError(f"solver = {solver!r}: must be a jaxbar.Solver")
    on = device() if on is None else on
    budget = _budget(memory_budget, on)
    solver = Solver() if solver is None else solver
    most = tile_chunk or (1 if on.platform == "cpu" else max(1, tiles))
    shape = tile_shape[0], tile_shape[1]

    def need_of(*methods: str) -> Need:
        platform = "cpu" if on.platform == "cpu" else "gpu"
        return Need(methods, shape, tiles, inputs, dtype, gradient, platform)

    methods = _methods(solver, shape, dtype, inputs, wires, cell)
    need = need_of(*methods)
    found = _fit(need, budget, most)
    if len(methods) > 1:
        # Elimination is worth no chunks of inputs, and no more than 4 times those of tiles.
        alone = _fit(need_of("cg"), budget, most)
        if alone is not None and (found is None or found[1] < alone[1] or 4 * found[0] < alone[0]):
            need, found = need_of("cg"), alone
            solver = dataclasses.replace(solver, method="cg")
    if found is None:
        raise MemoryBudgetError(_too_much(need, budget, solver, on))
    return Plan(
        tiles=tiles,
        inputs=inputs,
        tile_chunk=found[0],
        input_chunk=found[1],
        checkpoint=found[2],
        solver=solver,
        each=need.each,
        tile=need.tile,
        fixed=need.fixed,
        peak=need.peak(*found),
        budget=budget,
        device=on.device_kind,
    )


def _methods(
    solver: Solver,
    shape: tuple[int, int],
    dtype: Any,
    inputs: int,
    wires: Wires | SourceLines | None,
    cell: Any,
) -> tuple[str, ...]:
    """What `Need` calls the methods that a program may use."""
    linear = cell is None or is_ohmic(cell)
    if not linear:
        check_method(solver, f"{type(cell).__name__} cells")
    if isinstance(wires, SourceLines):
        check_method(solver, "source lines")
        return ("source_lines",) if linear else ("source_newton",)
    if not linear:
        return ("gated",) if needs_bit_voltage(cell) else ("newton",)
    plain = wires is None or wires.plain
    methods = candidates(solver, shape, dtype, inputs, plain)
    return methods if plain else ("segments",)


def _budget(memory_budget: int | str | None, on: Any) -> int:
    if memory_budget is None:
        return int(SHARE * free_bytes(on))
    try:
        return parse_bytes(memory_budget)
    except ValueError as error:
        raise ValueError(f"memory_budget = {error}") from None


def _fit(need: Need, budget: int, most: int) -> tuple[int, int, bool] | None:
    """(tiles in flight, inputs in flight, checkpoint) within a budget, or None.

    All inputs of as many tiles as fit, else as many inputs of one tile as fit.
    """
    most, inputs = max(1, min(most, need.tiles)), max(1, need.inputs)
    if need.peak(most, inputs, False) <= budget:
        return most, inputs, False
    tiles = _largest(lambda t: need.peak(t, inputs, True) <= budget, most)
    if tiles:
        return _balanced(need.tiles, tiles), inputs, True
    some = _largest(lambda b: need.peak(1, b, True) <= budget, inputs)
    return (1, _balanced(inputs, some), True) if some else None


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest count in [1, most] that fits, or 0; whatever is smaller fits too."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _balanced(count: int, size: int) -> int:
    """Chunks of at most `size`, no more than needed and of one size: none is nearly empty."""
    return max(1, -(-count // -(-count // size))) if count else 1


def _too_much(need: Need, budget: int, solver: Solver, on: Any) -> str:
    least = need.peak(1, 1, True)
    remedies = ["a smaller tile_shape"]
    if jnp.dtype(need.dtype).itemsize > 4:
        remedies.append("float32")
    if solver.method in ("direct", "dense"):
        remedies.append("Solver(method='cg')")
    m, n = need.shape
    return (
        f"one input of one tile of {m}×{n} needs {format_bytes(least)} ({least} bytes, all "
        f"conductances and currents included) with Solver.method = {solver.method!r}, but "
        f"memory_budget is {format_bytes(budget)} ({budget} bytes) on {on.device_kind}: use "
        f"{', '.join(remedies)} or a larger memory_budget"
    )
