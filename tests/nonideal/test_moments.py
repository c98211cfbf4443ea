"""Mean and standard deviation of a million draws against the formulas, each written out here."""

import jax
import numpy as np
import pytest

from jaxbar import nonideal as ni

N = 1000
DAY = 86400.0
US = 1e-6


def lognormal(g, sigma, resistance, mean=True):
    """Mean and σ of g where ln of the resistance or of the conductance is normal."""
    shift = (0.5 if resistance else -0.5) * sigma**2 * mean
    center = g * np.exp(shift + 0.5 * sigma**2)
    return center, center * np.sqrt(np.exp(sigma**2) - 1)


def wan(g, highest_first):
    return g, 40 * US / 40 * np.polyval(highest_first, g / (40 * US))


def sonos(current, a, b, shift):
    moved = current + np.polyval(shift[::-1], current)
    return moved * 1e-8, a * (1 - np.exp(-moved / b)) * 1e-8


CASES = {
    # (what, range, g, mean, σ)
    "constant": (ni.ProgrammingNoise(0.02), (0, 20 * US), 10 * US, 10 * US, 0.4 * US),
    "proportional": (ni.ProgrammingNoise((0, 0.05)), (0, 20 * US), 8 * US, 8 * US, 0.4 * US),
    "device R lognormal": (
        ni.DeviceVariation(0.3),
        (US, 20 * US),
        5 * US,
        *lognormal(5 * US, 0.3, True),
    ),
    "device G lognormal": (
        ni.DeviceVariation(0.3, quantity="conductance"),
        (US, 20 * US),
        5 * US,
        *lognormal(5 * US, 0.3, False),
    ),
    "cycle R median": (
        ni.CycleVariation(0.3, center="median"),
        (US, 20 * US),
        5 * US,
        *lognormal(5 * US, 0.3, True, mean=False),
    ),
    "at g_on": (
        ni.DeviceVariation((0.05, 0.5)),
        (US, 20 * US),
        20 * US,
        *lognormal(20 * US, 0.05, True),
    ),
    "at g_off": (ni.DeviceVariation((0.05, 0.5)), (US, 20 * US), US, *lognormal(US, 0.5, True)),
    "between": (  # 525 kohm of 50 kohm to 1 Mohm
        ni.DeviceVariation((0.05, 0.25)),
        (US, 20 * US),
        1 / 525e3,
        *lognormal(1 / 525e3, 0.15, True),
    ),
    "G normal": (
        ni.DeviceVariation(0.1, "normal", "conductance"),
        (US, 20 * US),
        5 * US,
        5 * US,
        0.5 * US,
    ),
    "G normal, range": (
        ni.CycleVariation(0.05, "normal", "conductance", scale="range"),
        (US, 21 * US),
        10 * US,
        10 * US,
        1 * US,
    ),
    "PCM": (
        ni.pcm()[0],
        (0, 25 * US),
        12.5 * US,
        12.5 * US,
        (0.26348 + 1.9650 * 0.5 - 1.1731 * 0.25) * US,
    ),
    "PCM, other g_max": (
        ni.pcm()[0],
        (0, 50 * US),
        25 * US,
        25 * US,
        2 * (0.26348 + 1.9650 * 0.5 - 1.1731 * 0.25) * US,
    ),
    "PCM Joshi": (
        ni.pcm(fit="joshi")[0],
        (0, 25 * US),
        10 * US,
        10 * US,
        (-0.00178767 * 100 + 0.07585724 * 10 + 0.28638599) * US,
    ),
    "Hermes": (
        ni.hermes()[0],
        (0, 20.7 * US),
        10.35 * US,
        10.35 * US,
        np.polyval([4.690, -8.481, 4.718, 0.166], 0.5) * US,
    ),
    "Hermes, one device": (
        ni.hermes(devices=1)[0],
        (0, 10.35 * US),
        10.35 * US,
        10.35 * US,
        np.polyval([0.688, -2.163, 2.324, 0.158], 1.0) * US,
    ),
    "Wan 1 s": (
        ni.rram_wan()[0],
        (0, 40 * US),
        20 * US,
        *wan(20 * US, [-16.815, 45.393, -43.853, 16.030, 0.348]),
    ),
    "Wan 1 day": (
        ni.rram_wan(DAY)[0],
        (0, 40 * US),
        20 * US,
        *wan(20 * US, [-16.458, 47.095, -50.773, 22.086, 0.701]),
    ),
    "Wan 2 days": (
        ni.rram_wan(2 * DAY)[0],
        (0, 40 * US),
        30 * US,
        *wan(30 * US, [-11.934, 37.062, -43.507, 20.274, 0.782]),
    ),
    "Wan 1 s, other g_max": (
        ni.rram_wan()[0],
        (0, 10 * US),
        5 * US,
        5 * US,
        np.polyval([-16.815, 45.393, -43.853, 16.030, 0.348], 0.5) * US / 4,
    ),
    "Wan cubic": (
        ni.rram_wan(fit="cubic")[0],
        (0, 39 * US),
        30 * US,
        30 * US,
        np.polyval([1.536e-4, -1.167e-2, 0.2374, 1.053], 30.0) * US,
    ),
    "Milo": (
        ni.rram_milo()[0],
        (50 * US, 225 * US),
        100 * US,
        100 * US,
        (4.782321 - 0.9107) * US,
    ),
    "CMO 2 %": (
        ni.cmo_hfo2()[0],
        (9 * US, 88 * US),
        50 * US,
        50 * US,
        (0.0112185391 + 0.01129027418 * 50) * US,
    ),
    "CMO 0.2 %": (
        ni.cmo_hfo2(acceptance=0.002)[0],
        (9 * US, 88 * US),
        80 * US,
        80 * US,
        (0.00081107 + 0.00106879 * 80) * US,
    ),
    "CMO relaxation": (
        ni.cmo_hfo2(time=1e5)[1],
        (9 * US, 88 * US),
        50 * US,
        (50 - 0.08900206 * np.log(1e5)) * US,
        (0.04201137 * np.log(1e5) + 0.41183342) * US,
    ),
    "SONOS": (
        ni.sonos()[0],
        (0, 16 * US),
        8 * US,
        *sonos(800.0, 19.88665, 176.3115, np.zeros(1)),
    ),
    "SONOS read": (
        ni.sonos()[1],
        (0, 16 * US),
        2 * US,
        2 * US,
        12.58037 * (1 - np.exp(-200 / 215.36557)) * 1e-8,
    ),
    "read": (ni.ReadNoise(0.02), (0, 20 * US), 5 * US, 5 * US, 0.1 * US),
    "read, range": (ni.ReadNoise(0.02, "range"), (0, 20 * US), 5 * US, 5 * US, 0.4 * US),
    "PCM read": (
        ni.pcm(time=1e3)[2],
        (0, 25 * US),
        10 * US,
        10 * US,
        10 * US * 0.0088 / 0.4**0.65 * np.sqrt(np.log((1e3 + 20 + 250e-9) / 500e-9)),
    ),
    "Hermes read": (
        ni.hermes(time=1e3)[2],
        (0, 20.7 * US),
        10.35 * US,
        10.35 * US,
        10.35
        * US
        * np.polyval([0.0069, -0.0280, 0.0211, 0.0123], 0.5)
        * np.sqrt(np.log((1e3 + 300 + 512e-9) / 1024e-9)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conductance(name):
    item, g_range, g, mean, sigma = CASES[name]
    drawn = np.asarray(
        item.apply(np.full((N, N), g, np.float32), jax.random.key(1), g_range=g_range), np.float64
    )
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert drawn.mean() == pytest.approx(mean, abs=5 * sigma / N)
    assert drawn.std() == pytest.approx(sigma, rel=0.01)


@pytest.mark.parametrize(
    ("item", "mean", "sigma"),
    [
        (ni.DeviceVariation(0.5), 1.0, np.sqrt(np.exp(0.25) - 1)),
        (ni.DeviceVariation(0.1, "normal"), 1.0, 0.1),
        # r_off − r_on is 950 kohm, and R 200 kohm.
        (ni.CycleVariation(0.02, "normal", scale="range"), 1.0, 0.02 * 950 / 200),
    ],
)
def test_resistance(item, mean, sigma):
    g = np.full((N, N), 5 * US, np.float32)
    drawn = item.apply(g, jax.random.key(2), g_range=(US, 20 * US))
    r = 1 / np.asarray(drawn, np.float64) / 200e3
    assert r.mean() == pytest.approx(mean, rel=0.01)
    assert r.std() == pytest.approx(sigma, rel=0.01)


@pytest.mark.parametrize(
    ("item", "u", "mean", "sigma", "t_0"),
    [
        (ni.pcm(1e6)[1], 0.1, 0.0155 * np.log(10) + 0.0244, 0.0125 * np.log(10) - 0.0059, 20),
        (ni.pcm(1e6)[1], 0.9, 0.049, 0.008, 20),
        (
            ni.hermes(1e6)[1],
            0.5,
            -0.0436 / 4 - 0.0063 + 0.0736,
            -0.0118 / 4 + 0.00465 + 0.0073,
            300,
        ),
        (
            ni.hermes(1e6)[1],
            0.08,
            -0.0387 * np.log(0.08) - 0.0182,
            -0.0117 * np.log(0.08) - 0.0057,
            300,
        ),
        (ni.Drift(0.06, 0.01, t_0=20.0, time=1e6), 0.5, 0.06, 0.01, 20),
    ],
)
def test_exponent_of_drift(item, u, mean, sigma, t_0):
    g = np.full((N, N), u * 20 * US, np.float32)
    drawn = np.asarray(item.apply(g, jax.random.key(3), g_range=(0, 20 * US)), np.float64)
    nu = -np.log(drawn / (u * 20 * US)) / np.log(1 + 1e6 / t_0)
    assert nu.mean() == pytest.approx(mean, rel=0.01)
    assert nu.std() == pytest.approx(sigma, rel=0.01)


def test_exponent_is_folded():
    """No device drifts up: |N(0, σ)| has the mean σ√(2/π)."""
    g = np.full((N, N), US, np.float32)
    drawn = ni.Drift(0.0, 0.1, time=np.e - 1).apply(g, jax.random.key(0), g_range=(0, 20 * US))
    nu = -np.log(np.asarray(drawn, np.float64) / US)
    assert nu.min() > -1e-6
    assert nu.mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.01)


@pytest.mark.parametrize("day", range(1, 6))
def test_moved_sonos_cells(day):
    """Against the published polynomial in its own units, added up in float64."""
    from jaxbar.nonideal.presets.sonos import SHIFT, SPREAD, Sonos

    current = np.array([10.0, 200.0, 700.0, 1100.0, 1400.0])
    mean, sigma = sonos(current, *SPREAD[day], np.array(SHIFT[day - 1]))
    shift, spread = Sonos(day * DAY).moments(current.astype(np.float32) * 1e-8, 16 * US)
    np.testing.assert_allclose(current * 1e-8 + shift, mean, rtol=1e-4)
    np.testing.assert_allclose(spread, sigma, rtol=1e-4)
    end = Sonos(day * DAY).moments(np.float32([1.4e-5, 1.6e-5]), 16 * US)[0]
    np.testing.assert_allclose(end[1], end[0], rtol=1e-6)
    assert (np.abs(mean * 1e8 - current) < 65).all()
