"""Drift, its compensation, relaxation, endurance."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar import nonideal as ni

from .items import G_RANGE, quick_jit, tiles

DAY = 86400.0


@pytest.mark.parametrize("time", [0.0, 1.0, 3e8])
def test_power_law(rng, time):
    g, used = tiles(rng)
    drift = ni.Drift(0.06, t_0=20.0, time=time)
    out = drift.apply(g, used=used, g_range=G_RANGE)
    np.testing.assert_allclose(out, g * ((time + 20) / 20) ** -0.06, rtol=1e-5)
    retention = ni.Drift(0.1, t_0=1e-12, time=time, clock="write")
    out = retention.apply(g, used=used, g_range=G_RANGE)
    factor = (time / 1e-12) ** -0.1 if time else 1.0
    np.testing.assert_allclose(out, np.where(used, g * factor, g), rtol=1e-5)
    clipped = ni.Drift(0.1, t_0=1e-12, time=time, clock="write", clip=True)
    held = np.where(used, np.clip(g * np.float32(factor), *np.float32(G_RANGE)), g)
    np.testing.assert_allclose(clipped.apply(g, used=used, g_range=G_RANGE), held, rtol=1e-5)


def test_before_the_start_of_retention_nothing_moves(rng):
    g, _ = tiles(rng)
    out = ni.Drift(0.1, t_0=1.0, time=0.5, clock="write").apply(g, g_range=G_RANGE)
    np.testing.assert_array_equal(out, g)


def test_time_is_a_leaf(rng):
    """Sweep it compiled; the draws are the same at all times."""
    g, used = tiles(rng)
    key = jax.random.key(0)
    drift = ni.Drift(0.06, 0.01, t_0=20.0)

    def later(time):
        return ni.compose(ni.at_time((drift,), time), g, key, used=used, g_range=G_RANGE)

    times = jnp.array([0.0, 1e2, 1e4, 1e6])
    swept = np.asarray(quick_jit(jax.vmap(later))(times))
    np.testing.assert_array_equal(swept[0], g)
    nu = -np.log(swept[1:][:, used] / np.asarray(g)[used]) / np.log1p(times[1:, None] / 20)
    np.testing.assert_allclose(nu, np.broadcast_to(nu[-1], nu.shape), rtol=1e-4)
    assert nu.std() > 0.005
    slope = jax.grad(lambda t: later(t).sum())(1e4)
    assert float(slope) < 0


def test_relaxation_starts_at_a_second(rng):
    g, _ = tiles(rng)
    key = jax.random.key(0)
    relax = ni.Relaxation(-1e-7, 1e-8, 2e-7)
    np.testing.assert_array_equal(relax.apply(g, key, g_range=G_RANGE), g)
    one, late = (relax.at_time(t).apply(g, key, g_range=G_RANGE) for t in (1.0, 1e4))
    z = (np.asarray(one, float) - np.asarray(g, float))[:, :3] / 2e-7
    log = np.log(1e4)
    expected = np.maximum(np.asarray(g)[:, :3] - 1e-7 * log + (1e-8 * log + 2e-7) * z, 0)
    assert (z > -5).all()
    np.testing.assert_allclose(np.asarray(late)[:, :3], expected, rtol=1e-3, atol=1e-10)


def test_at_time_sets_all():
    later = ni.at_time(ni.pcm(), 1e4)
    assert [getattr(x, "time", None) for x in later] == [None, 1e4, 1e4]
    assert ni.at_time(ni.rram_wan(), DAY)[0].time == DAY
    assert ni.at_time(ni.sonos(), 2 * DAY)[0].time == 2 * DAY


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ni.rram_wan(3600.0), r"time = 3600.0 s was not measured: must be one of 1, 86400"),
        (lambda: ni.at_time(ni.rram_wan(), 10.0), "was not measured"),
        (lambda: ni.rram_wan(DAY, fit="cubic"), "was not measured: must be one of 1 s"),
        (lambda: ni.sonos(0.5 * DAY), "was not measured"),
        (lambda: ni.sonos(6 * DAY), "was not measured"),
        (lambda: ni.cmo_hfo2(time=0.5), "must be 0 or ≥ 1"),
        (lambda: ni.cmo_hfo2(acceptance=0.01), "must be 0.002 or 0.02"),
        (lambda: ni.hermes(devices=3), "devices = 3: must be 1 or 2"),
        (lambda: ni.pcm(time=-1.0), r"time = -1\.0: must be finite and ≥ 0, in second"),
        (lambda: quick_jit(lambda t: ni.rram_wan(t)[0].scale)(1.0), "time is traced"),
        (lambda: ni.Drift(-0.1), r"Drift\.nu = -0\.1: must be finite and ≥ 0"),
        (lambda: ni.Drift(0.1, t_0=0.0), r"Drift\.t_0 = 0\.0: must be finite and > 0"),
        (lambda: ni.Drift(0.1, clock="wirte"), "did you mean 'write'"),
        (
            lambda: ni.rram_milo()[0].apply(np.full((1, 1), 5e-5), 0, g_range=(1e-6, 2e-4)),
            "was fitted to 5e-05 to 0.000225 S",
        ),
        (
            lambda: ni.rram_wan(fit="cubic")[0].apply(np.zeros((1, 1)), 0, g_range=(0, 5e-5)),
            "was fitted to",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("scope", ["layer", "tile", "column"])
def test_compensation_undoes_what_is_common(rng, scope):
    g, used = tiles(rng)
    before = jnp.where(used, g, 1.0)
    shape = {"layer": (), "tile": (3,), "column": (3, 5)}[scope]
    factor = rng.uniform(0.4, 1.0, shape).astype(np.float32)
    wide = (
        factor
        if scope == "layer"
        else factor[..., None, None]
        if scope == "tile"
        else factor[:, None]
    )
    after = jnp.where(used, g * wide, 5.0)
    alpha = ni.compensation(before, after, used=used, scope=scope)
    assert alpha.shape == shape
    expected = 1 / factor
    if scope == "column":
        expected[1:, -2:] = 1.0  # columns of padding alone
    np.testing.assert_allclose(alpha, expected, rtol=1e-5)


def test_compensation_of_pairs_and_of_nothing(rng):
    pairs = rng.standard_normal((2, 4, 5)).astype(np.float32)
    alpha = ni.compensation(pairs, 0.5 * pairs)
    np.testing.assert_allclose(alpha, 2.0, rtol=1e-6)
    mean = np.abs(pairs).mean((1, 2)) / np.abs(pairs + 0.1).mean((1, 2))
    np.testing.assert_allclose(ni.compensation(pairs, pairs + 0.1), mean, rtol=1e-5)
    zero = jnp.zeros((2, 4, 5))
    np.testing.assert_array_equal(ni.compensation(zero, zero), 1.0)
    gradient = jax.grad(lambda x: ni.compensation(x, zero).sum())(zero)
    np.testing.assert_array_equal(gradient, 0.0)


def test_compensation_of_a_pcm_tile(rng):
    """A day later the mean error of products is mostly gone."""
    g = rng.uniform(0, 25e-6, (64, 32)).astype(np.float32)
    key = jax.random.key(0)
    now, later = (
        ni.compose(ni.at_time(ni.pcm(), t), g, key, g_range=(0, 25e-6)) for t in (0.0, DAY)
    )
    alpha = ni.compensation(now, later)
    assert 1.3 < float(alpha) < 2.0
    x = rng.uniform(0, 1, 64).astype(np.float32)
    error = lambda y: np.linalg.norm(y - x @ now) / np.linalg.norm(x @ now)
    assert error(alpha * (x @ later)) < 0.1 * error(x @ later)
    columns = ni.compensation(now, later, scope="column")
    assert error(columns * (x @ later)) < 0.9 * error(alpha * (x @ later))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"before": np.ones((3, 4)), "after": np.ones((4, 3))}, "must be the same"),
        ({"before": np.ones(3), "after": np.ones(3)}, "must be the same"),
        ({"before": np.ones((3, 4)), "after": np.ones((3, 4)), "scope": "row"}, "scope = 'row'"),
        ({"before": np.ones((3, 4)), "after": np.ones((3, 4)), "used": [True] * 3}, "used has"),
    ],
)
def test_compensation_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ni.compensation(**arguments)


# Endurance: two states, 100 kohm and 400 kohm, around (50 k + 500 k)/2 = 275 kohm.
CELLS = np.array([[1e-5, 2.5e-6]])
P = (1e3, 0.2, 0.5)


def worn(**arguments):
    out = ni.Endurance(**arguments).apply(CELLS.astype(np.float32), g_range=G_RANGE)
    return 1 / np.asarray(out, np.float64)[0]


@pytest.mark.parametrize(
    ("temperature", "heat"), [(None, 0.0), (298.0, 1.0), (250.0, 1.0), (400.0, 298 / 400)]
)
def test_sudden_failure(temperature, heat):
    threshold = 1e3 * np.exp(0.2 * 10 + 0.5 * heat)
    both = {"p_lrs": P, "p_hrs": P, "stable_lrs": 2e5, "stable_hrs": 1e3}
    before = worn(cycles=0.99 * threshold, temperature=temperature, **both)
    np.testing.assert_allclose(before, [1e5, 4e5], rtol=1e-6)
    after = worn(cycles=1.01 * threshold, temperature=temperature, **both)
    np.testing.assert_allclose(after, [2e5, 1e3], rtol=1e-6)
    low = worn(cycles=1e9, p_lrs=P, stable_lrs=2e5, temperature=temperature)
    np.testing.assert_allclose(low, [2e5, 4e5], rtol=1e-6)
    high = worn(cycles=1e9, p_hrs=P, stable_hrs=1e3, temperature=temperature)
    np.testing.assert_allclose(high, [1e5, 1e3], rtol=1e-6)


def test_the_split_is_the_mean_resistance():
    cells = 1 / np.float32([[274e3, 276e3]])
    wear = ni.Endurance(1e9, P, P, stable_lrs=2e5, stable_hrs=1e3)
    np.testing.assert_allclose(1 / wear.apply(cells, g_range=G_RANGE), [[2e5, 1e3]], rtol=1e-6)


@pytest.mark.parametrize("cycles", [0, 1.0, 2e3, 1e5, 1e7])
@pytest.mark.parametrize(("temperature", "heat"), [(None, 0.0), (400.0, 298 / 400)])
def test_gradual_failure(cycles, temperature, heat):
    power = 0.1 * 20 + 0.5 * heat
    over = max(np.log10(max(cycles, 1e-9)) - np.log10(100 * np.exp(power)), 0)
    expected = 10 ** (np.array([0.05, -0.08]) * power * over + np.log10([1e5, 4e5]))
    out = worn(
        cycles=cycles,
        p_lrs=(100, 0.1, 0.5, 0.05),
        p_hrs=(100, 0.1, 0.5, -0.08),
        mode="gradual",
        cell_size=20.0,
        temperature=temperature,
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_gradual_failure_ends_at_the_stable_resistance():
    p = {"p_lrs": (100, 0.1, 0.5, 0.2), "p_hrs": (100, 0.1, 0.5, -0.2), "mode": "gradual"}
    free = worn(cycles=1e9, **p)
    assert free[0] > 2e5
    assert free[1] < 3e5
    np.testing.assert_allclose(
        worn(cycles=1e9, **p, stable_lrs=2e5, stable_hrs=3e5), [2e5, 3e5], rtol=1e-6
    )
    far = worn(cycles=1e9, **p, stable_lrs=9e9, stable_hrs=1.0)
    np.testing.assert_allclose(far, free, rtol=1e-6)
    # Beyond the end from the start: they stay.
    np.testing.assert_allclose(
        worn(cycles=1e9, **p, stable_lrs=5e4, stable_hrs=9e5), [1e5, 4e5], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cycles": -1.0}, r"Endurance\.cycles = -1\.0: must be finite and ≥ 0"),
        ({"cycles": 1.0, "p_lrs": P}, r"stable_lrs = None: must be the resistance"),
        ({"cycles": 1.0, "p_hrs": P, "mode": "gradual"}, "must be 4 numbers in mode 'gradual'"),
        ({"cycles": 1.0, "p_hrs": P[:2], "stable_hrs": 1e3}, "must be 3 numbers"),
        ({"cycles": 1.0, "p_lrs": (0.0, 1, 1), "stable_lrs": 1e3}, r"p_lrs\[0\] = 0\.0"),
        ({"cycles": 1.0, "mode": "slow"}, "mode = 'slow'"),
        ({"cycles": 1.0, "temperature": 0.0}, "must be finite and > 0, in kelvin"),
    ],
)
def test_endurance_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        ni.Endurance(**arguments)
