"""What is left between the conductance aimed at and the one that was written."""

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import concrete
from .._pytree import register
from .base import Kind, NonIdeality, check_known, check_leaf, normal, polynomial, positive
from .laws import checked_max


@register("coefficients", "g_max", "scale")
@dataclasses.dataclass(frozen=True, eq=False)
class ProgrammingNoise(NonIdeality):
    """g + σ(g_target)·z, z standard normal, held at ≥ 0; σ is a polynomial of the target.

    σ = scale · g_max · max(0, Σ_k c_k u^k), u = g_target/g_max: the form in which published
    fits come, with coefficients in units of the g_max that they were fitted at.

    Args:
        coefficients: c_0, c_1, … without unit: (0.01,) is 1 % of g_max for all states, (0, 0.05)
            is 5 % of the target.
        g_max: siemens, > 0; None (default): g_on of the range, so that the noise scales with it.
        scale: ≥ 0; default 1.
        fitted: (lowest, highest) conductance in siemens that the fit holds for; a range beyond
            is an error. None (default): any.

    Raises:
        ValueError: a parameter is not allowed, or the range leaves the fitted one.
    """

    coefficients: Any
    g_max: Any = None
    scale: Any = 1.0
    fitted: tuple[float, float] | None = None
    kind: ClassVar[Kind] = Kind.PROGRAMMING

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, tuple):
            # A number is c_0; lists and vectors become tuples, whose entries are leaves.
            given = self.coefficients
            object.__setattr__(self, "coefficients", tuple(given) if np.ndim(given) else (given,))
        for i, c in enumerate(self.coefficients):
            check_leaf(f"ProgrammingNoise.coefficients[{i}]", c, "")
        if not self.coefficients:
            raise ValueError("ProgrammingNoise.coefficients = (): must hold at least one")
        checked_max("ProgrammingNoise.g_max", self.g_max)
        check_leaf("ProgrammingNoise.scale", self.scale, "≥ 0")

    def _check_range(self, g_range: tuple[Any, Any]) -> None:
        check_fitted(type(self).__name__, self.fitted, g_range)

    def sigma(self, target: Array, g_on: Any) -> Array:
        """σ in siemens of targets in siemens, for a device of highest conductance g_on."""
        return _sigma(self.coefficients, self.g_max, self.scale, target, g_on)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        return positive(g + self.sigma(target, g_on) * normal(key, g))


@register("table", "g_max", "scale")
@dataclasses.dataclass(frozen=True, eq=False)
class TimedProgrammingNoise(NonIdeality):
    """`ProgrammingNoise` with coefficients that were measured at some times after the write.

    The draws do not depend on the time: a cell that is above its target stays there.

    Args:
        times: second, of the measurements.
        table: the coefficients at each of them.
        time: one of the times; default the first.
        g_max, scale, fitted: as of `ProgrammingNoise`.

    Raises:
        ValueError: a parameter is not allowed, or the time is not one of the measured ones.
    """

    times: tuple[float, ...]
    table: tuple[tuple[Any, ...], ...]
    time: float | None = None
    g_max: Any = None
    scale: Any = 1.0
    fitted: tuple[float, float] | None = None
    kind: ClassVar[Kind] = Kind.PROGRAMMING

    def __post_init__(self) -> None:
        if len(self.times) != len(self.table) or not self.times:
            raise ValueError(
                f"TimedProgrammingNoise has {len(self.times)} times and {len(self.table)} rows of "
                "coefficients: must be as many, and at least one"
            )
        time = self.times[0] if self.time is None else self.time
        object.__setattr__(self, "time", checked_time("TimedProgrammingNoise", time, self.times))
        for i, row in enumerate(self.table):
            for k, c in enumerate(row):
                check_leaf(f"TimedProgrammingNoise.table[{i}][{k}]", c, "")
        checked_max("TimedProgrammingNoise.g_max", self.g_max)
        check_leaf("TimedProgrammingNoise.scale", self.scale, "≥ 0")

    def at_time(self, time: ArrayLike) -> Self:
        return dataclasses.replace(self, time=time)  # type: ignore[arg-type]

    def sigma(self, target: Array, g_on: Any) -> Array:
        """σ in siemens of targets in siemens, for a device of highest conductance g_on."""
        now = self.table[self.times.index(self.time)]  # type: ignore[arg-type]
        return _sigma(now, self.g_max, self.scale, target, g_on)

    def _check_range(self, g_range: tuple[Any, Any]) -> None:
        check_fitted(type(self).__name__, self.fitted, g_range)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        return positive(g + self.sigma(target, g_on) * normal(key, g))


def _sigma(coefficients: Any, g_max: Any, scale: Any, target: Array, g_on: Any) -> Array:
    """The σ of both classes."""
    unit = g_on if g_max is None else g_max
    return scale * unit * positive(polynomial(coefficients, target / unit))


def checked_time(name: str, time: Any, times: tuple[float, ...]) -> float:
    """The time as one of the measured ones; raises ValueError."""
    check_known(f"{name}.time", time)
    for measured in times:
        if np.isclose(time, measured, rtol=1e-6, atol=0):
            return measured
    near = ", ".join(f"{t:g}" for t in times)
    raise ValueError(f"{name}.time = {time} s was not measured: must be one of {near} s")


def check_fitted(name: str, fitted: tuple[float, float] | None, g_range: tuple[Any, Any]) -> None:
    """Raises ValueError where a range of conductances leaves the one of a fit by over 0.1 %."""
    low, high = (concrete(x) for x in g_range)
    if fitted is None or low is None or high is None:
        return
    if np.any(low < 0.999 * fitted[0]) or np.any(high > 1.001 * fitted[1]):
        raise ValueError(
            f"g_range = ({low}, {high}) S: {name} was fitted to {fitted[0]:g} to {fitted[1]:g} S; "
            "map the weights into this range"
        )
