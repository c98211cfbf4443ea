"""VTEAM: threshold adaptive, by voltage."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from .._check import check_choice
from .._pytree import register
from .common import Device
from .parameters import check_parameters
from .windows import check_window

_VOLTAGES = {"v_on": ("< 0", "V"), "v_off": ("> 0", "V")}
_BOUNDS = {
    "r_on": ("> 0", "ohm"),
    "r_off": ("> 0", "ohm"),
    "w_on": ("", "m"),
    "w_off": ("", "m"),
    "k_on": ("< 0", "m/s"),
    "k_off": ("> 0", "m/s"),
    "alpha_on": ("> 0", ""),
    "alpha_off": ("> 0", ""),
    **_VOLTAGES,
}


@register(*_BOUNDS, "window")
@dataclasses.dataclass(frozen=True)
class VTEAM(Device):
    """dw/dt = k·(v/v_threshold − 1)^α beyond a threshold, and 0 between the two; forward Euler.

    Kvatinsky, Ramadan, Friedman & Kolodny, IEEE Trans. Circuits Syst. II 62 (2015): with k_off,
    α_off for v > v_off > 0 and k_on, α_on for v < v_on < 0. The state w in metre runs from w_on to
    w_off, x = (w − w_on)/(w_off − w_on), and the resistance is, by its law,

    - "linear": r_on + (r_off − r_on)·x;
    - "exponential": r_on·exp(λ·x), λ = ln(r_off/r_on).

    A negative voltage lowers the resistance.

    Args:
        r_on: resistance at w_on in ohm, > 0.
        r_off: resistance at w_off in ohm, > r_on.
        w_on: lowest state in metre.
        w_off: highest state in metre, > w_on.
        k_on: speed towards w_on in m/s, < 0.
        k_off: speed towards w_off in m/s, > 0.
        alpha_on: exponent towards w_on, > 0.
        alpha_off: exponent towards w_off, > 0.
        v_on: threshold in volt, < 0.
        v_off: threshold in volt, > 0.
        window: factor of dw/dt, of x; None (default) is 1.
        law: "linear" (default) or "exponential".

    Raises:
        ValueError: a parameter is not allowed.
    """

    set_polarity: ClassVar[int] = -1
    ordered: ClassVar[tuple[tuple[str, str, str], ...]] = (*Device.ordered, ("w_on", "w_off", "m"))

    r_on: Any = 50.0
    r_off: Any = 1000.0
    w_on: Any = 0.0
    w_off: Any = 3e-9
    k_on: Any = -10.0
    k_off: Any = 5e-4
    alpha_on: Any = 3.0
    alpha_off: Any = 1.0
    v_on: Any = -0.2
    v_off: Any = 0.02
    window: Any = None
    law: str = "linear"

    def __post_init__(self) -> None:
        check_parameters(self, _BOUNDS)
        check_window("VTEAM.window", self.window)
        check_choice("VTEAM.law", self.law, ("linear", "exponential"))
        self._check()

    def _bounds(self) -> tuple[Any, Any]:
        return self.w_on, self.w_off

    def _conductance(self, state: Array) -> Array:
        x = self._share(state)
        if self.law == "linear":
            return 1 / (self.r_on + (self.r_off - self.r_on) * x)
        return jnp.exp(-x * jnp.log(self.r_off / self.r_on)) / self.r_on

    def _state_for(self, conductance: Array) -> Array:
        if self.law == "linear":
            x = (1 / conductance - self.r_on) / (self.r_off - self.r_on)
        else:
            x = -jnp.log(conductance * self.r_on) / jnp.log(self.r_off / self.r_on)
        return self.w_on + x * (self.w_off - self.w_on)

    def _current(self, state: Array, v: Array) -> Array:
        return v * self._conductance(state)

    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        rises = v > 0
        over = v / jnp.where(rises, self.v_off, self.v_on) - 1
        moves = over > 0
        # One power serves both directions; below the thresholds it is of 1, never of 0.
        power = jnp.where(moves, over, 1.0) ** jnp.where(rises, self.alpha_off, self.alpha_on)
        rate = jnp.where(rises, self.k_off, self.k_on) * power
        if self.window is not None:
            rate = rate * self.window(self._share(state), rises)
        return jnp.where(moves, rate * dt, 0.0)

    def _share(self, state: Array) -> Array:
        """x, the state between its bounds as a number between 0 and 1."""
        return (state - self.w_on) / (self.w_off - self.w_on)
