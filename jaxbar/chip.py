"""From the conductances that weights ask for to those that are on a chip; pure functions.

target → finite states → write-verify of devices, or programming noise → variability, endurance →
drift to a time → stuck cells. Shapes as in `crossbar`: tiles (P, D, A, m, n).
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import mapping, nonideal, tiling
from .circuit import Wires
from .config import CrossbarConfig
from .devices import Device
from .nonideal import Kind
from .programming import Programmed, WriteVerify, write_verify


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Chip:
    """What was written, and what has become of it.

    Attributes:
        target: conductances that the weights ask for (P, D, A, m, n) in siemens.
        aim: what finite states leave of the target.
        written: after write-verify, or without devices the aim; without time, noise or faults.
        conductance: of every cell now, siemens.
        pulses: that each cell got, int32, and
        status: how each ended, `jaxbar.programming.Status`, int32; None without devices.
        key: of the chip's draws; None: nothing was random.
    """

    target: Array
    aim: Array
    written: Array
    conductance: Array
    pulses: Array | None
    status: Array | None
    key: Array | None


def used_cells(shape: tuple[int, int], config: CrossbarConfig) -> Array:
    """Which cells (D, A, m, n) carry a weight of a matrix (K, L)."""
    lines = jnp.ones(mapping.array_shape(shape, config), bool)
    return tiling.to_tiles(lines, config.tile_shape, False)


def write(target: Array, shape: tuple[int, int], config: CrossbarConfig, key: Array | None) -> Chip:
    """The chip of a matrix (K, L), at the time that its non-idealities have.

    Args:
        target: conductances (P, D, A, m, n) in siemens.
        shape: K, L.
        config: device, programming, nonideal and what these need.
        key: of all draws; None where nothing is random.

    Raises:
        ValueError: a key is missing.
    """
    used = used_cells(shape, config)
    first = [item for item in config.nonideal if item.kind == Kind.FINITE_STATES]
    aim = _composed(first, target, target, used, config, key)
    if config.device is None:
        pulses = status = None
        written = aim
    else:
        found = _programmed(config.device, aim, used, config, key)
        pulses, status, written = found.pulses, found.status, found.conductance
    chip = Chip(target, aim, written, written, pulses, status, key)
    return dataclasses.replace(chip, conductance=_aged(chip, used, config))


def at_time(chip: Chip, shape: tuple[int, int], config: CrossbarConfig) -> Chip:
    """The same chip at the time that the configuration's non-idealities have by now."""
    return dataclasses.replace(chip, conductance=_aged(chip, used_cells(shape, config), config))


def reading(chip: Chip, shape: tuple[int, int], config: CrossbarConfig, key: Array | None) -> Array:
    """Conductances (P, D, A, m, n) as one reading sees them: its noise drawn with the key."""
    if key is None or not reads_differ(config):
        return chip.conductance
    used = used_cells(shape, config)
    g, aim = chip.conductance, chip.aim
    return nonideal.read(config.nonideal, g, key, used=used, g_range=_range(config), target=aim)


def reads_differ(config: CrossbarConfig) -> bool:
    """Whether there is noise of each reading."""
    return any(item.kind == Kind.READ for item in config.nonideal)


def compensation(chip: Chip, shape: tuple[int, int], config: CrossbarConfig) -> Array | None:
    """The factors that undo drift on average, to broadcast with outputs (D, A, B, n), or None.

    Measured cell by cell against the same chip without drift or relaxation.
    """
    if config.compensation is None:
        return None
    used = used_cells(shape, config)
    before = _composed(
        _later(config, Kind.RETENTION), chip.aim, chip.written, used, config, chip.key
    )
    middle = mapping.mid_conductance(config)
    old, new = (mapping.signed(g, middle, config) for g in (before, chip.conductance))
    rows, columns = old.shape[-2:]
    used = tiling.to_tiles(jnp.ones(shape, bool), (rows, columns), False)
    factor = nonideal.compensation(old, new, used=used, scope=config.compensation)
    return {
        "layer": lambda: factor[None, None, None, None],
        "tile": lambda: factor[:, :, None, None],
        "column": lambda: factor[:, :, None, :],
    }[config.compensation]()


def _programmed(
    device: Device, aim: Array, used: Array, config: CrossbarConfig, key: Array | None
) -> Programmed:
    protocol = WriteVerify() if config.programming is None else config.programming
    used = jnp.broadcast_to(used, aim.shape)
    # Padding is left alone, and cells with a fault are found by the writer.
    with_faults = _composed(_faults(config), aim, aim, used, config, key)
    held = jnp.where(used, with_faults, config.g_unused)
    stuck = jnp.where(used & (with_faults == aim), jnp.nan, 1 / held)
    network = protocol.voltages == "network"
    wires = config.wires if isinstance(config.wires, Wires) else Wires()
    return write_verify(
        device,
        aim,
        protocol,
        stuck=stuck,
        wires=wires if network else None,
        solver=config.solver if network else None,
        key=None if key is None else jax.random.fold_in(key, int(Kind.PROGRAMMING)),
        memory_budget=config.memory_budget,
    )


def _aged(chip: Chip, used: Array, config: CrossbarConfig) -> Array:
    """What has become of what was written."""
    return _composed(_later(config), chip.aim, chip.written, used, config, chip.key)


def _later(config: CrossbarConfig, *but: Kind) -> list[nonideal.NonIdeality]:
    """What happens after finite states, but for some kinds."""
    not_here = (Kind.FINITE_STATES, Kind.READ, *but)
    return [item for item in config.nonideal if item.kind not in not_here]


def _composed(
    items: Any, target: Array, start: Array, used: Array, config: CrossbarConfig, key: Array | None
) -> Array:
    return nonideal.compose(items, target, key, used=used, g_range=_range(config), start=start)


def _faults(config: CrossbarConfig) -> list[nonideal.NonIdeality]:
    return [item for item in config.nonideal if item.kind == Kind.FAULTS]


def _range(config: CrossbarConfig) -> tuple[Any, Any]:
    return config.g_off, config.g_on
