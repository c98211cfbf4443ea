"""Tiles written: arguments checked, tiles cut into chunks, results gathered."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from .._check import as_number, check_number, concrete, real_dtype
from .._pytree import register
from ..circuit import Solver, Wires
from ..circuit.wires import checked_wires
from ..devices import Device
from .chunk import tile_chunk_for
from .loops import Tile, Writer, write
from .protocol import WriteVerify
from .rules import Log, Status, cells_of, statuses


@register("state", "conductance", "pulses", "status", "amplitude", "passes", "converged")
@dataclasses.dataclass(frozen=True)
class Programmed:
    """What write-verify has left of one tile (M, N), or of tiles (..., M, N).

    Attributes:
        state: of the devices, in the model's unit.
        conductance: siemens, after the last pulse of any cell, so with all disturbance.
        pulses: that each cell got, half-select ones not counted, int32.
        status: `Status` of each cell, int32, judged by `conductance`.
        amplitude: of each cell's last pulse in volt, without sign, and `WriteVerify.ramp` more
            where that changed nothing.
        passes: over the tile, until one had nothing to write, () or (...), int32.
        converged: whether all solves of the network converged, () or (...), bool; True without.
    """

    state: Array
    conductance: Array
    pulses: Array
    status: Array
    amplitude: Array
    passes: Array
    converged: Array

    @property
    def done(self) -> Array:
        """Which cells are within the tolerance of their targets, bool."""
        return self.status == Status.DONE


def write_verify(
    device: Device,
    target: ArrayLike,
    protocol: WriteVerify | None = None,
    state: ArrayLike | None = None,
    *,
    stuck: ArrayLike | None = None,
    wires: Wires | None = None,
    solver: Solver | None = None,
    key: Array | None = None,
    tile_chunk: int | None = None,
    memory_budget: int | str | None = None,
) -> Programmed:
    """Tiles of devices after pulses that bring their conductances to targets.

    A cell that cannot be written costs its pulses and is reported in `Programmed.status`: it
    raises no error and ends in bounded time. A tile takes at most ``M·N·max_pulses`` pulses. A
    read is of the model's own `conductance`, and disturbs nothing. Not differentiable in reverse
    mode: its loops end by what they find. For use under `jax.jit` and `jax.vmap`.

    On two cores, a tile of 128×128 takes seconds row by row or cell by cell with ideal voltages;
    with those of the network it takes one `solve` for each pulse of a row or cell. Cell by cell,
    a pulse costs M + N steps of devices for ``"V/2"`` and perfect lines, else M·N.

    Args:
        device: its parameters are scalars or broadcast to the tiles.
        target: conductances (M, N), or (..., M, N) for many tiles, in siemens, ≥ 0.
        protocol: default `WriteVerify()`.
        state: before the first pulse, in the model's unit, broadcast to the targets; None
            (default): that of the lowest conductance. There a window that is 0 at its bounds, as
            Joglekar's, lets no pulse move a device: give another state.
        stuck: cells that no pulse moves, broadcast to the targets; bool (they keep their
            conductance), or the resistance in ohm that they are stuck at, > 0, inf for an open
            cell and NaN for those that are not stuck. The writer finds out by pulses.
        wires: of every tile; what ``voltages="network"`` needs.
        solver: of the network; default `Solver()`.
        key: of the noise of models that have some, which acts on cells with a voltage only; None
            (default) is none. Each tile has a part of its own.
        tile_chunk: tiles in flight at most; None (default): one on a CPU, and on others as many
            as fit.
        memory_budget: bytes, or a text such as "2GiB"; None (default): 80 % of what is free on
            the device.

    Returns:
        `Programmed`, its arrays of the shape of the targets.

    Raises:
        ValueError: an argument is not allowed; the message names it.
        MemoryBudgetError: one tile does not fit.
    """
    protocol = WriteVerify() if protocol is None else protocol
    for name, value, kind, allowed in (
        ("device", device, Device, "a model of jaxbar.devices"),
        ("protocol", protocol, WriteVerify, "a WriteVerify, or None"),
        ("wires", wires, Wires | None, "a jaxbar.Wires, or None"),
        ("solver", solver, Solver | None, "a jaxbar.Solver, or None"),
    ):
        if not isinstance(value, kind):
            raise ValueError(f"{name} = {value!r}: must be {allowed}")
    target, state, stuck = map(as_number, (target, state, stuck))
    _check_target(target)
    shape = np.shape(target)
    known = {"device": device.shape, "state": np.shape(state), "stuck": np.shape(stuck)}
    for name, given in known.items():
        _check_fits(name, given, shape)
    dtype = real_dtype(target) if state is None else real_dtype(target, state)
    target = jnp.asarray(target, dtype)
    if protocol.voltages == "network":
        if wires is None:
            raise ValueError(
                "wires = None with WriteVerify.voltages = 'network': give those of a tile"
            )
        wires = checked_wires(wires, dtype, shape[-2:])
    elif wires is not None:
        raise ValueError(
            f"wires = {wires!r} with WriteVerify.voltages = 'ideal', which uses none: leave them "
            "out, or ask for 'network'"
        )
    if state is None:
        state = device.state_for(jnp.asarray(1 / jnp.asarray(device.r_off, dtype), dtype))
    else:
        _check_state(device, state)
    frozen, held = _stuck(device, state, stuck, dtype)
    given = (device, target, jnp.asarray(state, dtype), frozen, held)
    lead, count = shape[:-2], math.prod(shape[:-2])
    size = tile_chunk_for(given, shape[-2:], count, dtype, wires, tile_chunk, memory_budget)
    if not lead:
        return _write_one(protocol, solver, wires, given, key)
    keys = None if key is None else jax.random.split(key, count)
    return _write_many(protocol, solver, size, lead, wires, given, keys)


@functools.partial(jax.jit, static_argnums=1)
def _write_one(
    protocol: WriteVerify,
    solver: Solver | None,
    wires: Wires | None,
    given: tuple[Device, Array, Array, Array | None, Array | None],
    key: Array | None,
) -> Programmed:
    """One tile of a target (M, N); device, state, frozen and held broadcast to it."""
    device, target, state, frozen, held = given
    dtype, shape = target.dtype, target.shape
    protocol = protocol.resolved(dtype)
    full = functools.partial(jnp.broadcast_to, shape=shape)
    device, frozen, held = jax.tree.map(
        lambda x: full(x) if jnp.ndim(x) else x, (device, frozen, held)
    )
    cells = cells_of(protocol, device, target, frozen, held)
    none = jnp.zeros((), jnp.int32)
    tile = Tile(full(state), Log.empty(protocol, shape), jnp.ones((), bool), none, none)
    tile = write(Writer(protocol, cells, wires, solver, key), tile)
    g = cells.read(tile.state)
    return Programmed(
        state=tile.state,
        conductance=g,
        pulses=tile.log.pulses,
        status=statuses(protocol, cells, g, tile.log),
        amplitude=tile.log.level,
        passes=tile.passes,
        converged=tile.converged,
    )


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _write_many(
    protocol: WriteVerify,
    solver: Solver | None,
    size: int,
    lead: tuple[int, ...],
    wires: Wires | None,
    given: Any,
    keys: Array | None,
) -> Programmed:
    """As `_write_one`, of tiles (*lead, M, N), `size` of them at a time."""
    leaves, structure = jax.tree.flatten(given)
    of_tiles = [jnp.ndim(x) > 2 for x in leaves]
    count = math.prod(lead)

    def flat(x: Array) -> Array:
        x = jnp.broadcast_to(x, (*lead, *x.shape[-2:]))
        return x.reshape(count, *x.shape[-2:])

    def one(tile: tuple[list[Array], Array | None]) -> Programmed:
        own, key = tile
        rest = iter(own)
        each = [next(rest) if of else x for x, of in zip(leaves, of_tiles, strict=True)]
        return _write_one(protocol, solver, wires, jax.tree.unflatten(structure, each), key)

    tiles = [flat(x) for x, of in zip(leaves, of_tiles, strict=True) if of], keys
    if not count:
        found = jax.tree.map(
            lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(jax.vmap(one), tiles)
        )
    elif size >= count > 1:
        found = jax.vmap(one)(tiles)
    else:
        # One at a time has no vmap: each of its loops would copy the tile at every step.
        found = lax.map(one, tiles, batch_size=size if size > 1 else None)
    return jax.tree.map(lambda x: x.reshape(*lead, *x.shape[1:]), found)


def _stuck(device: Device, state: Any, stuck: Any, dtype: Any) -> tuple[Array | None, Array | None]:
    """Which cells are frozen, and the conductances that they have."""
    if stuck is None:
        return None, None
    if jnp.issubdtype(jnp.result_type(stuck), jnp.bool_):
        return jnp.asarray(stuck), device.conductance(jnp.asarray(state, dtype))
    allowed = "ohm: must be > 0, inf for an open cell, or NaN for one that is not stuck"
    check_number("stuck", stuck, lambda x: ~(x <= 0), allowed)
    stuck = jnp.asarray(stuck, dtype)
    frozen = ~jnp.isnan(stuck)
    return frozen, 1 / jnp.where(frozen, stuck, 1.0)


def _check_target(target: Any) -> None:
    shape = np.shape(target)
    if len(shape) < 2 or 0 in shape[-2:]:
        raise ValueError(
            f"target has shape {shape}: must be (M word lines, N bit lines), both ≥ 1, or "
            "(..., M, N) for many tiles"
        )
    allowed = "must be finite and ≥ 0, in siemens"
    check_number("target", target, lambda g: np.isfinite(g) & (g >= 0), allowed)


def _check_state(device: Device, state: Any) -> None:
    """Raises ValueError unless the device can have the states."""
    check_number("state", state, np.isfinite, "must be finite, in the model's unit")
    low, high = (concrete(x) for x in device.state_bounds())
    if low is None or high is None or concrete(state) is None:
        return
    spare = 1e-5 * (high - low)  # float32 rounds the bounds
    unit = type(device).__name__
    if not device.shape:
        allowed = f"must be between {low:g} and {high:g}, the bounds of {unit}"
        check_number("state", state, lambda x: (x >= low - spare) & (x <= high + spare), allowed)
    elif np.any((state < low - spare) | (state > high + spare)):
        raise ValueError(
            f"state leaves the bounds of some {unit}: see device.state_bounds(), and use "
            "device.state_for(conductance)"
        )


def _check_fits(name: str, given: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raises ValueError unless a shape broadcasts to that of the targets."""
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} of shape {given} with targets of shape {shape}: must be a scalar or "
            "broadcast to them"
        )
