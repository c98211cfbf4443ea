"""What the writer decides for a cell: whether to pulse it, which way, how high, when to stop.

All functions are elementwise, so that one serves a tile, a row and a single cell.
"""

import enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from .protocol import WriteVerify


class Status(enum.IntEnum):
    """How a cell has ended; of those that hold, the first of DONE, OUT_OF_RANGE, STUCK, LIMIT.

    Attributes:
        DONE: its conductance is within the tolerance of the target.
        STUCK: pulses of the highest amplitude do not move it, or by so little that `max_pulses` of
            them would not move it by the tolerance.
        OUT_OF_RANGE: the device holds no conductance within the tolerance of the target; the cell
            was driven towards the nearest one that it does, until within the tolerance of that.
        LIMIT: all pulses that a cell may get were used.
    """

    DONE = 0
    STUCK = 1
    OUT_OF_RANGE = 2
    LIMIT = 3


class Cells(NamedTuple):
    """Cells that do not change while they are written; arrays of one shape, or scalars."""

    device: Any
    target: Array  # S
    aim: Array  # S: the target, or where that is out of range the nearest conductance that is not
    frozen: Array | None  # bool: cells that no pulse moves
    held: Array | None  # S: their conductances

    def read(self, state: Array) -> Array:
        """Conductances in siemens."""
        g = self.device.conductance(state)
        if self.frozen is None or self.held is None:
            return g
        return jnp.where(self.frozen, self.held, g)

    def step(self, state: Array, v: Array, width: Array, key: Array | None) -> Array:
        """States after a pulse. Cells at 0 V are left alone, also by a model's noise."""
        moves = v != 0 if self.frozen is None else (v != 0) & ~self.frozen
        return jnp.where(moves, self.device.step(state, v, width, key), state)


class Log(NamedTuple):
    """What the writer has noted of each cell."""

    level: Array  # V: amplitude of the last pulse, or of the next where that changed nothing
    up: Array  # bool: whether it was to raise the conductance
    idle: Array  # int32: pulses of the highest amplitude, to the last, that did not move it
    pulses: Array  # int32

    @classmethod
    def empty(cls, protocol: WriteVerify, shape: tuple[int, ...]) -> "Log":
        zeros = jnp.zeros(shape, jnp.int32)
        up = jnp.zeros(shape, bool)
        return cls(protocol.of("amplitude", up), up, zeros, zeros)


def cells_of(
    protocol: WriteVerify, device: Any, target: Array, frozen: Array | None, held: Array | None
) -> Cells:
    """The cells of a tile and what each is to become, for targets (M, N) in siemens."""
    dtype = target.dtype
    device = jax.tree.map(lambda x: jnp.asarray(x, dtype), device)
    nearest = jnp.clip(target, 1 / device.r_off, 1 / device.r_on)
    reachable = jnp.abs(nearest - target) <= protocol.tolerance * target
    # Cells out of range aim at the bound; the others, which may be a little beyond one, do not.
    aim = jnp.where(reachable, target, nearest)
    return Cells(device, target, aim, frozen, held)


def near(protocol: WriteVerify, cells: Cells, g: Array) -> Array:
    """Whether cells are within the tolerance of what they aim at."""
    return jnp.abs(g - cells.aim) <= protocol.tolerance * cells.aim


def given_up(protocol: WriteVerify, cells: Cells, g: Array, log: Log) -> Array:
    """Whether pulses in the direction that a cell needs were seen to move it no more."""
    return (log.idle >= protocol.patience) & (log.up == (g < cells.aim))


def active(protocol: WriteVerify, cells: Cells, g: Array, log: Log) -> Array:
    """Whether cells are to be pulsed."""
    left = log.pulses < protocol.max_pulses
    return left & ~near(protocol, cells, g) & ~given_up(protocol, cells, g, log)


def turned(protocol: WriteVerify, log: Log, up: Array) -> Log:
    """The log before a pulse: in a new direction a cell starts from the first amplitude."""
    new = log.up != up
    return log._replace(
        level=jnp.where(new, protocol.of("amplitude", up), log.level),
        up=jnp.broadcast_to(up, log.up.shape),
        idle=jnp.where(new, 0, log.idle),
    )


def noted(protocol: WriteVerify, cells: Cells, log: Log, before: Array, after: Array) -> Log:
    """The log after a pulse that took conductances from `before` to `after`."""
    way = jnp.where(log.up, after - before, before - after)
    none = ~(way > protocol.least_change * before)
    # At this pace all pulses that a cell may get would not move it by the tolerance.
    still = none & ~(way > protocol.tolerance / protocol.max_pulses * before)
    highest = protocol.of("max_amplitude", log.up)
    top = log.level >= highest
    higher = jnp.minimum(log.level + protocol.ramp, highest)
    return log._replace(
        level=jnp.where(none, higher, log.level),
        idle=jnp.where(still & top, log.idle + 1, 0),
        pulses=log.pulses + 1,
    )


def statuses(protocol: WriteVerify, cells: Cells, g: Array, log: Log) -> Array:
    """`Status` of each cell, int32, of its last conductance."""
    status = jnp.where(given_up(protocol, cells, g, log), Status.STUCK, Status.LIMIT)
    status = jnp.where(cells.aim == cells.target, status, Status.OUT_OF_RANGE)
    done = jnp.abs(g - cells.target) <= protocol.tolerance * cells.target
    return jnp.where(done, Status.DONE, status).astype(jnp.int32)
