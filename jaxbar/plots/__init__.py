"""Plots, each a function that returns a matplotlib Figure and draws on given axes if asked."""

from ._axes import available as available
from .accuracy import accuracy_bars as accuracy_bars
from .cells import iv as iv
from .cells import stress_map as stress_map
from .devices import bipolar_switching as bipolar_switching
from .devices import hysteresis_loop as hysteresis_loop
from .devices import pulse_response as pulse_response
from .tile import voltage_map as voltage_map
