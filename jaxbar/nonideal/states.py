"""Conductances that can take only some values."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import as_number, check_choice, check_number, concrete, is_count
from .._pytree import register
from .base import Kind, NonIdeality, hold

SPACINGS = ("conductance", "resistance")


@register("levels")
@dataclasses.dataclass(frozen=True, eq=False)
class FiniteStates(NonIdeality):
    """The nearest of n states.

    The states are equidistant in conductance or in resistance between the ends of the range,
    which are states themselves, and the nearest is nearest in that quantity; or they are a
    measured list, and the nearest is nearest in conductance. Halfway goes up.

    The gradient with respect to g is straight through: 1 between the lowest and the highest
    state, 0 beyond. That with respect to the levels and the range is exact.

    Args:
        n: number of states, ≥ 2; None if levels are given.
        spacing: ``"conductance"`` (default) or ``"resistance"``, of n states; the latter needs
            g_off > 0.
        levels: (n,) siemens, ≥ 0, strictly rising; None (default) if n is given.

    Raises:
        ValueError: fewer than 2 states, both or neither of n and levels, levels that do not
            rise, or resistances without end.
    """

    n: int | None = None
    spacing: str = "conductance"
    levels: Any = None
    kind: ClassVar[Kind] = Kind.FINITE_STATES

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", as_number(self.levels))
        check_choice("FiniteStates.spacing", self.spacing, SPACINGS)
        if (self.n is None) == (self.levels is None):
            raise ValueError(
                f"FiniteStates.n = {self.n!r} and levels = {self.levels!r}: give one of them"
            )
        if self.levels is None:
            if not is_count(self.n) or self.n < 2:  # type: ignore[operator]
                raise ValueError(f"FiniteStates.n = {self.n!r}: must be an int ≥ 2")
            return
        if np.ndim(self.levels) != 1 or np.size(self.levels) < 2:
            raise ValueError(
                f"FiniteStates.levels has shape {np.shape(self.levels)}: must be (n,), n ≥ 2 states"
            )
        check_number(
            "FiniteStates.levels",
            self.levels,
            lambda x: (x >= 0) & np.isfinite(x),
            "must be finite and ≥ 0, in siemens",
        )
        known = concrete(self.levels)
        if known is not None and np.any(np.diff(known) <= 0):
            raise ValueError(f"FiniteStates.levels = {known}: must rise strictly")

    @property
    def random(self) -> bool:
        return False

    def _check_range(self, g_range: tuple[Any, Any]) -> None:
        low = concrete(g_range[0])
        if self.levels is None and self.spacing == "resistance" and np.any(low == 0):
            raise ValueError(
                "g_range[0] = 0 S: states equidistant in resistance need a finite r_off, g_off > 0"
            )

    def states(self, g_off: Array, g_on: Array) -> tuple[Array, Array]:
        """(n,) states, rising, and the (n − 1,) conductances halfway between them; siemens."""
        if self.levels is not None:
            return self.levels, 0.5 * (self.levels[:-1] + self.levels[1:])
        assert self.n is not None
        if self.spacing == "conductance":
            levels = jnp.linspace(g_off, g_on, self.n)
            return levels, 0.5 * (levels[:-1] + levels[1:])
        r = jnp.linspace(1 / g_off, 1 / g_on, self.n)
        # The ends are those of the range to the last bit.
        return jnp.stack([g_off, *(1 / r[1:-1]), g_on]), 2 / (r[:-1] + r[1:])

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        levels, halfway = self.states(g_off, g_on)
        nearest = levels[jnp.searchsorted(halfway, g, side="right")]
        inside = hold(g, *jax.lax.stop_gradient((levels[0], levels[-1])))
        # The bracket is an exact 0: added, it keeps n values n values.
        return nearest + (inside - jax.lax.stop_gradient(inside))
