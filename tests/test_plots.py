"""Plots: what they show, and where they draw."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

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
    [lambda: plots.accuracy_bars({"a": 0.5}), lambda: plots.voltage_map(np.ones((2, 2)), 1.0)],
)
def test_missing_matplotlib_names_the_extra(monkeypatch, draw):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'jaxbar\[plot\]'"):
        draw()
