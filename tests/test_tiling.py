"""Matrices cut into tiles and put together again."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar import tiling

SHAPES = [(1, 1), (1, 9), (9, 1), (8, 6), (7, 5), (3, 20), (20, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("tile", [(4, 3), (1, 1), (64, 64), (8, 2)], ids=str)
def test_round_trip_and_fill(rng, shape, tile):
    w = jnp.asarray(rng.uniform(1, 2, (2, *shape)), jnp.float32)
    tiles = tiling.to_tiles(w, tile, -1.0)
    counts = tiling.tile_counts(shape, tile)
    assert tiles.shape == (2, *counts, *tile)
    assert (tiles == -1.0).sum() == tiles.size - w.size
    np.testing.assert_array_equal(tiling.from_tiles(tiles, shape), w)
    i, j = shape[0] - 1, shape[1] - 1  # the last weight stands where the docstring says
    cell = tiles[:, i // tile[0], j // tile[1], i % tile[0], j % tile[1]]
    np.testing.assert_array_equal(cell, w[:, i, j])


def test_products_tile_by_tile_add_up(rng):
    w, x = rng.standard_normal((10, 7)), rng.standard_normal((4, 10))
    tiles = tiling.to_tiles(jnp.asarray(w), (4, 3), 0.0)
    parts = jnp.einsum("dbm,damn->abn", tiling.inputs_to_tiles(jnp.asarray(x), 4), tiles)
    np.testing.assert_allclose(tiling.outputs_from_tiles(parts, 7), x @ w, atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 6), (5, 7), (1, 7), (5, 1), (2, 2)], ids=str)
def test_every_cell_stands_at_the_top_left_of_its_tile(shape):
    m, n = 4, 3
    w = np.arange(1.0, 1 + shape[0] * shape[1], dtype=np.float32).reshape(shape)
    down, across = -(-shape[0] // m), -(-shape[1] // n)
    expected = np.full((down, across, m, n), -1.0, np.float32)
    for i in range(shape[0]):
        for j in range(shape[1]):
            expected[i // m, j // n, i % m, j % n] = w[i, j]
    np.testing.assert_array_equal(tiling.to_tiles(jnp.asarray(w), (m, n), -1.0), expected)
    assert tiling.tile_counts(shape, (m, n)) == (down, across)
    assert tiling.used_corner(shape, (m, n)) == (min(shape[0], m), min(shape[1], n))


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_unused_word_lines_are_driven_with_zero(rng, batch):
    x = rng.standard_normal((batch, 7)).astype(np.float32)
    tiles = tiling.inputs_to_tiles(jnp.asarray(x), 5)
    assert tiles.shape == (2, batch, 5)
    np.testing.assert_array_equal(tiles[0], x[:, :5])
    np.testing.assert_array_equal(tiles[1, :, :2], x[:, 5:])
    np.testing.assert_array_equal(tiles[1, :, 2:], 0.0)


def test_outputs_of_unused_bit_lines_are_dropped():
    y = jnp.arange(12.0).reshape(2, 2, 3)  # two tiles across, two inputs, three bit lines
    np.testing.assert_array_equal(
        tiling.outputs_from_tiles(y, 4), [[0.0, 1.0, 2.0, 6.0], [3.0, 4.0, 5.0, 9.0]]
    )
