"""Conductances that move with time."""

import dataclasses
from typing import Any, ClassVar, Self

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import check_choice, check_number
from .._pytree import register
from .base import Kind, NonIdeality, check_leaf, hold, normal, positive
from .laws import check_law, checked_max, law_at

CLOCKS = ("first_read", "write")


@register("nu", "sigma", "t_0", "time", "g_max")
@dataclasses.dataclass(frozen=True, eq=False)
class Drift(NonIdeality):
    """g·(elapsed/t_0)^−ν, ν = |μ + σ_ν z|, z standard normal, drawn once for each device.

    The power law of phase-change memory (Nandakumar et al., ICECS 2019; Joshi et al., Nature
    Communications 11, 2020), and with no spread and the clock started at the write that of
    retention in Lammie et al., Semiconductor Science and Technology 36 (2021), who take
    ν = 0.1.

    Args:
        nu: μ, ≥ 0, a number or a law of u = g_target/g_max, see `laws`.
        sigma: σ_ν, the same; None (default): no spread, and no key is needed.
        t_0: second after the write at which g was read, > 0; default 1.
        time: second, ≥ 0; default 0.
        clock: where the time counts from. ``"first_read"`` (default): elapsed = time + t_0;
            ``"write"``: elapsed = time, and before t_0 nothing moves.
        g_max: siemens; None (default): g_on of the range.
        clip: whether g is held in the range of the device; default False.

    Raises:
        ValueError: a parameter is not allowed.
    """

    nu: Any = 0.1
    sigma: Any = None
    t_0: Any = 1.0
    time: Any = 0.0
    clock: str = "first_read"
    g_max: Any = None
    clip: bool = False
    kind: ClassVar[Kind] = Kind.RETENTION

    def __post_init__(self) -> None:
        check_law("Drift.nu", self.nu)
        if self.sigma is not None:
            check_law("Drift.sigma", self.sigma)
        check_leaf("Drift.t_0", self.t_0, "> 0", "second")
        check_leaf("Drift.time", self.time, "≥ 0", "second")
        check_choice("Drift.clock", self.clock, CLOCKS)
        checked_max("Drift.g_max", self.g_max)

    @property
    def random(self) -> bool:
        return self.sigma is not None

    def at_time(self, time: ArrayLike) -> Self:
        return dataclasses.replace(self, time=time)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        u = target / (g_on if self.g_max is None else self.g_max)
        nu = law_at(self.nu, u)
        if self.sigma is not None:
            nu = jnp.abs(nu + law_at(self.sigma, u) * normal(key, g))
        share = self.time / self.t_0
        decades = (
            jnp.log1p(share) if self.clock == "first_read" else jnp.log(hold(share, 1, jnp.inf))
        )
        drifted = g * jnp.exp(-nu * decades)
        return hold(drifted, g_off, g_on) if self.clip else drifted


@register("mean_slope", "sigma_slope", "sigma_offset", "time")
@dataclasses.dataclass(frozen=True, eq=False)
class Relaxation(NonIdeality):
    """g + a·ln t + (b·ln t + c)·z, z standard normal and the same at all times; t in second.

    A shift and a spread that do not depend on the state, as found in oxide memories. At time 0
    nothing has moved. Held at ≥ 0.

    Args:
        mean_slope: a, siemens.
        sigma_slope: b, siemens, ≥ 0.
        sigma_offset: c, siemens, ≥ 0.
        time: second since the write, 0 (default) or ≥ 1, where such fits start.
        clip: whether g is held in the range of the device; default False.

    Raises:
        ValueError: a parameter is not allowed.
    """

    mean_slope: Any
    sigma_slope: Any
    sigma_offset: Any
    time: Any = 0.0
    clip: bool = False
    kind: ClassVar[Kind] = Kind.RETENTION

    def __post_init__(self) -> None:
        check_leaf("Relaxation.mean_slope", self.mean_slope, "", "siemens")
        check_leaf("Relaxation.sigma_slope", self.sigma_slope, "≥ 0", "siemens")
        check_leaf("Relaxation.sigma_offset", self.sigma_offset, "≥ 0", "siemens")
        check_number(
            "Relaxation.time",
            self.time,
            lambda t: ((t == 0) | (t >= 1)) & np.isfinite(t),
            "must be 0 or ≥ 1, in second: the fit starts at 1 s",
        )

    def at_time(self, time: ArrayLike) -> Self:
        return dataclasses.replace(self, time=time)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        log = jnp.log(hold(self.time, 1.0, jnp.inf))
        spread = self.sigma_slope * log + self.sigma_offset
        moved = positive(g + self.mean_slope * log + spread * normal(key, g))
        moved = hold(moved, g_off, g_on) if self.clip else moved
        return jnp.where(self.time > 0, moved, g)
