"""The orders in which cells are written: all together, row by row, or cell by cell.

Each is a `lax.while_loop` of passes that ends when no cell is to be pulsed: a pass gives at least
one pulse, and a cell takes `max_pulses` at most.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..circuit import Solver, Wires
from .lines import SHARES, cell_voltages, line_voltages
from .protocol import WriteVerify
from .rules import Cells, Log, active, noted, turned


class Tile(NamedTuple):
    """A tile while it is written."""

    state: Array  # (M, N), in the model's unit
    log: Log  # (M, N)
    converged: Array  # bool: all solves so far
    fired: Array  # int32: pulses of lines so far, which number the keys
    passes: Array  # int32


class Writer(NamedTuple):
    """What does not change while a tile is written."""

    protocol: WriteVerify
    cells: Cells  # (M, N)
    wires: Wires | None
    solver: Solver | None
    key: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        return self.cells.target.shape  # type: ignore[return-value]

    def active(self, tile: Tile) -> Array:
        """Which cells (M, N) are to be pulsed."""
        return active(self.protocol, self.cells, self.cells.read(tile.state), tile.log)

    def signed(self, level: Array, up: Array) -> Array:
        """Volt of pulses of an amplitude that raise, or else lower, the conductance."""
        sign = jnp.where(up, 1, -1) * self.cells.device.set_polarity
        return level * sign.astype(level.dtype)

    def key_of(self, fired: Array) -> Array | None:
        return None if self.key is None else jax.random.fold_in(self.key, fired)


def write(writer: Writer, tile: Tile) -> Tile:
    """The tile after the last pass."""
    scheme, order = writer.protocol.scheme, writer.protocol.order
    if scheme == "none":
        one_pass = _all_at_once
    elif order == "tile":
        one_pass = _one_round
    elif order == "row":
        one_pass = _rows
    elif scheme == "V/2" and writer.wires is None:
        one_pass = _crossed_cells
    else:
        one_pass = _cells

    def body(tile: Tile) -> Tile:
        tile = one_pass(writer, tile)
        return tile._replace(passes=tile.passes + 1)

    return lax.while_loop(lambda tile: jnp.any(writer.active(tile)), body, tile)


def _all_at_once(writer: Writer, tile: Tile) -> Tile:
    """One pulse for each cell that needs one, without any disturbance."""
    protocol, cells, state = writer.protocol, writer.cells, tile.state
    g = cells.read(state)
    on = active(protocol, cells, g, tile.log)
    log = turned(protocol, tile.log, g < cells.aim)
    v = jnp.where(on, writer.signed(log.level, log.up), 0.0)
    width = protocol.of("width", log.up)
    state = cells.step(state, v, width, writer.key_of(tile.fired))
    log = noted(protocol, cells, log, g, cells.read(state))
    log = jax.tree.map(lambda new, old: jnp.where(on, new, old), log, tile.log)
    return tile._replace(state=state, log=log, fired=tile.fired + 1)


def _one_round(writer: Writer, tile: Tile) -> Tile:
    """One pulse for each cell that needs one as the round begins, a row and a polarity a time."""
    wanted = writer.active(tile)
    up = writer.cells.read(tile.state) < writer.cells.aim

    def row(i: Array, tile: Tile) -> Tile:
        for raises in (True, False):
            selected = wanted[i] & (up[i] == raises)
            tile = lax.cond(
                jnp.any(selected),
                lambda tile, selected, up: _pulse(writer, tile, i, selected, up),
                lambda tile, selected, up: tile,
                *(tile, selected, jnp.asarray(raises)),
            )
        return tile

    return lax.fori_loop(0, writer.shape[0], row, tile)


def _rows(writer: Writer, tile: Tile) -> Tile:
    """Each row until it is done."""
    every = jnp.ones(writer.shape[1], bool)
    return lax.fori_loop(
        0, writer.shape[0], lambda i, tile: _until_done(writer, tile, i, every), tile
    )


def _cells(writer: Writer, tile: Tile) -> Tile:
    """Each cell until it is done."""
    m, n = writer.shape

    def cell(k: Array, tile: Tile) -> Tile:
        return _until_done(writer, tile, k // n, jnp.arange(n) == k % n)

    return lax.fori_loop(0, m * n, cell, tile)


def _until_done(writer: Writer, tile: Tile, i: Array, among: Array) -> Tile:
    """The tile after the cells of a row that are among (N,) those were written."""
    cells = _row(writer.cells, i)

    def needs(tile: Tile) -> tuple[Array, Array]:
        g = cells.read(tile.state[i])
        on = among & active(writer.protocol, cells, g, _row(tile.log, i))
        return on, g < cells.aim

    def body(tile: Tile) -> Tile:
        on, up = needs(tile)
        # Those that rise first: such pulses often disturb the others more than theirs do them.
        raises = jnp.any(on & up)
        return _pulse(writer, tile, i, on & (up == raises), raises)

    return lax.while_loop(lambda tile: jnp.any(needs(tile)[0]), body, tile)


def _pulse(writer: Writer, tile: Tile, i: Array, selected: Array, up: Array) -> Tile:
    """The tile after one pulse of cells of row i, all upwards or all downwards."""
    protocol, state = writer.protocol, tile.state
    cells, old = _row(writer.cells, i), _row(tile.log, i)
    log = turned(protocol, old, up)
    word, bit = line_voltages(
        protocol.scheme, state.shape[0], i, writer.signed(log.level, up), selected
    )
    g = writer.cells.read(state) if writer.wires is not None else state
    v, converged = cell_voltages(word, bit, g, writer.wires, writer.solver)
    width = protocol.of("width", up)
    after = writer.cells.step(state, v, width, writer.key_of(tile.fired))
    log = noted(protocol, cells, log, cells.read(state[i]), cells.read(after[i]))
    log = jax.tree.map(
        lambda new, old, all: lax.dynamic_update_index_in_dim(
            all, jnp.where(selected, new, old), i, 0
        ),
        *(log, old, tile.log),
    )
    return tile._replace(
        state=after, log=log, converged=tile.converged & converged, fired=tile.fired + 1
    )


def _crossed_cells(writer: Writer, tile: Tile) -> Tile:
    """`_cells` for V/2 and perfect lines, where a pulse changes but one row and one column.

    They are taken out of the tile while their cell is written, so that a pulse costs M + N steps
    of devices in place of M·N.
    """
    protocol, (m, n) = writer.protocol, writer.shape
    half = SHARES["V/2"]

    def cell(k: Array, tile: Tile) -> Tile:
        i, j = k // n, k % n
        cross = _cross(writer.cells, i, j)
        one = jax.tree.map(lambda x: x[0] if jnp.ndim(x) else x, cross)
        # The cell itself stands in front, and takes no part in its row and column.
        row = jnp.where(jnp.arange(n) == j, 0.0, half)
        column = jnp.where(jnp.arange(m) == i, 0.0, half)
        share = jnp.concatenate([jnp.ones(1), row, column]).astype(tile.state.dtype)

        def more(found: tuple[Array, Log, Array]) -> Array:
            state, log, _ = found
            return active(protocol, one, one.read(state[0]), log)

        def body(found: tuple[Array, Log, Array]) -> tuple[Array, Log, Array]:
            state, log, fired = found
            before = one.read(state[0])
            log = turned(protocol, log, before < one.aim)
            v = share * writer.signed(log.level, log.up)
            width = protocol.of("width", log.up)
            state = cross.step(state, v, width, writer.key_of(fired))
            return state, noted(protocol, one, log, before, one.read(state[0])), fired + 1

        log = jax.tree.map(lambda x: x[i, j], tile.log)
        state, log, fired = lax.while_loop(more, body, (_cross(tile.state, i, j), log, tile.fired))
        return tile._replace(
            state=_put_cross(tile.state, state, i, j),
            log=jax.tree.map(lambda all, x: all.at[i, j].set(x), tile.log, log),
            fired=fired,
        )

    return lax.fori_loop(0, m * n, cell, tile)


def _row[T](tree: T, i: Array) -> T:
    """Row i of all arrays; scalars as they are."""
    return jax.tree.map(lambda x: x[i] if jnp.ndim(x) else x, tree)


def _cross[T](tree: T, i: Array, j: Array) -> T:
    """(1 + N + M,) of each array: entry (i, j), row i, column j; scalars as they are."""

    def take(x: Array) -> Array:
        if not jnp.ndim(x):
            return x
        return jnp.concatenate([x[i, j][None], x[i], x[:, j]])

    return jax.tree.map(take, tree)


def _put_cross(x: Array, cross: Array, i: Array, j: Array) -> Array:
    n = x.shape[1]
    x = x.at[:, j].set(cross[1 + n :])
    return x.at[i].set(cross[1 : 1 + n]).at[i, j].set(cross[0])
