"""Quantisers against values worked out by hand, and what holds for all of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.periphery import covering_range, quantize


@pytest.mark.parametrize(
    ("bits", "x", "expected"),
    [
        (1, [-9.0, -0.1, -0.0, 0.0, 0.1, 9.0], [-1.5, -1.5, 1.5, 1.5, 1.5, 1.5]),
        (2, [-9.0, -1.6, -1.4, 0.0, 1.4, 1.6, 9.0], [-3.0, -3.0, 0.0, 0.0, 0.0, 3.0, 3.0]),
        (3, [-3.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6], [-3.0, -2.0, 0.0, 0.0, 2.0, 2.0, 3.0]),
    ],
)
def test_golden_values(bits, x, expected):
    np.testing.assert_allclose(quantize(jnp.array(x), 3.0, bits), expected, rtol=1e-6)


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8])
def test_codes_monotony_and_error(bits):
    x = jnp.linspace(-2.0, 2.0, 4001)
    q = np.asarray(quantize(x, 1.7, bits))
    levels = np.unique(np.round(q, 5))
    assert len(levels) == (2 if bits == 1 else 2**bits - 1)
    assert (np.diff(q) >= 0).all()
    step = 1.7 if bits == 1 else 1.7 / (2 ** (bits - 1) - 1)
    inside = np.abs(x) <= 1.7
    assert (np.abs(q - x)[inside] <= step / 2 + 1e-5).all()


@pytest.mark.parametrize("bits", [1, 4])
def test_gradient_is_straight_through(bits):
    slope = jax.vmap(jax.grad(lambda x: quantize(x, 1.0, bits)))
    np.testing.assert_array_equal(slope(jnp.array([-2.0, -0.3, 0.01, 0.9, 1.1])), [0, 1, 1, 1, 0])


def test_ideal_is_the_identity():
    x = jnp.array([-1e9, 0.0, 3.14])
    np.testing.assert_array_equal(quantize(x, 1.0, None), x)


def test_covering_range(rng):
    x = jnp.asarray(rng.standard_normal((50, 40)), jnp.float32)
    assert covering_range(x) == jnp.abs(x).max()
    limit = covering_range(x, 0.01)
    assert 0 < (jnp.abs(x) > limit).mean() <= 0.01
    assert covering_range(jnp.zeros(3)) == 1.0
