"""Every device model reaches its targets; what the protocol does for a single cell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import (
    VTEAM,
    Biolek,
    DataDriven2018,
    DataDriven2021,
    LinearIonDrift,
    Prodromakis,
    StanfordPKU,
)
from jaxbar.programming import Status, WriteVerify, write_verify

from .reference import DEVICE

# name: device, lowest and highest resistance aimed at, first state, protocol
FAST_SET = {"amplitude": (0.25, 0.3), "max_amplitude": (0.4, 1.8), "width": (1e-11, 1e-9)}
MODELS = {
    "linear ion drift": (
        *(LinearIonDrift(), 1500, 12000, 0.3),
        {"amplitude": 1.0, "max_amplitude": 1.5, "width": 1e-3},
    ),
    "Biolek": (
        *(LinearIonDrift(window=Biolek(2)), 1500, 12000, None),
        {"amplitude": 1.0, "max_amplitude": 1.5, "width": 1e-3},
    ),
    "VTEAM": (VTEAM(), 60, 900, 1.5e-9, FAST_SET),
    "exponential VTEAM": (
        *(VTEAM(law="exponential", window=Prodromakis(2, 1.1)), 60, 900, 1.5e-9),
        FAST_SET,
    ),
    "Stanford-PKU": (
        *(StanfordPKU(), 2000, 100000, 1e-9),
        {"amplitude": 1.2, "max_amplitude": 2.0, "width": 1e-9},
    ),
    "data-driven 2018": (
        *(DataDriven2018(), 3000, 15000, 5000.0),
        {"amplitude": 0.8, "max_amplitude": 1.6, "width": 1e-5},
    ),
    "data-driven 2021": (DataDriven2021(), 1700, 2900, 2300.0, {}),
}


def one(device, target, state=None, stuck=None, **protocol):
    protocol = WriteVerify(**{"scheme": "none", **protocol})
    found = write_verify(device, [[target]], protocol, state, stuck=stuck)
    return jax.tree.map(lambda x: x[0, 0] if jnp.ndim(x) else x, found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("order", "scheme"), [("tile", "none"), ("row", "V/2"), ("cell", "V/2")])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_reaches_its_targets(x64, name, order, scheme, dtype):
    device, low, high, state, protocol = MODELS[name]
    target = np.linspace(1 / high, 1 / low, 20, dtype=dtype).reshape(4, 5)
    p = WriteVerify(**{"order": order, "scheme": scheme, "max_pulses": 3000, **protocol})
    state = state if state is None else np.asarray(state, dtype)
    found = write_verify(device, target, p, state)
    assert found.conductance.dtype == found.state.dtype == found.amplitude.dtype == dtype
    assert found.pulses.dtype == found.status.dtype == found.passes.dtype == jnp.int32
    assert np.all(np.asarray(found.done))
    np.testing.assert_allclose(found.conductance, target, rtol=0.05 + 1e-6)
    again = device.conductance(found.state)
    np.testing.assert_allclose(found.conductance, again, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", MODELS)
def test_polarity_is_that_of_the_model(name):
    """The first pulse goes the right way, up and down."""
    device, low, high, _, protocol = MODELS[name]
    middle = 2 / (low + high)
    start = device.state_for(middle)
    for target, way in ((1 / low, 1), (1 / high, -1)):
        # Highest amplitudes, or slow models do not move in float32.
        top = {"amplitude": protocol.get("max_amplitude", 1.8)}
        found = one(device, target, start, **{**protocol, **top, "max_pulses": 1})
        assert int(found.pulses) == 1
        assert (float(found.conductance) - float(device.conductance(start))) * way > 0


def test_ramp(x64):
    """At −1.2 V the resistance cannot go beyond 2418 ohm, and −1.4 V is enough for 2650."""
    device = DataDriven2021()
    found = one(device, 1 / 2650, 2417.0, tolerance=0.01)
    assert found.done
    assert 1.4 < float(found.amplitude) < 1.8
    without = one(device, 1 / 2650, 2417.0, tolerance=0.01, ramp=0.0)
    assert int(without.status) == Status.LIMIT
    assert float(without.conductance) > 1 / 2418.7
    flat = one(device, 1 / 2650, 2417.0, tolerance=0.01, max_amplitude=1.2)
    assert int(flat.status) == Status.STUCK
    np.testing.assert_allclose(flat.conductance, without.conductance, rtol=1e-4)
    # Pulses that do something are not raised: 1.2 V moves 2500 ohm to 2300 with ease.
    assert one(DEVICE, 1 / 2300, 2500.0).amplitude == 1.2


def test_amplitude_ends_at_the_maximum(x64):
    found = one(DEVICE, 1 / 2000, stuck=True, ramp=0.25, amplitude=1.2, max_amplitude=1.8)
    assert found.amplitude == 1.8
    assert int(found.pulses) == 3 + 3  # 1.2, 1.45, 1.7 and 3 times 1.8 V
    patient = one(DEVICE, 1 / 2000, stuck=True, ramp=0.25, patience=5)
    assert int(patient.pulses) == 3 + 5


def test_pairs(x64):
    """Set and reset have pulses of their own."""
    first = {"amplitude": (1.3, 1.5), "max_amplitude": (1.4, 1.9), "max_pulses": 1}
    after = lambda v, dt: float(DEVICE.step(2100.0, v, dt))
    up = one(DEVICE, 1 / 1800, 2100.0, width=(1e-7, 3e-7), **first)
    down = one(DEVICE, 1 / 2500, 2100.0, width=(1e-7, 3e-7), **first)
    np.testing.assert_allclose(up.state, after(1.3, 1e-7), rtol=1e-14)
    np.testing.assert_allclose(down.state, after(-1.5, 3e-7), rtol=1e-14)
    assert one(DEVICE, 1 / 1800, stuck=True, **{**first, "max_pulses": 99}).amplitude == 1.4


def test_overshoot_is_corrected(x64):
    """Wide set pulses go past the target, narrow reset pulses come back."""
    found = one(DEVICE, 1 / 2300, tolerance=0.01, width=(2e-5, 2e-7))
    first = float(DEVICE.step(2500.0, 1.2, 2e-5))
    assert first < 2300 * 0.99
    assert found.done
    assert float(found.state) > first


def test_a_cell_that_oscillates_ends(x64):
    p = {"tolerance": 1e-4, "width": 1e-4, "max_pulses": 50}
    found = one(DEVICE, 1 / 2150, **p)
    assert int(found.status) == Status.LIMIT
    assert int(found.pulses) == 50


def test_max_pulses(x64):
    need = int(one(DEVICE, 1 / 1900).pulses)
    assert one(DEVICE, 1 / 1900, max_pulses=need).done
    less = one(DEVICE, 1 / 1900, max_pulses=need - 1)
    assert int(less.status) == Status.LIMIT
    assert int(less.pulses) == need - 1


def test_no_pulse_for_a_cell_that_is_done(x64):
    found = one(DEVICE, 1 / 2000, 2000.0)
    assert (int(found.pulses), int(found.passes), float(found.state)) == (0, 0, 2000.0)


def test_out_of_range(x64):
    for target, bound in ((1 / 1500, 1800), (1 / 3000, 2500)):
        found = one(DEVICE, target, 2150.0)
        assert int(found.status) == Status.OUT_OF_RANGE
        assert abs(float(found.conductance) * bound - 1) <= 0.05
        assert 0 < int(found.pulses) < 200
    # 0 S is an open cell, which no device is.
    assert int(one(DEVICE, 0.0).status) == Status.OUT_OF_RANGE
    # The bounds themselves and what they are within the tolerance of can be reached.
    for r in (1800, 2500, 1750, 2600):
        assert one(DEVICE, 1 / r, 2150.0).done


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", ["none", "V/2", "V/3"])
@pytest.mark.parametrize("order", ["tile", "row", "cell"])
def test_stuck_cells(x64, order, scheme, dtype):
    """Resistances in and out of what the device can have, open and shorted."""
    target = np.full((3, 3), 1 / 2300, dtype)
    stuck = np.full((3, 3), np.nan, dtype)
    stuck[0, 0], stuck[1, 1], stuck[1, 2], stuck[2, 0] = 1900, np.inf, 50, 2310
    found = write_verify(DEVICE, target, WriteVerify(order=order, scheme=scheme), stuck=stuck)
    held = ~np.isnan(stuck)
    np.testing.assert_allclose(found.conductance[held], 1 / stuck[held], rtol=1e-6)
    expected = np.full((3, 3), Status.DONE)
    expected[0, 0] = expected[1, 1] = expected[1, 2] = Status.STUCK
    np.testing.assert_array_equal(found.status, expected)
    assert int(found.pulses[2, 0]) == 0
    # 12 steps of the ramp, with rounding 13, and patience.
    assert np.all(np.isin(np.asarray(found.pulses)[expected == Status.STUCK], (15, 16)))


def test_stuck_where_they_are(x64):
    start = np.array([[1900.0, 2400.0]])
    target = np.full((1, 2), 1 / 2100)
    found = write_verify(DEVICE, target, None, start, stuck=[[True, False]])
    np.testing.assert_array_equal(found.status, [[Status.STUCK, Status.DONE]])
    assert float(found.state[0, 0]) == 1900
    assert np.all(write_verify(DEVICE, target, None, 2100.0, stuck=[[True, True]]).done)


def test_a_device_that_no_pulse_moves_is_stuck():
    """A window that is 0 at the bound holds a device there; low voltages move nothing."""
    assert int(one(LinearIonDrift(), 1 / 5000).status) == Status.STUCK
    weak = one(VTEAM(), 1 / 100, 1.5e-9, amplitude=0.01, max_amplitude=0.015, ramp=0.001)
    assert int(weak.status) == Status.STUCK
    assert 0 < int(weak.pulses) < 20


def test_slow_is_not_stuck(x64):
    """Steps far below those that end the ramp, which still get there."""
    found = one(DEVICE, 1 / 2200, 2400.0, width=2e-9, max_pulses=100_000, tolerance=0.01)
    assert found.done
    assert int(found.pulses) > 300
    few = one(DEVICE, 1 / 2200, 2400.0, width=2e-9, max_pulses=100, tolerance=0.01)
    assert int(few.status) in (Status.STUCK, Status.LIMIT)


def test_what_disturbs_a_cell_is_written_again(x64):
    """Cells near 2500 ohm are pulled down by the set pulses of others, and are set right."""
    target = np.full((6, 6), 1 / 1850)
    target[0] = target[:, 0] = 1 / 2500
    for order in ("tile", "row", "cell"):
        found = write_verify(DEVICE, target, WriteVerify(order=order, tolerance=0.02))
        assert np.all(found.done)
        assert int(found.passes) > 1
        assert int(found.pulses[0].sum()) > 0
        alone = write_verify(
            DEVICE, target, WriteVerify(order=order, tolerance=0.02, scheme="none")
        )
        assert int(alone.pulses[0].sum()) == 0


def test_noise_needs_a_key_and_repeats(x64):
    device, target = StanfordPKU(delta_g=1e-3), np.linspace(1 / 1e5, 1 / 2000, 6).reshape(2, 3)
    protocol = {"amplitude": 1.2, "max_amplitude": 2.0, "width": 1e-9, "max_pulses": 3000}
    run = lambda key, order: write_verify(
        device, target, WriteVerify(order=order, **protocol), 1e-9, key=key
    )
    for order in ("tile", "row", "cell"):
        quiet, again = run(None, order), run(None, order)
        a, b, c = (run(jax.random.key(k), order) for k in (0, 0, 1))
        np.testing.assert_array_equal(quiet.state, again.state)
        np.testing.assert_array_equal(a.state, b.state)
        assert np.all(np.asarray(a.state != quiet.state))
        assert np.any(np.asarray(a.state != c.state))
        assert np.all(a.done)
