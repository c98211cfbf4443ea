"""Windows as published, and what they do to a device."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import VTEAM, Biolek, Joglekar, LinearIonDrift, Prodromakis

X = np.linspace(0, 1, 21)
UP, DOWN = jnp.asarray(True), jnp.asarray(False)


@pytest.mark.parametrize("p", [1, 2, 5])
def test_formulas(x64, p):
    for rises in (UP, DOWN):
        expected = 1 - (2 * X - 1) ** (2 * p)
        np.testing.assert_allclose(Joglekar(p)(X, rises), expected, atol=1e-15)
        expected = 1.3 * (1 - ((X - 0.5) ** 2 + 0.75) ** p)
        np.testing.assert_allclose(Prodromakis(p, 1.3)(X, rises), expected, atol=1e-15)
    np.testing.assert_allclose(Biolek(p)(X, UP), 1 - X ** (2 * p), atol=1e-15)
    np.testing.assert_allclose(Biolek(p)(X, DOWN), 1 - (X - 1) ** (2 * p), atol=1e-15)


@pytest.mark.parametrize("window", [Joglekar(), Joglekar(7), Prodromakis(), Prodromakis(3, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_bounds_hold_exactly(x64, window, dtype):
    for rises in (UP, DOWN):
        assert np.all(np.asarray(window(dtype([0, 1]), rises)) == 0)
        assert np.all(np.asarray(window(dtype([0.01, 0.5, 0.99]), rises)) > 0)
    stuck = LinearIonDrift(window=window).step(dtype([0, 1]), dtype([[1.0], [-1.0]]), 1.0)
    np.testing.assert_array_equal(stuck, [[0, 1], [0, 1]])


def test_biolek_leaves_its_bounds(x64):
    device = LinearIonDrift(window=Biolek())
    assert device.step(0.0, 1.0, 1e-3) > 0
    assert device.step(1.0, -1.0, 1e-3) < 1
    assert device.step(1.0, 1.0, 1e-3) == 1
    assert device.step(0.0, -1.0, 1e-3) == 0


@pytest.mark.parametrize("window", [Joglekar(2), Biolek(2), Prodromakis(2)])
@pytest.mark.parametrize("v", [0.4, -0.4])
def test_vteam_is_slowed_by_the_window_of_its_share(x64, window, v):
    w = 0.8e-9
    free = VTEAM().step(w, v, 1e-12) - w
    slowed = VTEAM(window=window).step(w, v, 1e-12) - w
    assert slowed / free == pytest.approx(float(window(0.8 / 3, jnp.asarray(v > 0))), rel=1e-9)


def test_vteam_laws_share_their_ends(x64):
    w = np.array([0.0, 1.2e-9, 3e-9])
    linear, exponential = (1 / VTEAM(law=law).conductance(w) for law in ("linear", "exponential"))
    np.testing.assert_allclose(linear, [50, 430, 1000], rtol=1e-13)
    np.testing.assert_allclose(exponential, [50, 50 * 20**0.4, 1000], rtol=1e-13)
