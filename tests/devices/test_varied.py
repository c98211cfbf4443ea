"""Devices drawn at random: their distributions, keys and order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import (
    VTEAM,
    DataDriven2021,
    LinearIonDrift,
    LogNormal,
    Normal,
    StanfordPKU,
    Uniform,
    varied,
)

KEY = jax.random.key(0)


def test_distributions(x64):
    n = 20_000
    device = varied(
        VTEAM(), KEY, (n,), r_on=LogNormal(0.05), v_on=Normal(0.01), alpha_on=Uniform(2, 4)
    )
    log = np.log(device.r_on / 50)
    assert abs(log.mean()) < 4 * 0.05 / n**0.5
    assert log.std() == pytest.approx(0.05, rel=0.03)
    assert np.mean(device.v_on) == pytest.approx(-0.2, abs=4 * 0.01 / n**0.5)
    assert np.std(device.v_on) == pytest.approx(0.01, rel=0.03)
    assert np.all((device.alpha_on >= 2) & (device.alpha_on <= 4))
    assert np.mean(device.alpha_on) == pytest.approx(3, abs=0.02)
    assert device.k_on == -10.0  # what was not named stays
    assert abs(np.corrcoef(log, device.v_on)[0, 1]) < 0.04


def test_same_key_same_devices():
    draw = lambda key, **spread: varied(VTEAM(), key, (3, 4), **spread)
    one = draw(KEY, r_on=LogNormal(0.1))
    assert one.r_on.shape == (3, 4)
    np.testing.assert_array_equal(one.r_on, draw(KEY, r_on=LogNormal(0.1)).r_on)
    assert np.all(one.r_on != draw(jax.random.key(1), r_on=LogNormal(0.1)).r_on)
    # Nor does it depend on what else varies.
    both = draw(KEY, v_off=Normal(1e-3), r_on=LogNormal(0.1))
    np.testing.assert_array_equal(one.r_on, both.r_on)


@pytest.mark.parametrize("spread", [("r_on",), ("r_off",), ("r_on", "r_off")])
@pytest.mark.parametrize("device", [VTEAM(), LinearIonDrift(), StanfordPKU(), DataDriven2021()])
def test_r_off_stays_above_r_on(device, spread):
    drawn = varied(device, KEY, (1000,), **dict.fromkeys(spread, LogNormal(3.0)))
    r_on, r_off = np.broadcast_arrays(drawn.r_on, drawn.r_off)
    assert np.all(r_off > r_on)
    raised = np.isclose(r_off - r_on, 0.01 * (device.r_off - device.r_on), rtol=1e-2)
    assert 10 < raised.sum() < 900  # some were raised, by what is promised, and not all
    g = drawn.conductance(jnp.stack(drawn.state_bounds(jnp.float32)))
    assert np.all(np.isfinite(g) & (g > 0))


def test_signs_are_kept():
    drawn = varied(VTEAM(), KEY, (500,), v_on=Normal(1.0), v_off=Normal(1.0), w_off=Normal(1e-8))
    assert np.all((drawn.v_on <= -0.00199) & (drawn.v_off >= 0.000199))
    assert np.any(drawn.v_on < -1)
    assert np.all(drawn.w_off > drawn.w_on)


def test_no_gap_stays_below_r_on():
    drawn = varied(StanfordPKU(), KEY, (500,), i_0=LogNormal(1.0), v_0=LogNormal(0.2))
    low, high = drawn.state_bounds(jnp.float32)
    assert np.all((low > 0) & (high > low))


def test_coefficients():
    nominal = DataDriven2021()
    drawn = varied(nominal, KEY, (2000,), r_p=(Normal(20.0), None), r_n=(None, LogNormal(0.1)))
    assert np.std(drawn.r_p[0]) == pytest.approx(20, rel=0.1)
    assert drawn.r_p[1] == nominal.r_p[1]
    assert drawn.r_n[0] == nominal.r_n[0]
    assert np.all(drawn.r_n[1] < 0)
    after = drawn.step(2e3, 1.5, 1.0)
    np.testing.assert_allclose(after, drawn.r_p[0] + 1.5 * drawn.r_p[1], rtol=1e-5)


def test_under_jit():
    run = lambda key: varied(VTEAM(), key, (8,), r_on=LogNormal(2.0), r_off=LogNormal(2.0))
    eager, jitted = run(KEY), jax.jit(run)(KEY)
    np.testing.assert_allclose(eager.r_off, jitted.r_off, rtol=1e-6)
    assert np.all(jitted.r_off > jitted.r_on)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: varied(VTEAM(), KEY, (2,), r_of=Normal(1.0)), "'r_of': .*did you mean 'r_off'"),
        (lambda: varied(VTEAM(), KEY, (2,), window=Normal(1.0)), "'window': must be one of"),
        (lambda: varied(VTEAM(), KEY, (2,), law=Normal(1.0)), "'law': must be one of"),
        (
            lambda: varied(DataDriven2021(), KEY, (2,), r_p=Normal(1.0)),
            "r_p = Normal.*: must be 2 distributions, one for each coefficient",
        ),
        (lambda: Normal(-1.0), "Normal.sigma = -1.0: must be finite and ≥ 0"),
        (lambda: LogNormal(np.nan), "LogNormal.sigma = nan: must be finite and ≥ 0"),
        (lambda: Uniform(0.0, np.inf), "Uniform.high = inf: must be finite"),
        (lambda: Uniform(2.0, 1.0), "Uniform.low = 2.0: must be below high = 1.0"),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()
