"""Plots: what they show, and where they draw."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import jaxbar as jb
from jaxbar import plots


def test_bars_show_percent_in_order():
    figure = plots.accuracy_bars({"digital": 0.967, "mapped onto tiles": 0.1, "retrained": 1.0})
    assert isinstance(figure, Figure)
    (ax,) = figure.axes
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [96.7, 10.0, 100.0])
    assert [text.get_text() for text in ax.texts] == ["96.7", "10.0", "100.0"]
    labels = [label.get_text().replace("\n", " ") for label in ax.get_xticklabels()]
    assert labels == ["digital", "mapped onto tiles", "retrained"]
    assert "%" in ax.get_ylabel()
    shades = {bar.get_facecolor() for bar in ax.patches}
    assert len(shades) == 3
    assert all(r == g == b for r, g, b, _ in shades)


def test_one_bar():
    (ax,) = plots.accuracy_bars({"only": 0.5}).axes
    assert len(ax.patches) == 1


def test_map_shows_percent_of_the_drive():
    volts = np.asarray([[0.3, 0.15, 0.03], [0.24, 0.12, 0.06]])
    figure = plots.voltage_map(volts, 0.3)
    ax, bar = figure.axes
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), 100 * volts / 0.3)
    assert image.get_clim() == (0.0, 100.0)
    assert "0.3 V" in bar.get_ylabel()
    assert "%" in bar.get_ylabel()
    assert "bit line" in ax.get_xlabel()
    assert "word line" in ax.get_ylabel()
    assert ax.get_title() == "10.0 to 100.0 % reach the cells"


def test_map_stretches_to_what_it_shows():
    image = plots.voltage_map(np.asarray([[-0.15, 0.6]]), 0.3).axes[0].images[0]
    assert image.get_clim() == (-50.0, 200.0)


def test_map_reads_in_greyscale():
    """The lightness of the colours grows with the voltage."""
    image = plots.voltage_map(np.linspace(0, 0.3, 50)[None], 0.3).axes[0].images[0]
    rgba = image.cmap(image.norm(image.get_array()))[0]
    lightness = rgba[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(lightness) > 0).all()


def test_map_refuses_several_tiles():
    with pytest.raises(ValueError, match=r"voltages has shape \(2, 3, 4\)"):
        plots.voltage_map(np.zeros((2, 3, 4)), 0.3)


def test_given_axes_are_drawn_on(tmp_path):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.accuracy_bars({"a": 0.5, "b": 0.6}, ax=left) is figure
    assert plots.voltage_map(np.full((2, 2), 0.1), 0.3, ax=right) is figure
    assert len(left.patches) == 2
    assert len(right.images) == 1
    figure.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.accuracy_bars({"a": 0.5}),
        lambda: plots.voltage_map(np.ones((2, 2)), 1.0),
        lambda: plots.iv(jb.Ohmic(), 1e-4),
        lambda: plots.stress_map(np.ones((2, 2)), 0, 0),
    ],
)
def test_missing_matplotlib_names_the_extra(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'jaxbar\[plot\]'"):
        draw()


def test_currents_of_cells():
    ax = plots.iv(jb.Sinh(4.0), [1e-5, 1e-4], 0.5).axes[0]
    for line, g in zip(ax.lines[:2], (1e-4, 1e-5), strict=True):  # highest first, darkest
        v, current = line.get_data()
        np.testing.assert_allclose(v[[0, -1]], [-0.5, 0.5])
        np.testing.assert_allclose(current, g * np.sinh(4 * v) / 4, rtol=1e-5, atol=1e-12)
    assert float(ax.lines[0].get_color()) < float(ax.lines[1].get_color())
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["100 µS", "10 µS"]
    assert ax.get_title() == "Sinh"
    assert plots.iv(jb.Ohmic(), 1e-4).axes[0].get_legend() is None


def test_current_of_a_gated_cell_on_a_logarithm():
    cell = jb.Transistor(1.2)
    ax = plots.iv(cell, 1e-3, 1.5, -0.5, log=True).axes[0]
    v, current = ax.lines[0].get_data()
    assert ax.get_yscale() == "log" and v[0] == -0.5
    expected = np.abs(cell.current(np.full_like(v, 1e-3)[:, None, None], v[:, None, None], 0.0))
    np.testing.assert_allclose(current, np.where(v == 0, np.nan, expected[:, 0, 0]), rtol=1e-5)


def test_wrong_currents_of_cells():
    for args, message in (
        ((jb.Sinh, 1e-4), "a cell law has a method"),
        ((jb.Sinh(1.0), [1e-4, 0.0]), r"g\[1\] = 0.0: must be finite and > 0, in S"),
        ((jb.Sinh(1.0), 1e-4, -1.0), "v_max = -1.0: must be finite and > 0, in V"),
        ((jb.Sinh(1.0), 1e-4, 1.0, 1.0), "v_min = 1.0 V: must be below v_max"),
    ):
        with pytest.raises(ValueError, match=message):
            plots.iv(*args)


def test_map_of_stress():
    g = np.full((3, 4), 1e-5)
    stress = jb.half_select(g, 1, 2, -1.2, jb.Wires()).cell_voltages
    figure = plots.stress_map(stress, 1, 2)
    ax, bar = figure.axes
    shown = ax.images[0].get_array()
    expected = np.zeros((3, 4))
    expected[1], expected[:, 2], expected[1, 2] = 50, 50, 100
    np.testing.assert_allclose(shown, expected, atol=1e-4)
    assert ax.images[0].get_clim() == (0.0, 100.0)
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[2.0, 1.0]]]
    assert ax.get_title() == "the others bear up to 50.0 %"
    assert "-1.2 V" in bar.get_ylabel()
    assert plots.stress_map([[0.5]], 0, 0).axes[0].get_title() == "the only cell"
    assert plots.stress_map([[0.5, 1.0]], 0, 0).axes[0].images[0].get_clim() == (0.0, 200.0)


def test_wrong_maps_of_stress():
    for args, message in (
        ((np.ones(3), 0, 0), r"voltages has shape \(3,\)"),
        ((np.ones((3, 4)), 3, 0), r"row = 3: must be in \[0, 2\]"),
        ((np.ones((3, 4)), 0, -1), r"column = -1: must be in \[0, 3\]"),
        ((np.zeros((3, 4)), 1, 1), "the cell at row 1, column 1 is at 0 V"),
    ):
        with pytest.raises(ValueError, match=message):
            plots.stress_map(*args)
