"""Cells that are not resistors, in their wires: against ngspice, Kirchhoff and differences."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import Polynomial, PooleFrenkel, Selector, Sinh, Tabulated

from .tiles import SINH, load, random_tile, steepness


@pytest.mark.parametrize("case", SINH)
def test_truth_float64(x64, case):
    g, v, v_bit, wires, currents, word, bit = load(case)
    s = jb.solve(g, v, wires, v_bit, cell=Sinh(steepness(case)))
    np.testing.assert_allclose(s.currents, currents, rtol=0, atol=1e-8 * np.abs(currents).max())
    np.testing.assert_allclose(s.word_voltages, word, atol=1e-8)
    np.testing.assert_allclose(s.bit_voltages, bit, atol=1e-8)
    assert s.converged.all()


@pytest.mark.parametrize("case", SINH)
def test_truth_float32(case):
    g, v, _, wires, currents, *_ = load(case)
    s = jb.solve(g.astype(np.float32), v.astype(np.float32), wires, cell=Sinh(steepness(case)))
    np.testing.assert_allclose(s.currents, currents, rtol=0, atol=1e-6 * np.abs(currents).max())
    assert s.currents.dtype == jnp.float32 and s.converged.all()


def kirchhoff(g, v, v_bit, wires, s, current):
    """The largest sum of currents into a node, relative to the largest current of the tile.

    `current` (B, M, N) through the cells, by the law in NumPy; all four resistances > 0.
    """
    word, bit = np.asarray(s.word_voltages), np.asarray(s.bit_voltages)
    to_word = np.concatenate(
        [(v[:, :, None] - word[..., :1]) / wires.source, -np.diff(word, axis=-1) / wires.word], -1
    )
    into_word = to_word - current
    into_word[..., :-1] -= to_word[..., 1:]
    from_bit = np.concatenate(
        [
            -np.diff(bit, axis=-2) / wires.bit,
            (bit[:, -1:, :] - v_bit[:, None, :]) / wires.sense,
        ],
        -2,
    )
    into_bit = current - from_bit
    into_bit[:, 1:] += from_bit[:, :-1]
    largest = np.abs(to_word).max()
    return max(np.abs(into_word).max(), np.abs(into_bit).max()) / largest


@pytest.mark.parametrize("k", [0.5, 4.0, 12.0])
@pytest.mark.parametrize("severity", ["mild", "harsh", "extreme"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (12, 17), (40, 33)], ids=str)
def test_no_current_is_lost_in_a_node(x64, rng, shape, severity, k):
    g, v, v_bit, wires = random_tile(rng, shape, severity)
    v = v / 0.3  # up to 1 V
    s = jb.solve(g, v, wires, v_bit, cell=Sinh(k))
    assert s.converged.all()
    current = g * np.sinh(k * np.asarray(s.cell_voltages)) / k
    np.testing.assert_allclose(s.device_currents, current, rtol=1e-7, atol=1e-15)
    assert kirchhoff(g, v, v_bit, wires, s, current) < 1e-9
    # Passive: no cell sees more than the drivers span.
    drivers = np.concatenate([v, v_bit], 1)
    span = drivers.max(1) - drivers.min(1)
    assert (np.abs(s.cell_voltages).max((1, 2)) <= span + 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steep_cells_on_a_large_tile(rng, dtype):
    with jax.enable_x64(dtype == np.float64):
        g, v, _, wires = random_tile(rng, (128, 128), "mild", dtype=dtype)
        s = jb.solve(g, v / 0.3, wires, cell=Sinh(12.0))
        assert s.converged.all()
        assert (s.iterations < 20).all()
        lame = jb.solve(g, v / 0.3, wires, cell=Sinh(12.0), solver=jb.Solver(max_iterations=1))
        assert not lame.converged.any()
        assert (lame.residual > 1e-3).all()


def test_limits(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (7, 9))
    ohmic = jb.solve(g, v, wires, v_bit)
    for k in (0.0, 1e-6):
        s = jb.solve(g, v, wires, v_bit, cell=Sinh(k))
        np.testing.assert_allclose(s.currents, ohmic.currents, rtol=1e-10)
    ideal = jb.solve(g, v, jb.Wires(), v_bit, cell=Sinh(6.0))
    u = v[:, :, None] - v_bit[:, None, :]
    np.testing.assert_allclose(ideal.device_currents, g * np.sinh(6 * u) / 6, rtol=1e-12)


def test_open_cells_and_no_drive(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (6, 8))
    g[2], g[:, 3], g[4, 5] = 0.0, 0.0, 0.0
    v[1], v_bit[1] = 0.0, 0.0
    s = jb.solve(g, v, wires, v_bit, cell=Sinh(5.0))
    assert s.converged.all()
    np.testing.assert_array_equal(s.device_currents[:, g == 0], 0.0)
    np.testing.assert_array_equal(s.currents[1], 0.0)
    current = g * np.sinh(5 * np.asarray(s.cell_voltages)) / 5
    assert kirchhoff(g, v, v_bit, wires, s, current) < 1e-9
    nothing = jb.solve(0 * g, v, wires, v_bit, cell=Sinh(5.0))
    assert nothing.converged.all() and not np.any(nothing.currents)


LAWS = {
    "sinh": Sinh(6.0),
    "polynomial": Polynomial.milo(),
    "poole": PooleFrenkel((-0.9, -2.0), (-0.8, -31.0), (1e-6, 1e-3)),
    "selector": Selector(i_s=1e-6, v_0=0.05),
    "tabulated": Tabulated([-1.0, -0.3, 0.0, 0.2, 1.0], [-3.0, -0.4, 0.0, 0.15, 2.0]),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("severity", ["mild", "harsh"])
def test_every_law(x64, rng, law, severity):
    g, v, v_bit, wires = random_tile(rng, (9, 12), severity)
    cell = LAWS[law]
    s = jb.solve(g, v, wires, v_bit, cell=cell)
    assert s.converged.all()
    current = np.asarray(cell.current(g, s.cell_voltages))
    assert kirchhoff(g, v, v_bit, wires, s, current) < 1e-9

    def loss(t, g, v):
        i = jb.solve((1 + t) * g, (1 - 0.5 * t) * v, wires, v_bit, cell=cell).currents
        return jnp.sum(jnp.sin(i / 1e-5))

    h = 1e-5
    expected = (loss(h, g, v) - loss(-h, g, v)) / (2 * h)
    np.testing.assert_allclose(jax.grad(loss)(0.0, g, v), expected, rtol=1e-5)
    with jax.enable_x64(False):
        single = [np.asarray(x, np.float32) for x in (g, v, v_bit)]
        low = jb.solve(*single[:2], wires, single[2], cell=cell)
    assert low.converged.all() and low.currents.dtype == jnp.float32
    largest = np.abs(s.currents).max()
    # Logarithms of 1e-18 F, of which float32 keeps 5 digits after the comma, are in this law.
    tolerance = 2e-5 if law == "poole" else 1e-6
    np.testing.assert_allclose(low.currents, s.currents, rtol=0, atol=tolerance * largest)


def arguments(rng, shape=(4, 6)):
    g, v, v_bit, wires = random_tile(rng, shape, "harsh")
    return jax.tree.map(jnp.asarray, (6.0, g, 2 * v, v_bit, wires))


@pytest.mark.parametrize("which", range(5), ids=["law", "g", "v", "v_bit", "wires"])
def test_gradients_against_differences(x64, rng, which):
    args = arguments(rng)

    def loss(x):
        s = jb.solve(
            *(x if k == which else a for k, a in enumerate(args) if k in (1, 2)),
            x if which == 4 else args[4],
            x if which == 3 else args[3],
            cell=Sinh(x if which == 0 else args[0]),
        )
        weight = jnp.cos(jnp.arange(s.word_voltages.size)).reshape(s.word_voltages.shape)
        return jnp.sum(jnp.sin(1e3 * s.currents)) + jnp.sum(weight * s.word_voltages)

    x = args[which]
    step = jax.tree.map(lambda a: jnp.asarray(rng.uniform(0.5, 1, jnp.shape(a)) * a), x)
    moved = lambda t: loss(jax.tree.map(lambda a, d: a + t * d, x, step))
    h = 1e-4
    expected = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
    slope = jax.jit(jax.grad(loss))(x)
    found = sum(jnp.vdot(a, d) for a, d in zip(*map(jax.tree.leaves, (slope, step)), strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    forward = jax.jvp(loss, (x,), (step,))[1]
    np.testing.assert_allclose(forward, expected, rtol=1e-5, atol=1e-9)


def test_second_order(x64, rng):
    _, g, v, _, wires = arguments(rng, (3, 4))

    def loss(k):
        return jnp.sum(jnp.sin(1e3 * jb.solve(g, v, wires, cell=Sinh(k)).currents))

    h = 1e-4
    expected = (jax.grad(loss)(5 + h) - jax.grad(loss)(5 - h)) / (2 * h)
    np.testing.assert_allclose(jax.grad(jax.grad(loss))(5.0), expected, rtol=1e-5)


def test_jit_vmap_and_batches(rng):
    g, v, v_bit, wires = random_tile(rng, (5, 6), inputs=3, dtype=np.float32)
    one = lambda v, k: jb.solve(g, v, wires, v_bit[0], cell=Sinh(k)).currents
    k = jnp.array([1.0, 8.0])
    mapped = jax.jit(jax.vmap(jax.vmap(one, (0, None)), (None, 0)))(v, k)
    for i in range(2):
        for j in range(3):
            np.testing.assert_allclose(mapped[i, j], one(v[j], k[i]), rtol=2e-6)
    for inputs in (0, 1):
        s = jb.solve(g, v[:inputs], wires, cell=Sinh(2.0))
        assert s.currents.shape == (inputs, 6)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Cubic:
    a: float

    def current(self, g, voltage):
        return g * (voltage + self.a * voltage**3)


def test_a_law_of_ones_own(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (6, 5), "extreme")
    s = jb.solve(g, v, wires, v_bit, cell=Cubic(3))
    u = np.asarray(s.cell_voltages)
    assert kirchhoff(g, v, v_bit, wires, s, g * (u + 3 * u**3)) < 1e-9


def test_mistakes(rng):
    g, v, _, wires = random_tile(rng, (3, 4), dtype=np.float32)

    class Plain:
        def current(self, g, voltage):
            return g * voltage

    with pytest.raises(ValueError, match="cell = 3: a cell law has a method current"):
        jb.solve(g, v, wires, cell=3)
    with pytest.raises(ValueError, match=r"cell = .*Sinh.*: a cell law has a method"):
        jb.solve(g, v, wires, cell=Sinh)
    with pytest.raises(ValueError, match="cell = Plain: a cell law must be a pytree"):
        jb.solve(g, v, wires, cell=Plain())
    with pytest.raises(ValueError, match=r"'direct' with Sinh cells.*use 'auto' or 'cg'"):
        jb.solve(g, v, wires, cell=Sinh(2.0), solver=jb.Solver("direct"))
