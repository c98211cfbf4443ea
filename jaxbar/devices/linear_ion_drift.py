"""Linear ion drift."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from .._pytree import register
from .common import Device
from .parameters import check_parameters
from .windows import Joglekar, check_window


@register("r_on", "r_off", "u_v", "d", "v_pos", "v_neg", "window")
@dataclasses.dataclass(frozen=True)
class LinearIonDrift(Device):
    """R = r_on·x + r_off·(1 − x), dx/dt = u_v·(r_on/d²)·i·f(x); forward Euler.

    Strukov, Snider, Stewart & Williams, Nature 453 (2008), whose constants the defaults are; the
    state x in [0, 1] is the doped share of the film. The paper has no thresholds: v_pos = v_neg
    = 0 is its model. A positive voltage lowers the resistance.

    In float32, 1 − x loses digits near x = 1: a conductance near 1/r_on is good to about
    (r_off/r_on)·6e-8.

    Args:
        r_on: resistance of the doped film in ohm, > 0.
        r_off: resistance of the undoped film in ohm, > r_on.
        u_v: mobility of the dopants in m²/(V·s), > 0.
        d: thickness of the film in metre, > 0.
        v_pos: threshold in volt, ≥ 0: lower positive voltages move nothing.
        v_neg: threshold in volt, ≤ 0.
        window: f; default Joglekar(), None is 1.

    Raises:
        ValueError: a parameter is not allowed.
    """

    set_polarity: ClassVar[int] = 1

    r_on: Any = 100.0
    r_off: Any = 16e3
    u_v: Any = 1e-14
    d: Any = 10e-9
    v_pos: Any = 0.55
    v_neg: Any = -0.55
    window: Any = dataclasses.field(default_factory=Joglekar)

    def __post_init__(self) -> None:
        bounds = {"r_on": ("> 0", "ohm"), "r_off": ("> 0", "ohm"), "u_v": ("> 0", "m²/(V·s)")}
        bounds |= {"d": ("> 0", "m"), "v_pos": ("≥ 0", "V"), "v_neg": ("≤ 0", "V")}
        check_parameters(self, bounds)
        check_window("LinearIonDrift.window", self.window)
        self._check()

    def _bounds(self) -> tuple[Any, Any]:
        one = jnp.ones_like(self.r_on)
        return 0 * one, one

    def _conductance(self, state: Array) -> Array:
        return 1 / (self.r_on * state + self.r_off * (1 - state))

    def _state_for(self, conductance: Array) -> Array:
        return (self.r_off - 1 / conductance) / (self.r_off - self.r_on)

    def _current(self, state: Array, v: Array) -> Array:
        return v * self._conductance(state)

    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        # Factors of about 1: u_v and d² are near the end of float32 when multiplied.
        rate = (self.u_v / self.d) * (self.r_on / self.d) * self._current(state, v)
        if self.window is not None:
            rate = rate * self.window(state, v > 0)
        return jnp.where((v >= self.v_pos) | (v <= self.v_neg), rate * dt, 0.0)
