import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import mapping, tiling
from jaxbar import nonideal as ni

from .items import G_RANGE, quick_jit


def written(rng, n, spacing="conductance", scheme="differential"):
    config = jb.CrossbarConfig(tile_shape=(16, 8), mapping=scheme, r_on=5e4, r_off=5e5)
    w = rng.standard_normal((40, 30)).astype(np.float32)
    states = ni.FiniteStates(n, spacing=spacing)

    @quick_jit
    def write(w):
        tiles = tiling.to_tiles(mapping.to_conductance(w, config)[0], (16, 8), 3.3e-6)
        used = tiling.to_tiles(jnp.ones((40, 30), bool), (16, 8), False)
        return states.apply(tiles, used=used, g_range=(config.g_off, config.g_on)), used

    return *map(np.asarray, write(w)), config


@pytest.mark.parametrize("scheme", ["differential", "offset"])
@pytest.mark.parametrize("spacing", ["conductance", "resistance"])
@pytest.mark.parametrize("n", [2, 3, 16])
def test_no_more_than_n_values(rng, n, spacing, scheme):
    out, used, config = written(rng, n, spacing, scheme)
    values = np.unique(out[:, used])
    assert len(values) <= n
    if n == 2:
        expected = np.float32([config.g_off, config.g_on])
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(out[:, ~used], np.float32(3.3e-6))


@pytest.mark.parametrize("n", [2, 16])
def test_nearest_in_conductance(rng, n):
    low, high = G_RANGE
    g = rng.uniform(low, high, (50, 40)).astype(np.float32)
    out = np.asarray(ni.FiniteStates(n).apply(g, g_range=G_RANGE))
    step = (high - low) / (n - 1)
    np.testing.assert_allclose(out, low + step * np.round((g - low) / step), rtol=1e-5)


@pytest.mark.parametrize("n", [2, 16])
def test_nearest_in_resistance(rng, n):
    low, high = G_RANGE
    g = (1 / rng.uniform(1 / high, 1 / low, (50, 40))).astype(np.float32)
    out = np.asarray(ni.FiniteStates(n, "resistance").apply(g, g_range=G_RANGE))
    step = (1 / low - 1 / high) / (n - 1)
    steps = (1 / g.astype(np.float64) - 1 / high) / step
    clear = np.abs(steps % 1 - 0.5) > 1e-3
    expected = 1 / (1 / high + step * np.round(steps))
    np.testing.assert_allclose(out[clear], expected[clear], rtol=1e-5)


def test_measured_levels(rng):
    levels = np.array([1e-6, 1.5e-6, 7e-6, 2e-5])
    g = rng.uniform(0, 3e-5, (50, 40)).astype(np.float32)
    out = ni.FiniteStates(levels=levels).apply(g, g_range=G_RANGE)
    nearest = levels[np.argmin(np.abs(g[..., None] - levels), -1)]
    np.testing.assert_allclose(out, nearest, rtol=1e-6)


def test_gradients(rng):
    """Straight through inside, none outside, and that of the level chosen."""
    g = jnp.array([[1e-6, 2e-6, 7e-6, 2e-5, 3e-5]])
    states = ni.FiniteStates(4)
    gradient = jax.grad(lambda g: states.apply(g, g_range=G_RANGE).sum())(g)
    np.testing.assert_array_equal(gradient, [[0, 1, 1, 1, 0]])
    states = ni.FiniteStates(levels=jnp.array([2e-6, 8e-6, 2e-5]))
    gradient = jax.grad(lambda states: states.apply(g, g_range=G_RANGE).sum())(states)
    np.testing.assert_array_equal(gradient.levels, [2, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1}, r"FiniteStates\.n = 1: must be an int ≥ 2"),
        ({"n": 0}, "must be an int ≥ 2"),
        ({"n": 2.5}, "must be an int ≥ 2"),
        ({"n": True}, "must be an int ≥ 2"),
        ({}, "give one of them"),
        ({"n": 3, "levels": [1e-6, 2e-6]}, "give one of them"),
        ({"levels": [1e-6]}, "n ≥ 2 states"),
        ({"levels": [1e-6, 1e-6]}, "must rise strictly"),
        ({"levels": [-1e-6, 1e-6]}, "must be finite and ≥ 0"),
        ({"n": 4, "spacing": "resistence"}, "did you mean 'resistance'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ni.FiniteStates(**arguments)


def test_resistances_without_end():
    with pytest.raises(ValueError, match="need a finite r_off"):
        ni.FiniteStates(4, "resistance").apply(np.ones((1, 1)) * 1e-6, g_range=(0.0, 1e-5))
