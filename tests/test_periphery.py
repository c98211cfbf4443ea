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
    assert (jnp.abs(x) > limit).sum() == 20
    assert covering_range(jnp.zeros(3)) == 1.0


@pytest.mark.parametrize(
    ("bits", "x", "expected"),
    [
        (1, [0.0, -0.0, 1e-30, -1e-30, 1.0, -1.0, jnp.inf, -jnp.inf], [0.5, 0.5] + 3 * [0.5, -0.5]),
        (2, [0.5, -0.5, 0.25, 0.75, -0.75, 1.0, -1.0, 7.0], [0, 0, 0, 1, -1, 1, -1, 1]),
        (2, [0.0, -0.0, jnp.inf, -jnp.inf], [0, 0, 1, -1]),
    ],
)
def test_golden_values_at_limit_one(bits, x, expected):
    np.testing.assert_array_equal(quantize(jnp.array(x), 1.0, bits), expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_ties_round_to_even_and_levels_stand(sign):
    # 3 bits and a limit of 3: the step is exactly 1.
    x = sign * jnp.array([0.5, 1.5, 2.5, 0.0, 1.0, 2.0, 3.0, 3.5, 100.0])
    expected = sign * np.array([0.0, 2.0, 2.0, 0.0, 1.0, 2.0, 3.0, 3.0, 3.0])
    np.testing.assert_array_equal(quantize(x, 3.0, 3), expected)


@pytest.mark.parametrize("bits", [1, 2, 3, 6])
def test_random_values(x64, rng, bits):
    x, limit = jnp.asarray(np.sort(rng.uniform(-3, 3, 2000))), 1.3
    q = np.asarray(quantize(x, limit, bits))
    assert len(np.unique(q)) <= 2**bits
    assert (np.diff(q) >= 0).all()
    half = 0.5 * limit if bits == 1 else 0.5 * limit / (2 ** (bits - 1) - 1)
    inside = np.abs(x) <= limit
    assert np.abs(q - x)[inside].max() <= half * (1 + 1e-12)
    assert np.abs(q - x)[inside].max() > 0.9 * half
    if bits > 1:  # odd, and a level is its own level
        np.testing.assert_array_equal(quantize(-x, limit, bits), -q)
        np.testing.assert_allclose(quantize(q, limit, bits), q, atol=1e-14)


@pytest.mark.parametrize("bits", [1, 2, 8])
def test_gradient_inside_and_outside(bits):
    slope = jax.grad(lambda x: jnp.sum(jnp.array([1.0, 2, 3, 4]) * quantize(x, 2.0, bits)))
    np.testing.assert_array_equal(slope(jnp.array([-1.9, 0.3, 2.1, -50.0])), [1, 2, 0, 0])


def test_ideal_has_the_gradient_of_the_identity():
    assert jax.grad(lambda x: quantize(x, 1.0, None))(50.0) == 1.0


@pytest.mark.parametrize(("count", "overflow"), [(10, 0.0), (10, 0.1), (10, 0.25), (2000, 0.01)])
def test_covering_range_is_the_smallest_that_covers(rng, count, overflow):
    size = np.arange(1, count + 1, dtype=np.float32)
    x = rng.permutation(size) * rng.choice([-1, 1], count).astype(np.float32)
    limit = float(covering_range(jnp.asarray(x), overflow))
    assert (size > limit).mean() <= overflow
    smaller = size[size < limit].max()
    assert (size > smaller).mean() > overflow


def test_covering_range_of_one_value_and_an_outlier():
    assert covering_range(jnp.array([[-3.0]])) == 3.0
    assert covering_range(jnp.array([-3.0]), 0.9) == 3.0
    x = jnp.ones(1000).at[5].set(-1e6)
    assert covering_range(x) == 1e6
    assert covering_range(x, 0.01) == 1.0
