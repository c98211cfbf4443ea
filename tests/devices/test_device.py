"""What holds for every model: inverses, reads, polarity, transforms, arrays, errors."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import (
    VTEAM,
    DataDriven2018,
    DataDriven2021,
    Joglekar,
    LinearIonDrift,
    StanfordPKU,
    Trajectory,
)

from .models import CASES, every_model

MODELS = (LinearIonDrift, VTEAM, StanfordPKU, DataDriven2018, DataDriven2021)


def within(device, n, dtype=np.float64):
    """n states from bound to bound."""
    low, high = (np.asarray(x, np.float64) for x in device.state_bounds())
    return np.linspace(low, high, n).astype(dtype)


# States and conductances


@every_model
def test_state_for_is_the_inverse_of_conductance(name, x64):
    device = CASES[name][0]
    g = np.linspace(1 / device.r_off, 1 / device.r_on, 101)
    np.testing.assert_allclose(device.conductance(device.state_for(g)), g, rtol=1e-12)
    x = within(device, 101)
    span = x[-1] - x[0]
    np.testing.assert_allclose(device.state_for(device.conductance(x)), x, atol=1e-12 * span)


@every_model
def test_the_inverse_in_float32(name):
    device = CASES[name][0]
    g = jnp.linspace(1 / device.r_off, 1 / device.r_on, 101, dtype=jnp.float32)
    state = device.state_for(g)
    assert state.dtype == jnp.float32
    # 1 − x of the linear ion drift loses r_off/r_on = 160 times the rounding near r_on.
    tolerance = 2e-5 if "drift" in name else 1e-6
    np.testing.assert_allclose(device.conductance(state), g, rtol=tolerance)


@every_model
def test_bounds_are_r_off_and_r_on(name, x64):
    device = CASES[name][0]
    g = device.conductance(jnp.stack(device.state_bounds()))
    np.testing.assert_allclose(np.sort(g), [1 / device.r_off, 1 / device.r_on], rtol=1e-12)
    # Beyond them is the nearest: 0 is an open cell.
    held = device.conductance(device.state_for(np.array([0.0, 1.0])))
    np.testing.assert_allclose(held, [1 / device.r_off, 1 / device.r_on], rtol=1e-12)


@every_model
def test_the_current_is_that_of_the_conductance(name, x64):
    device = CASES[name][0]
    x = within(device, 11)
    assert np.all(np.asarray(device.current(x, 0.0)) == 0)
    if isinstance(device, DataDriven2018 | DataDriven2021):
        slope = (device.current(x, 1e-6) - device.current(x, -1e-6)) / 2e-6
        odd = device.a_n is not None
        ab = (device.a * device.b + (device.a_n * device.b_n if odd else device.a * device.b)) / 2
        np.testing.assert_allclose(slope, ab * device.conductance(x), rtol=1e-9)
    else:
        read = device.v_r if isinstance(device, StanfordPKU) else 0.3
        np.testing.assert_allclose(
            device.current(x, read), read * device.conductance(x), rtol=1e-12
        )


# Reads, writes, bounds


READS = {
    LinearIonDrift: (-0.54, -0.1, -1e-30, 0.0, 1e-30, 0.54),
    VTEAM: (-0.2, -0.19, -1e-30, 0.0, 0.019, 0.02),
    StanfordPKU: (-1.04, -0.1, -1e-30, 0.0, 0.1, 1.04),
    # No threshold: only 0 V moves nothing from whatever state.
    DataDriven2018: (0.0,),
    DataDriven2021: (0.0,),
}


@every_model
def test_a_read_below_the_threshold_changes_no_bit(name):
    device = CASES[name][0]
    reads = jnp.float32(READS[type(device)])[:, None]
    # Between the bounds of float32, which are not those of float64 rounded.
    low, high = device.state_bounds(jnp.float32)
    x = jnp.clip(within(device, 50, np.float32), low, high)
    after = device.step(x, reads, 1e3)
    np.testing.assert_array_equal(after, jnp.broadcast_to(x, after.shape))


def test_a_write_verify_reads_without_a_change():
    """Data-driven 2021 has no threshold, but none of its limits within these reads."""
    device = DataDriven2021(r_on=1800.0, r_off=2500.0)
    x, reads = np.linspace(1800, 2500, 50, dtype=np.float32), np.linspace(-0.25, 0.25, 11)
    after = device.step(x, jnp.float32(reads)[:, None], 1.0)
    np.testing.assert_array_equal(after, np.broadcast_to(x, after.shape))


@every_model
@pytest.mark.parametrize("sign", [1, -1])
def test_polarity(name, sign, x64):
    device, state, voltages, dt = CASES[name]
    v = sign * max(abs(u) for u in voltages)
    before, after = device.conductance(state), device.conductance(device.step(state, v, dt))
    assert abs(after / before - 1) > 1e-6
    assert np.sign(after - before) == sign * device.set_polarity


@every_model
def test_states_stay_within_their_bounds(name):
    device = CASES[name][0]
    low, high = device.state_bounds(jnp.float32)
    v = jnp.linspace(-6, 6, 61, dtype=jnp.float32)[:, None]
    for dt in (1e-12, 1e-6, 1e6):
        after = device.step(within(device, 20, np.float32), v, dt)
        assert np.all((after >= low) & (after <= high))


def test_the_noise_of_stanford_pku_needs_a_key():
    device = StanfordPKU()
    x = jnp.full(4000, 8e-10)
    v = jnp.float32(0.5)
    still = device.step(x, v, 1e-10)
    np.testing.assert_array_equal(still, x)
    noise = device.step(x, v, 1e-10, jax.random.key(0)) - x
    np.testing.assert_array_equal(noise, device.step(x, v, 1e-10, jax.random.key(0)) - x)
    assert np.any(noise != device.step(x, v, 1e-10, jax.random.key(1)) - x)
    hot = 298 + 0.5 * device.current(x[0], v) * 2.1e3
    sigma = 1e-10 * 0.02 / (1 + math.exp((450 - hot) / 500))
    assert np.std(noise) == pytest.approx(sigma, rel=0.05)
    assert abs(np.mean(noise)) < 4 * sigma / math.sqrt(x.size)
    quiet = dataclasses.replace(device, delta_g=0.0)
    np.testing.assert_array_equal(quiet.step(x, v, 1e-10, jax.random.key(0)), still)


def test_each_step_has_noise_of_its_own():
    x = jnp.full(2000, 8e-10)
    _, found = StanfordPKU().simulate(x, jnp.zeros(2), 1e-10, jax.random.key(0))
    first, second = found.states[0] - x, found.states[1] - found.states[0]
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_stanford_pku_heats_itself(x64):
    cold, hot = StanfordPKU(r_th=0.0), StanfordPKU()
    x = 4e-10
    assert cold.step(x, -1.2, 1e-9) - x < 0.5 * (hot.step(x, -1.2, 1e-9) - x)


# Trains of pulses


@every_model
def test_simulate_is_a_loop_of_steps(name, x64):
    device, state, voltages, dt = CASES[name]
    end, found = device.simulate(state, voltages, dt)
    assert isinstance(found, Trajectory)
    for t, v in enumerate(voltages):
        assert found.currents[t] == pytest.approx(float(device.current(state, v)), rel=1e-12)
        state = device.step(state, v, dt)
        assert found.states[t] == pytest.approx(float(state), rel=1e-12)
        conductance = device.conductance(state)
        assert found.conductances[t] == pytest.approx(float(conductance), rel=1e-12)
    assert end == found.states[-1]
    only, nothing = device.simulate(CASES[name][1], voltages, dt, record=False)
    assert nothing is None
    assert only == pytest.approx(float(end), rel=1e-12)


@every_model
def test_arrays_and_vmap_are_loops_over_devices(name, x64):
    device, state, voltages, dt = CASES[name]
    x = np.linspace(0.95, 1.05, 6).reshape(2, 3) * state
    v = np.asarray(voltages)[:, None, None] * np.linspace(0.98, 1.02, 3)
    r_off = device.r_off * np.array([[1.0], [1.1]])
    many = dataclasses.replace(device, r_off=r_off)
    end, found = many.simulate(x, v, dt)
    assert end.shape == (2, 3)
    assert found.states.shape == (len(voltages), 2, 3)
    for i in range(2):
        for j in range(3):
            one = dataclasses.replace(device, r_off=r_off[i, 0])
            alone, _ = one.simulate(x[i, j], v[:, 0, j], dt)
            assert end[i, j] == pytest.approx(float(alone), rel=1e-12)
    run = lambda r, x: dataclasses.replace(device, r_off=r).simulate(x, v, dt, record=False)[0]
    mapped = jax.jit(jax.vmap(run))(r_off, x[:, None])
    np.testing.assert_allclose(mapped[:, 0], end, rtol=1e-12)


@every_model
def test_dtypes(name, x64):
    device, state, voltages, dt = CASES[name]
    for dtype in (jnp.float32, jnp.float64):
        x, v = jnp.asarray(state, dtype), jnp.asarray(voltages, dtype)
        end, found = device.simulate(x, v, dt)
        got = (device.conductance(x), device.state_for(device.conductance(x)))
        got += (device.current(x, v), device.step(x, v, dt), end, *found)
        assert {leaf.dtype for leaf in got} == {jnp.dtype(dtype)}
        assert device.state_bounds(dtype)[0].dtype == dtype
    assert device.step(state, voltages[0], dt).dtype == jnp.float64


@every_model
def test_float32_follows_float64(name, x64):
    device, state, voltages, dt = CASES[name]
    exact, _ = device.simulate(state, voltages, dt)
    rounded, _ = device.simulate(jnp.float32(state), np.float32(voltages), dt)
    assert rounded == pytest.approx(float(exact), rel=2e-5)


def test_a_device_is_a_pytree(x64):
    device = VTEAM(window=Joglekar(2))
    step = jax.jit(lambda device, x: device.step(x, 0.4, 1e-11))
    assert step(device, 1e-9) == pytest.approx(float(device.step(1e-9, 0.4, 1e-11)), rel=1e-14)
    assert len(jax.tree.leaves(device)) == 11
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.r_on = 1.0


def test_a_second_simulation_compiles_nothing():
    device, x, v = VTEAM(r_on=np.full(3, 50.0)), jnp.zeros(3), jnp.ones(4)
    device.simulate(x, v, 1e-10)
    with jax.log_compiles(True), pytest.MonkeyPatch.context() as patch:
        compiled = []
        patch.setattr(jax._src.dispatch.logger, "log", lambda *a, **k: compiled.append(a))
        device.simulate(x + 1, v, 1e-11)
    assert not [a for a in compiled if "_scan" in str(a)]


# What is refused


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("r_on", [1e7, [100.0, 1e7], np.nan, np.inf, -1.0, 0.0, "low", None, True])
def test_resistances(model, r_on):
    with pytest.raises(ValueError, match=rf"{model.__name__}\.r_on"):
        model(r_on=r_on)


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_must_be_finite(model):
    for field in dataclasses.fields(model):
        value = getattr(model(), field.name)
        if isinstance(value, float):
            with pytest.raises(ValueError, match=rf"{field.name} = nan: must be finite"):
                model(**{field.name: np.nan})
        if isinstance(value, tuple):
            with pytest.raises(ValueError, match=rf"{field.name}\[1\] = inf: must be finite"):
                model(**{field.name: (1.0, np.inf)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VTEAM(r_on=2e3), r"VTEAM.r_on = 2000.0: must be below r_off = 1000.0, in ohm"),
        (
            lambda: VTEAM(r_on=[50.0, 1e3]),
            r"VTEAM.r_on\[1\] = 1000.0: must be below r_off\[1\] = 1000.0",
        ),
        (lambda: VTEAM(k_on=10.0), "k_on = 10.0: must be finite and < 0, in m/s"),
        (lambda: VTEAM(k_off=-1.0), "k_off = -1.0: must be finite and > 0, in m/s"),
        (lambda: VTEAM(v_on=0.2), "v_on = 0.2: must be finite and < 0, in V"),
        (lambda: VTEAM(v_off=0.0), "v_off = 0.0: must be finite and > 0, in V"),
        (lambda: VTEAM(w_on=3e-9), "w_on = 3e-09: must be below w_off = 3e-09, in m"),
        (lambda: VTEAM(law="lin"), "VTEAM.law = 'lin': must be one of .*did you mean 'linear'"),
        (lambda: VTEAM(window="biolek"), "VTEAM.window = 'biolek': must be Joglekar"),
        (lambda: LinearIonDrift(v_pos=-0.1), "v_pos = -0.1: must be finite and ≥ 0, in V"),
        (lambda: LinearIonDrift(v_neg=0.1), "v_neg = 0.1: must be finite and ≤ 0, in V"),
        (lambda: LinearIonDrift(window=1.0), "LinearIonDrift.window = 1.0: must be Joglekar"),
        (lambda: Joglekar(0.5), "Joglekar.p = 0.5: must be finite and ≥ 1"),
        (lambda: StanfordPKU(r_on=200), "r_on = 200.0: must be at least .* = 243.456 ohm"),
        (lambda: DataDriven2018(A_n=1.0), "A_n = 1.0: must be finite and < 0, in ohm/s"),
        (lambda: DataDriven2018(r_p=1.0), "r_p = 1.0: must be a tuple of coefficients"),
        (lambda: DataDriven2018(r_p=()), r"r_p = \(\): must be a tuple of coefficients"),
        (lambda: DataDriven2021(A_p=-1.0), r"A_p = -1.0: must be finite and > 0, in 1/\(ohm·s\)"),
        (lambda: DataDriven2021(t_p=0.02), "t_p = 0.02: must be finite and < 0, in V"),
        (lambda: DataDriven2021(b_n=-1.0), "b_n = -1.0: must be finite and > 0, in 1/V"),
        (
            lambda: VTEAM(r_on=[50.0] * 3, v_off=[0.02] * 2),
            r"VTEAM: parameters of shapes r_on \(3,\), v_off \(2,\) must broadcast",
        ),
        (lambda: VTEAM().step(0.0, 0.1, -1e-9), "dt = -1e-09: must be finite and ≥ 0, in s"),
        (lambda: VTEAM().simulate(0.0, [0.1], np.inf), "dt = inf: must be finite and ≥ 0, in s"),
        (lambda: VTEAM().simulate(0.0, 0.1, 1e-9), r"voltages has shape \(\): must be \(T, ...\)"),
        (lambda: VTEAM().simulate(0.0, np.array([0.1, np.nan]), 1e-9), r"voltages\[1\] = nan"),
        (
            lambda: VTEAM(r_on=[50.0] * 3).simulate(np.zeros(2), np.ones(5), 1e-9),
            r"state \(2,\), voltages \(5,\), dt \(\) and the device's parameters \(3,\) do not",
        ),
    ],
)
def test_messages(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_integers_are_floats():
    device = VTEAM(r_on=50, alpha_on=[3, 3], r_off=jnp.asarray([900, 1000]))
    leaves = jax.tree.leaves(device)
    assert all(jnp.issubdtype(jnp.result_type(x), jnp.floating) for x in leaves)
