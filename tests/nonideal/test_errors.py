"""Arguments that every non-ideality checks."""

import jax
import numpy as np
import pytest

from jaxbar import nonideal as ni

G = np.full((2, 3), 1e-5)
KEY = jax.random.key(0)
OK = (1e-6, 2e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ni.ReadNoise(-0.1), r"ReadNoise\.sigma = -0\.1: must be finite and ≥ 0"),
        (lambda: ni.ReadNoise(0.1, "span"), "scale = 'span'"),
        (lambda: ni.DeviceVariation(float("nan")), r"DeviceVariation\.sigma = nan"),
        (lambda: ni.DeviceVariation((0.1, 0.2, 0.3)), "must be one number"),
        (lambda: ni.CycleVariation(0.1, "log-normal"), "did you mean 'lognormal'"),
        (lambda: ni.CycleVariation(0.1, quantity="conductanse"), "did you mean 'conductance'"),
        (lambda: ni.CycleVariation(0.1, scale="range"), 'choose "normal"'),
        (lambda: ni.ProgrammingNoise(()), "must hold at least one"),
        (lambda: ni.ProgrammingNoise((0.1, float("inf"))), r"coefficients\[1\] = inf"),
        (lambda: ni.ProgrammingNoise(0.1, g_max=0.0), "g_max = 0.0: must be finite and > 0"),
        (lambda: ni.TimedProgrammingNoise((1.0,), ()), "must be as many"),
        (lambda: ni.FlickerNoise(0.1, 0.0, 1e-6), r"FlickerNoise\.t_0 = 0\.0"),
        (lambda: ni.FlickerNoise(0.1, 1e-6, 1e-6), "must be > t_read"),
        (lambda: ni.pcm(fit="joshy"), "did you mean 'joshi'"),
    ],
)
def test_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("g", "arguments", "message"),
    [
        (G, {"g_range": (2e-5, 1e-6)}, r"must have r_on < r_off"),
        (G, {"g_range": (1e-5, 1e-5)}, r"r_on = 1.*must have r_on < r_off"),
        (G, {"g_range": (-1e-6, 1e-5)}, "g_off must be ≥ 0"),
        (G, {"g_range": (0.0, np.inf)}, "g_on must be > 0"),
        (G, {"g_range": 1e-5}, r"must be \(g_off, g_on\)"),
        (-G, {"g_range": OK}, "must be finite and ≥ 0, in siemens"),
        (G * np.nan, {"g_range": OK}, "must be finite and ≥ 0, in siemens"),
        (G[0], {"g_range": OK}, "must be tiles"),
        (G, {"g_range": OK, "used": np.ones((2, 3))}, "used has dtype float"),
        (G, {"g_range": OK, "used": np.ones((3, 2), bool)}, r"used has shape \(3, 2\)"),
        (G, {"g_range": OK, "used": np.ones((5, 2, 3), bool)}, "must broadcast to that of g"),
    ],
)
def test_arguments(g, arguments, message):
    item = ni.ReadNoise(0.1)
    for call in (
        lambda: item.apply(g, KEY, **arguments),
        lambda: ni.compose((), g, KEY, **arguments),
        lambda: ni.read((), g, KEY, **arguments),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("chip", "message"),
    [
        ((ni.FiniteStates(2), ni.FiniteStates(3)), "both of the kind FINITE_STATES"),
        (
            (ni.StuckFaults(0.1), ni.FaultMap(0)),
            "StuckFaults and FaultMap, both of the kind FAULTS",
        ),
        ((ni.pcm(),), "unpack presets with"),
        ((0.1,), "must be a sequence of non-idealities"),
    ],
)
def test_chips(chip, message):
    for call in (
        lambda: ni.compose(chip, G, KEY, g_range=OK),
        lambda: ni.read(chip, G, KEY, g_range=OK),
        lambda: ni.at_time(chip, 1.0),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_target_of_another_shape():
    with pytest.raises(ValueError, match="target has shape"):
        ni.read((), G, KEY, g_range=OK, target=np.ones((4, 4)))


def test_a_spread_of_an_infinite_range():
    item = ni.DeviceVariation(0.1, "normal", scale="range")
    with pytest.raises(ValueError, match="needs a finite r_off"):
        item.apply(G, KEY, g_range=(0.0, 2e-5))
