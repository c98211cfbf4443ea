"""Noise of each reading."""

import dataclasses
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import check_choice, concrete
from .._pytree import register
from .base import Kind, NonIdeality, check_leaf, normal, positive
from .laws import check_law, checked_max, law_at

SCALES = ("value", "range")


@register("sigma")
@dataclasses.dataclass(frozen=True, eq=False)
class ReadNoise(NonIdeality):
    """g·(1 + σz), or g + σ·(g_on − g_off)·z, z standard normal, held at ≥ 0.

    Args:
        sigma: σ, ≥ 0.
        scale: ``"value"`` (default), or ``"range"`` for the second form.
    """

    sigma: Any
    scale: str = "value"
    kind: ClassVar[Kind] = Kind.READ

    def __post_init__(self) -> None:
        check_leaf("ReadNoise.sigma", self.sigma, "≥ 0")
        check_choice("ReadNoise.scale", self.scale, SCALES)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        unit = g if self.scale == "value" else g_on - g_off
        return positive(g + self.sigma * unit * normal(key, g))


@register("q", "t_0", "t_read", "time", "g_max")
@dataclasses.dataclass(frozen=True, eq=False)
class FlickerNoise(NonIdeality):
    """1/f noise: g + g·Q(u)·√ln((time + t_0 + t_read)/(2·t_read))·z, held at ≥ 0.

    Of Nandakumar et al., ICECS 2019; u = g_target/g_max.

    Args:
        q: Q, ≥ 0, a number or a law of u, see `laws`.
        t_0: second between the write and time 0, > t_read.
        t_read: duration of a reading in second, > 0.
        time: second since t_0, ≥ 0; default 0.
        g_max: siemens; None (default): g_on of the range.
    """

    q: Any
    t_0: Any
    t_read: Any
    time: Any = 0.0
    g_max: Any = None
    kind: ClassVar[Kind] = Kind.READ

    def __post_init__(self) -> None:
        check_law("FlickerNoise.q", self.q)
        for name in ("t_0", "t_read"):
            check_leaf(f"FlickerNoise.{name}", getattr(self, name), "> 0", "second")
        t_0, t_read = concrete(self.t_0), concrete(self.t_read)
        if t_0 is not None and t_read is not None and np.any(t_0 <= t_read):
            raise ValueError(
                f"FlickerNoise.t_0 = {t_0} s: must be > t_read = {t_read} s, the first reading "
                "ends after the write"
            )
        check_leaf("FlickerNoise.time", self.time, "≥ 0", "second")
        checked_max("FlickerNoise.g_max", self.g_max)

    def at_time(self, time: ArrayLike) -> Self:
        return dataclasses.replace(self, time=time)

    def sigma(self, target: Array, g_on: Any) -> Array:
        """σ/g of a reading."""
        u = target / (g_on if self.g_max is None else self.g_max)
        octaves = jnp.log((self.time + self.t_0 + self.t_read) / (2 * self.t_read))
        return law_at(self.q, u) * jnp.sqrt(octaves)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        return positive(g + g * self.sigma(target, g_on) * normal(key, g))
