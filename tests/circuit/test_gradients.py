"""Derivatives of a tile against central differences in float64."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb

from .tiles import random_tile

pytestmark = pytest.mark.usefixtures("x64")
NAMES = ("g", "v", "v_bit", "wires")


def weighted(g, v, v_bit, wires, method="auto"):
    """A scalar of everything that a solution holds."""
    s = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method))
    total = 0.0
    for k, x in enumerate(
        (s.currents * 1e3, s.device_currents * 1e3, s.word_voltages, s.bit_voltages)
    ):
        weight = jnp.cos(jnp.arange(x.size, dtype=x.dtype) + k).reshape(x.shape)
        total += jnp.sum(weight * x) + jnp.sum(weight * x**2)
    return total


def arguments(rng, shape, severity="harsh"):
    g, v, v_bit, wires = random_tile(rng, shape, severity)
    return jax.tree.map(jnp.asarray, (g, v, v_bit, wires))


def dot(a, b):
    """Σ of the products of two trees' leaves."""
    return sum(jnp.vdot(x, y) for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True))


def directional(f, args, direction, step):
    def at(t):
        return f(*jax.tree.map(lambda a, d: a + t * d, args, direction))

    # Richardson: two central differences, the step's error to fourth order.
    one, two = (at(step) - at(-step)) / (2 * step), (at(2 * step) - at(-2 * step)) / (4 * step)
    return (4 * one - two) / 3


def random_direction(rng, args, only=None):
    def draw(x):
        return jnp.asarray(rng.standard_normal(jnp.shape(x)) * (jnp.mean(jnp.abs(x)) + 1e-30))

    full = jax.tree.map(draw, args)
    if only is None:
        return full
    zero = jax.tree.map(jnp.zeros_like, full)
    return tuple(d if name == only else z for name, d, z in zip(NAMES, full, zero, strict=True))


@pytest.mark.parametrize("method", ["cg", "cg_library", "direct", "dense", "auto"])
@pytest.mark.parametrize("only", NAMES)
def test_reverse_and_forward_mode_match_central_differences(rng, only, method):
    args = arguments(rng, (5, 7))
    direction = random_direction(rng, args, only)
    f = lambda *a: weighted(*a, method=method)
    expected = directional(f, args, direction, 1e-4)
    _, forward = jax.jvp(f, args, direction)
    gradient = jax.grad(f, argnums=(0, 1, 2, 3))(*args)
    reverse = dot(gradient, direction)
    np.testing.assert_allclose(forward, expected, rtol=1e-6)
    np.testing.assert_allclose(reverse, expected, rtol=1e-6)


@pytest.mark.parametrize("field", ["source", "word", "bit", "sense"])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_each_resistance(rng, field, value):
    g, v, v_bit, wires = arguments(rng, (6, 4))

    def f(r):
        return weighted(g, v, v_bit, dataclasses.replace(wires, **{field: r}))

    # One-sided at 0 would need a negative resistance: the formula continues smoothly there.
    h = 1e-3
    points = jnp.asarray(value) + h * jnp.arange(5.0)
    values = jax.vmap(f)(points)
    forward_difference = jnp.dot(jnp.array([-25.0, 48, -36, 16, -3]), values) / (12 * h)
    np.testing.assert_allclose(jax.grad(f)(jnp.asarray(value)), forward_difference, rtol=1e-6)


@pytest.mark.parametrize("severity", ["mild", "harsh"])
def test_second_order(rng, severity):
    args = arguments(rng, (4, 5), severity)
    first, second = random_direction(rng, args), random_direction(rng, args)

    def slope(*a):
        return jax.jvp(weighted, a, first)[1]

    expected = directional(slope, args, second, 1e-4)
    forward = jax.jvp(slope, args, second)[1]
    gradient = jax.grad(slope, argnums=(0, 1, 2, 3))(*args)
    of_gradient = jax.jvp(lambda *a: jax.grad(weighted, argnums=(0, 1, 2, 3))(*a), args, second)[1]

    np.testing.assert_allclose(forward, expected, rtol=1e-6)
    np.testing.assert_allclose(dot(gradient, second), expected, rtol=1e-6)
    np.testing.assert_allclose(dot(of_gradient, first), expected, rtol=1e-6)


def test_open_cells_have_the_gradient_of_the_limit(rng):
    """At g = 0, √g has an infinite slope, the current does not."""
    g, v, v_bit, wires = arguments(rng, (5, 4))
    g = g.at[1].set(0.0).at[:, 2].set(0.0).at[0, 0].set(0.0)
    f = lambda g: weighted(g, v, v_bit, wires)
    gradient = jax.grad(f)(g)
    h = 1e-7
    for i, j in [(0, 0), (1, 1), (3, 2), (1, 2), (2, 1)]:
        at = [f(g.at[i, j].add(k * h)) for k in range(5)]
        expected = np.dot([-25.0, 48, -36, 16, -3], at) / (12 * h)
        np.testing.assert_allclose(gradient[i, j], expected, rtol=1e-6)
    assert jnp.isfinite(jax.hessian(f)(g)).all()


def test_a_tile_that_is_all_open_is_linear_in_g(rng):
    _, v, v_bit, wires = arguments(rng, (3, 4))
    g = jnp.zeros((3, 4))
    jacobian = jax.jacrev(lambda g: jb.solve(g, v, wires, v_bit).currents)(g)
    drive = v[:, :, None] - v_bit[:, None, :]
    expected = jnp.einsum("bij,jk->bkij", drive, jnp.eye(4))
    np.testing.assert_allclose(jacobian, expected, rtol=1e-12)


@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_gradient_of_the_effective_conductance(rng, method):
    g, _, _, wires = arguments(rng, (6, 4))

    def f(g, wires):
        w = jb.effective_conductance(g, wires, jb.Solver(method)) * 1e3
        return jnp.sum(jnp.cos(jnp.arange(w.size, dtype=w.dtype)).reshape(w.shape) * w**2)

    direction = random_direction(rng, (g, wires))
    expected = directional(f, (g, wires), direction, 1e-4)
    np.testing.assert_allclose(jax.jvp(f, (g, wires), direction)[1], expected, rtol=1e-6)
    reverse = jax.grad(f, argnums=(0, 1))(g, wires)
    np.testing.assert_allclose(dot(reverse, direction), expected, rtol=1e-6)


def test_memory_does_not_grow_with_the_iterations(rng):
    """A harsher tile and a thousand times the iterations compile to the same memory."""
    g, v, _, wires = random_tile(rng, (64, 64), "harsh", inputs=8, dtype=np.float32)

    def memory(limit):
        solver = jb.Solver("cg", max_iterations=limit)
        loss = lambda g: jnp.sum(jb.solve(g, v, wires, solver=solver).currents ** 2)
        stats = jax.jit(jax.grad(loss)).lower(g).compile().memory_analysis()
        return stats.temp_size_in_bytes

    assert memory(10_000) == memory(10)
    assert memory(10) < 40 * 8 * 64 * 64 * 4


@pytest.mark.parametrize("severity", ["mild", "harsh"])
def test_float32_gradients_follow_float64(rng, severity):
    args = arguments(rng, (24, 40), severity)
    gradient = jax.grad(weighted, argnums=(0, 1, 2, 3))
    exact = gradient(*args)
    single = gradient(*jax.tree.map(lambda x: x.astype(jnp.float32), args))
    for a, b in zip(*map(jax.tree.leaves, (single, exact)), strict=True):
        assert a.dtype == jnp.float32
        np.testing.assert_allclose(a, b, atol=2e-5 * float(jnp.max(jnp.abs(b))))
