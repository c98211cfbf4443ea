"""Trajectories of other programs, and of the published formulas written out."""

import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import VTEAM, DataDriven2018, DataDriven2021, LinearIonDrift, StanfordPKU

from . import published

TRUTH = pathlib.Path(__file__).parent.parent / "truth"


def load(name):
    """v, i, g and the state after each of 400 steps of dt.

    Computed by an independent implementation of the published model: forward Euler for VTEAM,
    from w = 0; the closed-form step for Data-driven 2021, from 1600 ohm.
    """
    return dict(np.load(TRUTH / f"device_{name}.npz"))


def test_vteam(x64):
    d = load("VTEAM")
    end, found = VTEAM().simulate(0.0, d["v"], float(d["dt"]))
    np.testing.assert_allclose(found.conductances, d["g"], rtol=1e-12)
    np.testing.assert_allclose(found.states, d["state"], rtol=1e-12, atol=1e-24)
    # Recorded there at the state after the step.
    after = VTEAM().current(found.states, d["v"])
    np.testing.assert_allclose(after, d["i"], rtol=1e-12, atol=1e-18)
    assert end == found.states[-1]
    assert np.ptp(d["state"]) > 7e-10


def test_data_driven_2021(x64):
    d = load("Data_Driven2021")
    _, found = DataDriven2021().simulate(1600.0, d["v"], float(d["dt"]))
    np.testing.assert_allclose(found.conductances, d["g"], rtol=1e-12)
    # Recorded there at the conductance before the step.
    np.testing.assert_allclose(found.currents, d["i"], rtol=1e-12, atol=1e-18)
    assert np.ptp(1 / d["g"]) > 400


@pytest.mark.parametrize(
    ("name", "device", "state"),
    [("VTEAM", VTEAM(), 0.0), ("Data_Driven2021", DataDriven2021(), 1600.0)],
)
def test_truth_in_float32(name, device, state):
    d = load(name)
    v = jnp.float32(d["v"])
    _, found = device.simulate(state, v, float(d["dt"]))
    assert found.conductances.dtype == jnp.float32
    np.testing.assert_allclose(found.conductances, d["g"], rtol=1e-4)


@pytest.mark.parametrize(
    ("device", "step", "state", "amplitude", "dt"),
    [
        (LinearIonDrift(), published.linear_ion_drift, 0.2, 1.5, 1e-2),
        (VTEAM(), published.vteam, 2e-9, 0.4, 2e-11),
        (StanfordPKU(), published.stanford_pku, 1.5e-9, 1.6, 2e-9),
        (DataDriven2018(), published.data_driven_2018, 5000.0, 1.5, 1e-6),
        (DataDriven2021(), published.data_driven_2021, 2500.0, 1.5, 1e-7),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_published_formulas(x64, device, step, state, amplitude, dt):
    v = amplitude * np.sin(np.linspace(0, 6 * np.pi, 300)) + 0.05 * amplitude
    expected = np.asarray(published.trajectory(step, state, v, dt))
    _, found = device.simulate(state, v, dt)
    # The positive feedback of a closing gap multiplies rounding.
    np.testing.assert_allclose(found.states, expected, rtol=1e-8)
    low, high = device.state_bounds()
    assert np.ptp(expected) > 0.1 * (high - low)  # it moved
    turns = np.sign(np.diff(expected))
    assert {-1, 1} <= set(turns)  # both ways


def test_published_defaults_of_the_current(x64):
    assert LinearIonDrift().current(0.25, 2.0) == pytest.approx(2 / (25 + 12e3), rel=1e-14)
    assert VTEAM().current(1.5e-9, 0.1) == pytest.approx(0.1 / 525, rel=1e-14)
    expected = 1e-3 * np.exp(-4) * np.sinh(4)
    assert StanfordPKU().current(1e-9, 1.0) == pytest.approx(expected, rel=1e-13)
    expected = -0.24 * np.sinh(1.5) / 2000
    assert DataDriven2018().current(2e3, -0.5) == pytest.approx(expected, rel=1e-14)
    odd = DataDriven2021(a_n=0.5, b_n=2.0)
    expected = 0.32046175 * np.sinh(2.71689828 * 0.3) / 2e3
    assert odd.current(2e3, 0.3) == pytest.approx(expected, rel=1e-14)
    assert odd.current(2e3, -0.3) == pytest.approx(-0.5 * np.sinh(0.6) / 2e3, rel=1e-14)


def test_closed_forms_do_not_depend_on_how_time_is_cut(x64):
    """Within one voltage, ten steps are one step ten times as long."""
    for device, state, v, dt in (
        (DataDriven2018(), 5e3, 0.8, 1e-4),
        (DataDriven2018(), 9e3, -1.2, 1e-4),
        (DataDriven2021(), 2.6e3, 1.2, 1e-5),
        (DataDriven2021(), 1.8e3, -1.5, 1e-5),
    ):
        end, _ = device.simulate(state, np.full(10, v), dt / 10)
        assert abs(end - state) > 50
        np.testing.assert_allclose(device.step(state, v, dt), end, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dt", [1e-30, 1e-9, 1.0, 1e30])
def test_closed_forms_hold_for_any_time(x64, dtype, dt):
    """Never past the limit r(v), nor a NaN, however long the step or far the limit."""
    r = dtype([1280, 5e3, 17e3])
    after = np.asarray(DataDriven2018().step(r, dtype(1.0), dt))
    assert np.all((after >= r) & (after <= np.maximum(r, 16720)))
    after = np.asarray(DataDriven2018(r_n=(-1e6, 0.0)).step(r, dtype(-1.5), dt))
    assert np.all((after >= 1280) & (after <= r))
    r = dtype([1600, 2e3, 3e3])
    after = np.asarray(DataDriven2021().step(r, dtype(1.2), dt))
    assert np.all((after >= np.minimum(r, 1891)) & (after <= r))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_closed_forms_end_at_their_limits(x64, dtype):
    assert DataDriven2018().step(dtype(1280), dtype(1.0), 1e30) == pytest.approx(16719)
    assert DataDriven2018().step(dtype(17e3), dtype(-1.0), 1e30) == pytest.approx(5612.0533)
    assert DataDriven2021().step(dtype(3e3), dtype(1.2), 1e30) == pytest.approx(1891.717354)
    assert DataDriven2021().step(dtype(1600), dtype(-1.0), 1e30) == pytest.approx(2123.737326)
