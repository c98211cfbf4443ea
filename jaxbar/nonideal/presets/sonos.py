"""Charge-trapping memory."""

import dataclasses
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from ..._pytree import register
from ..base import Kind, NonIdeality, check_leaf, hold, normal, polynomial, positive
from ..laws import checked_max
from ..programming import checked_time

DAY = 86400.0
# All in nA; the largest current in use, and the one where the fitted shifts end being smooth.
I_MAX = 1600.0
I_SMOOTH = 1400.0
# σ = A(1 − e^{−I/B}) at 0, 1, … 5 days.
SPREAD = (
    (19.88665, 176.3115),
    (25.59102, 186.85544),
    (28.72753, 193.56834),
    (31.04318, 198.90332),
    (33.76214, 204.77023),
    (34.57909, 207.34309),
)
READ = (12.58037, 215.36557)
# Shift of the mean, polynomials of I with the lowest power first, at 1, … 5 days.
# fmt: off
SHIFT = (
    (6.83650e-01, 6.51250e-03, -4.03163e-04, 3.37944e-06, -1.87435e-08, 5.88902e-11,
     -1.07685e-13, 1.17751e-16, -7.60016e-20, 2.67255e-23, -3.94954e-27),
    (6.60925e-01, 8.60627e-03, -1.72936e-04, 7.44096e-07, -5.94866e-09, 2.36734e-11,
     -4.83740e-14, 5.56072e-17, -3.65397e-20, 1.28405e-23, -1.87450e-27),
    (1.15821e+00, 1.96116e-02, -4.70807e-04, 3.67510e-06, -2.08786e-08, 6.59752e-11,
     -1.19499e-13, 1.28435e-16, -8.11574e-20, 2.78802e-23, -4.02057e-27),
    (8.72216e-01, 1.70926e-02, -2.23370e-04, 1.57526e-06, -1.32779e-08, 5.08256e-11,
     -1.01251e-13, 1.14633e-16, -7.46124e-20, 2.60559e-23, -3.78724e-27),
    (1.15294e+00, 1.03149e-02, -6.05199e-05, 1.76086e-08, -6.46690e-09, 3.39044e-11,
     -7.53872e-14, 8.98185e-17, -6.00346e-20, 2.12615e-23, -3.11099e-27),
)
# fmt: on
TIMES = tuple(day * DAY for day in range(6))


def _centered(shift: tuple[float, ...]) -> tuple[float, ...]:
    """A polynomial of I as one of x in [−1, 1], whose terms float32 can add up."""
    return tuple(np.polynomial.Polynomial(shift).convert(domain=[0.0, I_MAX]).coef.tolist())


CENTERED = ((0.0,), *map(_centered, SHIFT))


def _saturating(a: Any, b: Any, current: Array) -> Array:
    return -a * jnp.expm1(-current / b)


@register("g_max", "scale")
@dataclasses.dataclass(frozen=True, eq=False)
class Sonos(NonIdeality):
    """40 nm SONOS cells, Agrawal et al., IEDM 2022: written, and moved in the days after.

    The mean current moves by a tabulated polynomial of the current aimed at, and spreads by
    σ = A(1 − e^{−I/B}) at the moved current; z is the same at all times. CrossSim's fits to
    their Fig. 10, for up to 1600 nA; here the shift beyond 1400 nA is the one at 1400 nA, where
    the polynomials, of degree 10, take off: from 39 to 246 nA after a day.

    Args:
        time: second, a whole number of days from 0 (default) to 5.
        g_max: siemens that stand for 1600 nA; None (default): g_on of the range.
        scale: on the spread, ≥ 0; default 1.

    Raises:
        ValueError: a time that was not measured, or a parameter that is not allowed.
    """

    time: float = 0.0
    g_max: Any = None
    scale: Any = 1.0
    kind: ClassVar[Kind] = Kind.PROGRAMMING

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", checked_time("Sonos", self.time, TIMES))
        checked_max("Sonos.g_max", self.g_max)
        check_leaf("Sonos.scale", self.scale, "≥ 0")

    def at_time(self, time: ArrayLike) -> Self:
        return dataclasses.replace(self, time=time)  # type: ignore[arg-type]

    def moments(self, target: Array, g_on: Any) -> tuple[Array, Array]:
        """Shift of the mean and σ in siemens, of targets in siemens."""
        day = TIMES.index(self.time)
        unit = (g_on if self.g_max is None else self.g_max) / I_MAX
        current = target / unit
        shift = polynomial(CENTERED[day], 2 * hold(current, 0.0, I_SMOOTH) / I_MAX - 1)
        sigma = _saturating(*SPREAD[day], positive(current + shift))
        return shift * unit, self.scale * sigma * unit

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        shift, sigma = self.moments(target, g_on)
        return positive(g + shift + sigma * normal(key, g))


@register("g_max", "scale")
@dataclasses.dataclass(frozen=True, eq=False)
class SonosReadNoise(NonIdeality):
    """Read noise of the same cells: σ = 12.58037(1 − e^{−I/215.36557}) nA, their Fig. 11b.

    Args:
        g_max: siemens that stand for 1600 nA; None (default): g_on of the range.
        scale: on the spread, ≥ 0; default 1.
    """

    g_max: Any = None
    scale: Any = 1.0
    kind: ClassVar[Kind] = Kind.READ

    def __post_init__(self) -> None:
        checked_max("SonosReadNoise.g_max", self.g_max)
        check_leaf("SonosReadNoise.scale", self.scale, "≥ 0")

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        unit = (g_on if self.g_max is None else self.g_max) / I_MAX
        return positive(g + self.scale * unit * _saturating(*READ, g / unit) * normal(key, g))


def sonos(time: float = 0.0) -> tuple[NonIdeality, ...]:
    """`Sonos` and `SonosReadNoise`: 40 nm charge-trapping cells, 0 to 16 µS (1600 nA).

    Args:
        time: second since the write, a whole number of days from 0 (default) to 5.
    """
    return Sonos(time), SonosReadNoise()
