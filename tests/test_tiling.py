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
