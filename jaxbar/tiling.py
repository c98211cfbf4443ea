"""Matrices of any shape on tiles of one shape.

Weight (i, j) of a matrix stands in tile (i // m, j // n) at cell (i % m, j % n): the used part
of a tile that is filled in part lies at its top left, next to the drivers of the word lines
and farthest from the sense ends of the bit lines. Unused word lines are driven with 0 V and
the currents of unused bit lines are not read.
"""

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


def tile_counts(shape: tuple[int, int], tile_shape: tuple[int, int]) -> tuple[int, int]:
    """How many tiles (down, across) carry a matrix of this shape."""
    return -(-shape[0] // tile_shape[0]), -(-shape[1] // tile_shape[1])


def used_corner(shape: tuple[int, ...], tile_shape: tuple[int, int]) -> tuple[int, int]:
    """The part (rows, columns) that is used in the fullest tile."""
    return min(shape[0], tile_shape[0]), min(shape[1], tile_shape[1])


def to_tiles(matrix: Array, tile_shape: tuple[int, int], fill: ArrayLike) -> Array:
    """(…, K, L) cut into tiles (…, down, across, m, n), unused cells filled."""
    *lead, k, l = matrix.shape
    (down, across), (m, n) = tile_counts((k, l), tile_shape), tile_shape
    pad = [(0, 0)] * len(lead) + [(0, down * m - k), (0, across * n - l)]
    full = jnp.pad(matrix, pad)
    used = jnp.pad(jnp.ones((k, l), bool), pad[-2:])
    full = jnp.where(used, full, jnp.asarray(fill, matrix.dtype))
    return jnp.moveaxis(full.reshape(*lead, down, m, across, n), -2, -3)


def from_tiles(tiles: Array, shape: tuple[int, int]) -> Array:
    """The matrix (…, K, L) of tiles (…, down, across, m, n): the inverse of `to_tiles`."""
    *lead, down, across, m, n = tiles.shape
    full = jnp.moveaxis(tiles, -3, -2).reshape(*lead, down * m, across * n)
    return full[..., : shape[0], : shape[1]]


def inputs_to_tiles(x: Array, rows: int) -> Array:
    """Inputs (B, K) for the word lines of each tile row, (down, B, m), unused ones 0."""
    batch, k = x.shape
    down = -(-k // rows)
    return jnp.moveaxis(jnp.pad(x, [(0, 0), (0, down * rows - k)]).reshape(batch, down, rows), 1, 0)


def outputs_from_tiles(y: Array, columns: int) -> Array:
    """Outputs (across, B, n) of the tiles side by side as (B, L)."""
    across, batch, n = y.shape
    return jnp.moveaxis(y, 0, 1).reshape(batch, across * n)[:, :columns]
