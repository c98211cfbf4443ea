"""Weights to conductances and back."""

import numpy as np
import pytest

import jaxbar as jb
from jaxbar import mapping


@pytest.mark.parametrize("r_off", [2.5e3, 1e6, float("inf")])
@pytest.mark.parametrize("scale", ["layer", "column"])
@pytest.mark.parametrize("scheme", ["differential", "offset"])
def test_round_trip(rng, scheme, scale, r_off):
    config = jb.CrossbarConfig(mapping=scheme, scale=scale, r_on=1.8e3, r_off=r_off)
    w = rng.standard_normal((7, 5)).astype(np.float32)
    w[:, 2] = 0.0
    g, largest = mapping.to_conductance(w, config)
    assert g.shape == (2 if scheme == "differential" else 1, 7, 5)
    assert (g >= (1 - 1e-6) / r_off).all()
    assert (g <= (1 + 1e-6) / 1.8e3).all()
    back = mapping.to_weight(g, largest, config)
    np.testing.assert_allclose(back, w, atol=4e-6 * np.abs(w).max())


def test_differential_parts_and_offset_middle():
    w = np.array([[1.0, -0.5, 0.0]], np.float32)
    config = jb.CrossbarConfig(r_on=1.0, r_off=2.0)
    g, largest = mapping.to_conductance(w, config)
    np.testing.assert_allclose(g[:, 0], [[1.0, 0.5, 0.5], [0.5, 0.75, 0.5]], rtol=1e-6)
    assert largest == 1.0
    g, _ = mapping.to_conductance(w, config.replace(mapping="offset"))
    np.testing.assert_allclose(g[0, 0], [1.0, 0.625, 0.75], rtol=1e-6)


def test_percentile_clips_the_outlier_alone(rng):
    w = rng.uniform(-1, 1, (40, 50)).astype(np.float32)
    w[3, 4] = 100.0
    config = jb.CrossbarConfig(clip_percentile=99.9)
    g, largest = mapping.to_conductance(w, config)
    back = np.asarray(mapping.to_weight(g, largest, config))
    assert largest < 1.01
    changed = np.abs(back - w) > 1e-5
    assert changed[3, 4]
    assert changed.sum() <= 3


@pytest.mark.parametrize("scale", ["layer", "column"])
@pytest.mark.parametrize("scheme", ["differential", "offset"])
def test_negative_weights_zeros_and_one_weight(scheme, scale):
    config = jb.CrossbarConfig(mapping=scheme, scale=scale)
    for w in (np.full((3, 2), -2.5), np.zeros((3, 2)), [[-4.0]], [[1e-30, -1e30]]):
        w = np.asarray(w, np.float32)
        g, largest = mapping.to_conductance(w, config)
        assert (largest > 0).all()
        assert ((g >= 0.999999e-6) & (g <= 1.000001e-5)).all()
        back = mapping.to_weight(g, largest, config)
        np.testing.assert_allclose(back, w, atol=2e-6 * np.abs(w).max())


def test_scales():
    w = np.array([[1.0, -8.0, 0.0], [-2.0, 4.0, 0.0]], np.float32)
    layer = mapping.largest_weight(w, jb.CrossbarConfig())
    column = mapping.largest_weight(w, jb.CrossbarConfig(scale="column"))
    assert layer == 8.0
    np.testing.assert_array_equal(column, [2.0, 8.0, 1.0])
    g, _ = mapping.to_conductance(w, jb.CrossbarConfig(scale="column", r_on=1.0, r_off=2.0))
    np.testing.assert_allclose(g[0], [[0.75, 0.5, 0.5], [0.5, 0.75, 0.5]])
    np.testing.assert_allclose(g[1], [[0.5, 1.0, 0.5], [1.0, 0.5, 0.5]])


@pytest.mark.parametrize("scheme", ["differential", "offset"])
@pytest.mark.parametrize("scale", ["layer", "column"])
def test_clipping_is_that_of_numpy(rng, scheme, scale):
    w = rng.standard_normal((30, 4)).astype(np.float32)
    config = jb.CrossbarConfig(mapping=scheme, scale=scale, clip_percentile=90.0)
    limit = np.percentile(np.abs(w), 90.0, axis=None if scale == "layer" else 0)
    g, largest = mapping.to_conductance(w, config)
    np.testing.assert_allclose(largest, limit, rtol=1e-6)
    assert ((g >= 0.999999e-6) & (g <= 1.000001e-5)).all()
    back = mapping.to_weight(g, largest, config)
    np.testing.assert_allclose(back, np.clip(w, -limit, limit), atol=1e-5)


def test_a_percentile_of_100_clips_nothing(rng):
    w = rng.standard_normal((6, 5)).astype(np.float32)
    config = jb.CrossbarConfig()
    expected = mapping.to_conductance(w, config)[0]
    given = mapping.to_conductance(w, config.replace(clip_percentile=100.0))[0]
    np.testing.assert_allclose(given, expected, rtol=1e-6)
