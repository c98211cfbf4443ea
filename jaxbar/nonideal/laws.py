"""How a parameter of a device depends on its state, u = g/g_max.

A `Law` has one method, ``at(u)``; where a law is asked for, a number is one that does not depend
on u. In fits to measured devices these replace tables.
"""

import abc
import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from .._pytree import register
from .base import check_leaf, hold, polynomial

# ln u of an open cell is taken here.
LOWEST = 1e-7


class Law(abc.ABC):
    """A parameter as a function of u: the base of the laws, each a frozen pytree."""

    @abc.abstractmethod
    def at(self, u: Array) -> Array:
        """The parameter at u ≥ 0."""


@register("slope", "offset", "low", "high")
@dataclasses.dataclass(frozen=True)
class LogLinear(Law):
    """slope·ln u + offset, held between low and high."""

    slope: Any
    offset: Any
    low: Any
    high: Any

    def at(self, u: Array) -> Array:
        return hold(self.slope * jnp.log(jnp.maximum(u, LOWEST)) + self.offset, self.low, self.high)


@register("factor", "power", "high")
@dataclasses.dataclass(frozen=True)
class PowerLaw(Law):
    """factor·u^power, held at ≤ high."""

    factor: Any
    power: Any
    high: Any

    def at(self, u: Array) -> Array:
        return hold(self.factor * jnp.maximum(u, LOWEST) ** self.power, -jnp.inf, self.high)


@register("split", "below", "coefficients")
@dataclasses.dataclass(frozen=True)
class Branch(Law):
    """Another law below a split of u, and a polynomial from there on, lowest power first."""

    split: Any
    below: LogLinear
    coefficients: tuple[Any, ...]

    def at(self, u: Array) -> Array:
        return jnp.where(u < self.split, self.below.at(u), polynomial(self.coefficients, u))


def law_at(law: Any, u: Array) -> Any:
    """The value of a law or number at u."""
    return law.at(u) if isinstance(law, Law) else law


def check_law(name: str, law: Any) -> None:
    """Raises ValueError unless it is a law, or a number ≥ 0."""
    if not isinstance(law, Law):
        check_leaf(name, law, "≥ 0")


def checked_max(name: str, g_max: Any) -> None:
    """Raises ValueError unless g_max is None or > 0."""
    if g_max is not None:
        check_leaf(name, g_max, "> 0", "siemens")
