"""Plots of devices: what they show."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from jaxbar import plots
from jaxbar.devices import VTEAM, DataDriven2021, StanfordPKU


def test_hysteresis_loop_is_the_trajectory():
    figure = plots.hysteresis_loop(VTEAM(), 1e-9, 1.0, 50e6, cycles=2, points=100)
    (ax,) = figure.axes
    first, second = ax.lines[:2]
    v = np.sin(2 * np.pi * np.arange(201) / 100)
    _, found = VTEAM().simulate(1e-9, v, 1 / 50e8)
    for line, turn in ((first, slice(0, 101)), (second, slice(100, 201))):
        np.testing.assert_allclose(line.get_xdata(), v[turn], atol=1e-12)
        np.testing.assert_allclose(line.get_ydata(), found.currents[turn], rtol=1e-5, atol=1e-9)
    assert ax.get_title() == "sine of 50 MHz"
    assert ax.yaxis.get_major_formatter()(0.02) == "20 mA"
    assert first.get_color() != second.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["cycle 1", "cycle 2"]


def test_bipolar_switching_shows_both_ways():
    (ax,) = plots.bipolar_switching(StanfordPKU(), 1.6e-9, 1.8, 1e6, points=400).axes
    out, back = ax.lines
    assert ax.get_yscale() == "log"
    assert (out.get_linestyle(), back.get_linestyle()) == ("-", "--")
    v, at = out.get_xdata(), lambda line, u: line.get_ydata()[np.isclose(line.get_xdata(), u)]
    assert (v.min(), v.max()) == pytest.approx((-1.8, 1.8))
    assert np.all(np.nan_to_num(out.get_ydata(), nan=1) > 0)
    # Set by the positive half and reset by the negative one.
    assert np.nanmax(at(back, 0.9)) > 100 * np.nanmax(at(out, 0.9))
    assert np.nanmax(at(out, -0.9)) > 100 * np.nanmax(at(back, -0.9))
    # Each way is whole: its ends are shown.
    for line in (out, back):
        assert np.isfinite(at(line, 1.8)).any()
        assert np.isfinite(at(line, -1.8)).any()


def test_pulse_response():
    pulses = [1.2, 1.3, 0.0, -1.4, -1.5]
    (ax,) = plots.pulse_response(DataDriven2021(), 2500.0, pulses, 2e-7).axes
    _, found = DataDriven2021().simulate(2500.0, pulses, 2e-7)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), np.arange(6))
    np.testing.assert_allclose(line.get_ydata(), [1 / 2500, *found.conductances], rtol=1e-6)
    shown = {c.get_label(): c.get_offsets()[:, 0].tolist() for c in ax.collections}
    assert shown == {"positive": [1, 2], "negative": [4, 5], "0 V": [3]}
    assert ax.get_title() == "pulses of 0 to 1.5 V"


def test_given_axes_are_drawn_on(tmp_path):
    figure = Figure()
    left, middle, right = figure.subplots(1, 3)
    assert plots.hysteresis_loop(VTEAM(), 1e-9, 1.0, 1e8, points=50, ax=left) is figure
    assert plots.bipolar_switching(VTEAM(), 1e-9, 1.0, 1e8, points=50, ax=middle) is figure
    assert plots.pulse_response(VTEAM(), 1e-9, [0.3], 1e-11, ax=right) is figure
    assert all(ax.lines for ax in (left, middle, right))
    figure.savefig(tmp_path / "all.png")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: plots.hysteresis_loop(VTEAM(r_on=[50.0, 60.0]), 0.0, 1.0, 1e8, points=9),
            r"device and state have shape \(2,\): a plot shows one memristor",
        ),
        (lambda: plots.hysteresis_loop(VTEAM(), 0.0, -1.0, 1e8), "amplitude = -1.0: must be"),
        (lambda: plots.bipolar_switching(VTEAM(), 0.0, 1.0, 0.0), "frequency = 0.0: must be"),
        (lambda: plots.hysteresis_loop(VTEAM(), 0.0, 1.0, 1e8, cycles=0), "cycles = 0: must be"),
        (lambda: plots.hysteresis_loop(VTEAM(), 0.0, 1.0, 1e8, points=0), "points = 0: must be"),
        (lambda: plots.pulse_response(VTEAM(), 0.0, 1.0, 1e-9), r"voltages has shape \(\)"),
        (lambda: plots.pulse_response(VTEAM(), 0.0, [], 1e-9), r"voltages has shape \(0,\)"),
        (lambda: plots.pulse_response(VTEAM(), [0.0, 0.0], [1.0], 1e-9), r"shape \(2,\): a plot"),
    ],
)
def test_messages(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
