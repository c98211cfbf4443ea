"""What a memristor does under a voltage that sweeps, and under pulses."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.typing import ArrayLike

from .._check import check_count
from ..devices import Device
from ..devices.parameters import check_entries
from ._axes import axes, with_unit


def hysteresis_loop(
    device: Device,
    state: float,
    amplitude: float,
    frequency: float,
    cycles: int = 1,
    points: int = 1000,
    ax: Any = None,
) -> Any:
    """Current over voltage, under a sine of the voltage; later cycles are lighter.

    Args:
        device: one memristor.
        state: at the start, in the model's unit; `Device.state_for` makes it of a conductance.
        amplitude: volt, > 0.
        frequency: hertz, > 0.
        cycles: of the sine.
        points: steps of a cycle; of models with forward Euler they set the accuracy.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: an argument is not allowed, or there is more than one device.
    """
    wave = lambda phase: np.sin(2 * np.pi * phase)
    v, current = _sweep(device, state, wave, amplitude, frequency, cycles, points)
    ax = axes(ax, 4.6, 3.8)
    greys = np.linspace(0.0, 0.65, cycles)
    for k, grey in enumerate(greys):
        turn = slice(k * points, (k + 1) * points + 1)
        label = f"cycle {k + 1}" if k in (0, cycles - 1) else None
        ax.plot(v[turn], current[turn], color=str(grey), lw=1.4, label=label)
    ax.axhline(0, color="0.85", lw=0.8, zorder=0)
    ax.axvline(0, color="0.85", lw=0.8, zorder=0)
    if cycles > 1:
        ax.legend(frameon=False)
    ax.set(xlabel="voltage (V)", ylabel="current", title=f"sine of {_hertz(frequency)}")
    return with_unit(ax, "A")


def bipolar_switching(
    device: Device,
    state: float,
    amplitude: float,
    frequency: float,
    cycles: int = 1,
    points: int = 1000,
    ax: Any = None,
) -> Any:
    """Magnitude of the current over voltage, logarithmic, under a triangle 0, +, 0, −, 0.

    Solid where the voltage leaves 0 and dashed where it returns. Args, Returns and Raises: as of
    `hysteresis_loop`.
    """
    wave = lambda phase: 1 - 4 * np.abs((phase + 0.25) % 1 - 0.5)
    v, current = _sweep(device, state, wave, amplitude, frequency, cycles, points)
    ax = axes(ax, 4.6, 3.8)
    magnitude = np.where(v == 0, np.nan, np.abs(current))  # no logarithm of no current
    out = np.diff(np.abs(v), append=0.0) > 0
    # The step at the turn belongs to both ways.
    turn = np.concatenate([[False], out[:-1]])
    for shown, line, label in ((out | turn, "-", "away from 0 V"), (~out, "--", "back to 0 V")):
        ax.semilogy(v, np.where(shown, magnitude, np.nan), line, color="0.1", lw=1.4, label=label)
    ax.legend(frameon=False)
    title = f"triangle of {_hertz(frequency)}"
    ax.set(xlabel="voltage (V)", ylabel="magnitude of the current", title=title)
    return with_unit(ax, "A")


def pulse_response(
    device: Device, state: float, voltages: ArrayLike, dt: float, ax: Any = None
) -> Any:
    """Conductance after each of a train of pulses; where it started stands at pulse 0.

    Args:
        device: one memristor.
        state: before the first pulse, in the model's unit.
        voltages: of the pulses, (T,), volt.
        dt: duration of a pulse in second.
        ax: matplotlib axes; None (default): those of a new figure.

    Returns:
        The Figure.

    Raises:
        ModuleNotFoundError: matplotlib is missing.
        ValueError: an argument is not allowed, or there is more than one device.
    """
    v = np.asarray(voltages)
    if v.ndim != 1 or not v.size:
        raise ValueError(f"voltages has shape {v.shape}: must be (T,), one for each pulse, T ≥ 1")
    _, trajectory = device.simulate(state, v, dt)
    assert trajectory is not None
    g = np.concatenate([np.ravel(device.conductance(state)), _of_one(trajectory.conductances)])
    ax = axes(ax, 4.9, 3.6)
    count = np.arange(len(g))
    ax.plot(count, g, color="0.75", lw=1, zorder=0)
    kinds = ((v > 0, "0.1", "positive"), (v < 0, "white", "negative"), (v == 0, "0.75", "0 V"))
    for shown, face, label in kinds:
        if shown.any():
            at = 1 + np.flatnonzero(shown)
            ax.scatter(at, g[at], s=14, c=face, edgecolors="0.1", linewidths=0.7, label=label)
    ax.legend(frameon=False)
    low, high = np.abs(v).min(), np.abs(v).max()
    volts = f"{high:.3g} V" if low == high else f"{low:.3g} to {high:.3g} V"
    ax.set(xlabel="pulse", ylabel="conductance", title=f"pulses of {volts}")
    return with_unit(ax, "S")


def _sweep(
    device: Device,
    state: float,
    wave: Callable[[np.ndarray], np.ndarray],
    amplitude: float,
    frequency: float,
    cycles: int,
    points: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(voltage, current) of the cycles of a wave, of the phase in cycles."""
    check_entries("amplitude", amplitude, "> 0", "V")
    check_entries("frequency", frequency, "> 0", "Hz")
    check_count("cycles", cycles)
    check_count("points", points)
    v = amplitude * wave(np.arange(cycles * points + 1) % points / points)
    _, trajectory = device.simulate(state, v, 1 / (frequency * points))
    assert trajectory is not None
    return v, _of_one(trajectory.currents)


def _of_one(recorded: Any) -> np.ndarray:
    """(T,); raises ValueError if it is of more than one device."""
    recorded = np.asarray(recorded)
    if recorded[0].size != 1:
        raise ValueError(
            f"device and state have shape {recorded.shape[1:]}: a plot shows one memristor; "
            "choose one, by jax.tree.map if its parameters are arrays"
        )
    return recorded.reshape(len(recorded))


def _hertz(frequency: float) -> str:
    from matplotlib.ticker import EngFormatter

    return EngFormatter("Hz")(frequency)
