"""Plots, each a function that returns a matplotlib Figure and draws on given axes if asked."""

from ._axes import available as available
from .accuracy import accuracy_bars as accuracy_bars
from .tile import voltage_map as voltage_map
