"""The protocol of write-verify: which pulses, of which lines, and when a cell is done."""

import dataclasses
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import as_number, check_choice, check_count, check_number, concrete
from .._pytree import register
from ..devices.parameters import check_entries

ORDERS = ("tile", "row", "cell")
SCHEMES = ("V/2", "V/3", "none")
VOLTAGES = ("ideal", "network")

_LEAVES = {
    "amplitude": ("> 0", "V"),
    "max_amplitude": ("> 0", "V"),
    "ramp": ("≥ 0", "V a step"),
    "width": ("> 0", "s"),
    "tolerance": ("> 0", "parts of the target"),
    "least_change": ("≥ 0", "parts of the conductance"),
}


# May differ between pulses that raise a conductance (set) and those that lower it (reset).
_PAIRS = ("amplitude", "max_amplitude", "width")


@register(*_LEAVES)
@dataclasses.dataclass(frozen=True)
class WriteVerify:
    """Pulses that are raised where they change nothing, each read after, until a cell is done.

    A cell whose conductance is within the tolerance of its target gets no pulse. The others get
    one of the polarity that moves them towards it, which the device model names. Where such a
    pulse changes nothing, the next one is higher by `ramp`; where it has gone past the target,
    the next is of the other polarity, from `amplitude` again. The amplitude that a cell has come
    to is kept when it is written again.

    Amplitudes and widths are numbers, or pairs (set, reset): set raises the conductance. Amplitudes
    have no sign.

    Args:
        amplitude: of a cell's first pulse of a polarity in volt, > 0; default 1.2.
        max_amplitude: of any pulse in volt, ≥ amplitude; default 1.8.
        ramp: what is added after a pulse that changed nothing, in volt, ≥ 0; default 0.05.
        width: of a pulse in second, > 0; default 2e-7.
        tolerance: |g − target| ≤ tolerance·target is done, > 0 and < 1; default 0.05.
        max_pulses: that one cell gets at most, ≥ 1; default 1000.
        least_change: a pulse that moves a cell towards its target by less than this part of its
            conductance has changed nothing, ≥ 0; None (default): a 50th of the tolerance.
        patience: pulses of max_amplitude that do not move it, one after another, after which a
            cell is stuck, ≥ 1; default 3. What moves it by less than tolerance/max_pulses of its
            conductance, with which all pulses would not move it by the tolerance, does not.
        order: which cells are written until done before the next are, ``"row"`` (default): those
            of a word line, in parallel; ``"cell"``: one; ``"tile"``: all, with one pulse in each
            round and one read after it. The passes over the tile are repeated until a pass finds
            all cells done, or given up: later writes disturb earlier ones.
        scheme: voltages of the lines that are not selected. ``"V/2"`` (default) or ``"V/3"``, as
            of `Bias.write`; ``"none"``: cells with a switch of their own, which disturb no other
            and take pulses all at once, whatever the order.
        voltages: ``"ideal"`` (default): of perfect lines; ``"network"``: those that the wires
            leave to each cell, the cells being resistors at their present conductance. A solve
            of the tile for every pulse of a row or cell.

    Raises:
        ValueError: an argument is not allowed; the message names it.
    """

    amplitude: Any = 1.2
    max_amplitude: Any = 1.8
    ramp: Any = 0.05
    width: Any = 2e-7
    tolerance: Any = 0.05
    max_pulses: int = 1000
    least_change: Any = None
    patience: int = 3
    order: str = "row"
    scheme: str = "V/2"
    voltages: str = "ideal"

    def __post_init__(self) -> None:
        for name, (bound, unit) in _LEAVES.items():
            value = getattr(self, name)
            if name == "least_change" and value is None:
                continue
            if name in _PAIRS:
                value = as_number(value)
                object.__setattr__(self, name, value)
            shapes = ((), (2,)) if name in _PAIRS else ((),)
            if np.shape(value) not in shapes:
                allowed = "a number or a pair (set, reset)" if name in _PAIRS else "a number"
                raise ValueError(
                    f"WriteVerify.{name} has shape {np.shape(value)}: must be {allowed}; use "
                    "jax.vmap for many protocols"
                )
            check_entries(f"WriteVerify.{name}", value, bound, unit)
        check_number(
            "WriteVerify.tolerance",
            self.tolerance,
            lambda x: x < 1,
            "must be below 1: 0.05 is 5 % of the target",
        )
        first, last = concrete(self.amplitude), concrete(self.max_amplitude)
        if first is not None and last is not None and np.any(last < first):
            raise ValueError(
                f"WriteVerify.max_amplitude = {last} V: must be ≥ amplitude = {first} V"
            )
        for name in ("max_pulses", "patience"):
            check_count(f"WriteVerify.{name}", getattr(self, name))
        for name, words in (("order", ORDERS), ("scheme", SCHEMES), ("voltages", VOLTAGES)):
            check_choice(f"WriteVerify.{name}", getattr(self, name), words)
        if self.voltages == "network" and self.scheme == "none":
            raise ValueError(
                "WriteVerify.voltages = 'network' with scheme = 'none': cells that are written "
                "alone, each by a switch of its own, have no common network; use 'V/2' or 'V/3'"
            )

    def resolved(self, dtype: Any) -> Self:
        """With all numbers as arrays of a dtype, pairs as (2,), and no None."""
        least = self.tolerance / 50 if self.least_change is None else self.least_change
        new = jax.tree.map(
            lambda x: jnp.asarray(x, dtype), dataclasses.replace(self, least_change=least)
        )
        pairs = {name: jnp.broadcast_to(getattr(new, name), (2,)) for name in _PAIRS}
        return dataclasses.replace(new, **pairs)

    def of(self, name: str, up: Array) -> Array:
        """A number of the pulses that raise, or else lower, the conductance, once `resolved`."""
        pair = getattr(self, name)
        return jnp.where(up, pair[0], pair[1])
