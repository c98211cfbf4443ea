"""What the data-driven ReRAM models of 2018 and 2021 share."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from .common import Device, bounded_sinh
from .parameters import check_coefficients, check_parameters

# Field to (bound, unit).
SHARED = {
    "r_on": ("> 0", "ohm"),
    "r_off": ("> 0", "ohm"),
    "a": ("> 0", ""),
    "b": ("> 0", "1/V"),
    "a_n": ("> 0", ""),
    "b_n": ("> 0", "1/V"),
}


class DataDriven(Device):
    """i = a·sinh(b·v)/R; the state is the resistance R in ohm."""

    a: Any
    b: Any
    a_n: Any
    b_n: Any
    r_p: Any
    r_n: Any

    def _bounds(self) -> tuple[Any, Any]:
        return self.r_on, self.r_off

    def _conductance(self, state: Array) -> Array:
        return 1 / state

    def _state_for(self, conductance: Array) -> Array:
        return 1 / conductance

    def _current(self, state: Array, v: Array) -> Array:
        a, b = self.a, self.b
        a = a if self.a_n is None else jnp.where(v > 0, a, self.a_n)
        b = b if self.b_n is None else jnp.where(v > 0, b, self.b_n)
        return a * bounded_sinh(b * v) / state

    def _way(self, state: Array, v: Array, rises: Array) -> Array:
        """Ohm from the resistance to its limit r(v), and 0 past the limit: there it stays."""
        limit = jnp.where(v > 0, _polynomial(self.r_p, v), _polynomial(self.r_n, v))
        return jnp.maximum(jnp.where(rises, limit - state, state - limit), 0.0)

    def _check_all(self, bounds: dict[str, tuple[str, str]]) -> None:
        """Raises ValueError unless the model's parameters are allowed."""
        none = {name for name in ("a_n", "b_n") if getattr(self, name) is None}
        check_parameters(self, {name: bounds[name] for name in bounds if name not in none})
        for name in ("r_p", "r_n"):
            check_coefficients(self, name, "ohm/V^m")
        self._check()


def _polynomial(coefficients: tuple[Any, ...], v: Array) -> Array:
    """Σ_m c_m·v^m."""
    value = jnp.zeros_like(v)
    for coefficient in reversed(coefficients):
        value = value * v + coefficient
    return value
