"""A measured current–voltage curve."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from ..._check import as_number, check_number, concrete
from ..._pytree import register
from .common import same_dtype


@register("voltage", "shape")
@dataclasses.dataclass(frozen=True, eq=False)
class Tabulated:
    """I = g·f(U), f a monotone piecewise cubic through measured points; straight lines outside.

    The cubic is that of Fritsch & Carlson, SIAM J. Numer. Anal. 17 (1980): three-point slopes,
    shortened where their squares, over the secant's, sum to more than 9, which keeps f rising
    between rising points. Here each point takes the shorter of its two sides' slopes, so that
    the curve does not depend on the direction it is walked in. The second derivative jumps at
    the points.

    Args:
        voltage: U of the points in volt, (n ≥ 2,), strictly rising, 0 among them. For an odd law
            measured one way only, give the mirrored points too.
        shape: f at the points in volt: the measured current over the conductance it is for, (n,),
            strictly rising, 0 at 0 V.

    Raises:
        ValueError: the points are too few, do not meet, do not rise, or lack (0, 0).
    """

    voltage: Any
    shape: Any

    def __post_init__(self) -> None:
        for name in ("voltage", "shape"):
            value = as_number(getattr(self, name))
            object.__setattr__(self, name, value)
            if np.ndim(value) != 1 or np.size(value) < 2:
                raise ValueError(
                    f"Tabulated.{name} has shape {np.shape(value)}: must be (n,), n ≥ 2 points"
                )
            check_number(f"Tabulated.{name}", value, np.isfinite, "must be finite")
        if np.size(self.voltage) != np.size(self.shape):
            raise ValueError(
                f"Tabulated.voltage has {np.size(self.voltage)} points and Tabulated.shape "
                f"{np.size(self.shape)}: they must agree"
            )
        for name in ("voltage", "shape"):
            known = concrete(getattr(self, name))
            if known is not None and np.any(np.diff(known) <= 0):
                i = int(np.argmax(np.diff(known) <= 0))
                raise ValueError(
                    f"Tabulated.{name}[{i}] = {known[i]} V is followed by {known[i + 1]} V: must "
                    "rise from point to point; sort by voltage, drop or average what does not"
                )
        voltage, shape = concrete(self.voltage), concrete(self.shape)
        if voltage is not None and not np.any(voltage == 0):
            raise ValueError("Tabulated.voltage lacks 0: must hold the point of 0 V, where f = 0")
        if voltage is not None and shape is not None and np.any(shape[voltage == 0] != 0):
            raise ValueError(
                f"Tabulated.shape = {shape[voltage == 0][0]} V at 0 V: must be 0 there, for no "
                "current flows without a voltage; subtract the offset"
            )

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across the cell in volt."""
        siemens, u, x, y = same_dtype(g, voltage, self.voltage, self.shape)
        width = jnp.diff(x)
        secant = jnp.diff(y) / width
        slope = _slopes(width, secant)
        # The cubic from each point on: y + d·(slope + d·(square + d·cube)).
        square = (3 * secant - 2 * slope[:-1] - slope[1:]) / width
        cube = (slope[:-1] + slope[1:] - 2 * secant) / width**2
        # The line after the last point is a piece of its own, and the one before the first too.
        none = jnp.zeros(1, x.dtype)
        square, cube = (jnp.concatenate([none, a, none]) for a in (square, cube))
        point = jnp.searchsorted(x, u, side="right")
        start = jnp.maximum(point - 1, 0)
        d = u - x[start]
        return siemens * (y[start] + d * (slope[start] + d * (square[point] + d * cube[point])))


def _slopes(width: Array, secant: Array) -> Array:
    """f′ at the n points, of n − 1 widths and secants."""
    if len(width) == 1:
        return jnp.concatenate([secant, secant])
    left, right = width[:-1], width[1:]
    middle = (right * secant[:-1] + left * secant[1:]) / (left + right)

    def end(near, far, secant, next_secant):
        three = ((2 * near + far) * secant - near * next_secant) / (near + far)
        # A curve that flattens would end falling; the line beyond must rise.
        return jnp.maximum(three, 0.25 * secant)[None]

    first = end(width[0], width[1], secant[0], secant[1])
    last = end(width[-1], width[-2], secant[-1], secant[-2])
    slope = jnp.concatenate([first, middle, last])
    squares = jnp.square(slope[:-1] / secant) + jnp.square(slope[1:] / secant)
    short = jnp.where(squares > 9, 3 / jnp.sqrt(jnp.maximum(squares, 9.0)), 1.0)
    one = jnp.ones(1, width.dtype)
    sides = jnp.concatenate([one, short]), jnp.concatenate([short, one])
    return slope * jnp.minimum(*sides)
