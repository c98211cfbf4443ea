"""Devices that wear out."""

import dataclasses
import math
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from .._check import check_choice
from .._pytree import register
from .base import Kind, NonIdeality, check_leaf

MODES = ("sudden", "gradual")


@register(
    "cycles", "p_lrs", "p_hrs", "stable_lrs", "stable_hrs", "cell_size", "temperature", "threshold"
)
@dataclasses.dataclass(frozen=True, eq=False)
class Endurance(NonIdeality):
    """Failure after a number of cycles, by Lammie et al., Semicond. Sci. Technol. 36 (2021).

    With T* = min(threshold/temperature, 1), or 0 without a temperature, the low- and the
    high-resistance state fail beyond x_th = p₀·exp(p₁·cell_size + p₂·T*) cycles, each with its
    own p. Then, x being the cycles and R₀ the resistance before,

    - ``"sudden"``: R is the stable resistance of the state;
    - ``"gradual"``: log₁₀ R = p₃(p₁·cell_size + p₂·T*)(log₁₀ x − log₁₀ x_th) + log₁₀ R₀, and no
      farther than to the stable resistance if one is given.

    A device whose target lies below (r_on + r_off)/2 is in the low-resistance state. The
    parameters are fits to one technology, so that there are no defaults.

    Args:
        cycles: x, ≥ 0.
        p_lrs: (p₀ > 0, p₁, p₂) of the low-resistance state, with p₃ for "gradual"; p₁ in 1/nm.
            None (default): it does not fail.
        p_hrs: the same of the high-resistance state.
        mode: ``"sudden"`` (default) or ``"gradual"``.
        stable_lrs: ohm, > 0; needed by "sudden" with p_lrs.
        stable_hrs: ohm, > 0; needed by "sudden" with p_hrs.
        cell_size: nm, > 0; default 10.
        temperature: kelvin, > 0; None (default): no dependence on it.
        threshold: kelvin above which heat matters, > 0; default 298.

    Raises:
        ValueError: a parameter is not allowed or missing.
    """

    cycles: Any
    p_lrs: tuple[Any, ...] | None = None
    p_hrs: tuple[Any, ...] | None = None
    mode: str = "sudden"
    stable_lrs: Any = None
    stable_hrs: Any = None
    cell_size: Any = 10.0
    temperature: Any = None
    threshold: Any = 298.0
    kind: ClassVar[Kind] = Kind.ENDURANCE

    def __post_init__(self) -> None:
        check_leaf("Endurance.cycles", self.cycles, "≥ 0")
        check_choice("Endurance.mode", self.mode, MODES)
        check_leaf("Endurance.cell_size", self.cell_size, "> 0", "nm")
        check_leaf("Endurance.threshold", self.threshold, "> 0", "kelvin")
        if self.temperature is not None:
            check_leaf("Endurance.temperature", self.temperature, "> 0", "kelvin")
        for state in ("lrs", "hrs"):
            self._check_state(state)

    def _check_state(self, state: str) -> None:
        p, stable = getattr(self, f"p_{state}"), getattr(self, f"stable_{state}")
        if stable is not None:
            check_leaf(f"Endurance.stable_{state}", stable, "> 0", "ohm")
        if p is None:
            return
        object.__setattr__(self, f"p_{state}", tuple(p))
        count = 4 if self.mode == "gradual" else 3
        if len(p) not in (count, 4):
            raise ValueError(
                f"Endurance.p_{state} = {p!r}: must be {count} numbers in mode {self.mode!r}"
            )
        for i, value in enumerate(p):
            check_leaf(f"Endurance.p_{state}[{i}]", value, "" if i else "> 0")
        if self.mode == "sudden" and stable is None:
            raise ValueError(
                f"Endurance.stable_{state} = None: must be the resistance in ohm after a sudden "
                "failure"
            )

    @property
    def random(self) -> bool:
        return False

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        # 1/split is the mean of r_on and r_off.
        low = target * (g_on + g_off) > 2 * g_on * g_off
        worn_low = self._worn(g, self.p_lrs, self.stable_lrs)
        worn_high = self._worn(g, self.p_hrs, self.stable_hrs)
        return jnp.where(low, worn_low, worn_high)

    def _worn(self, g: Array, p: tuple[Any, ...] | None, stable: Any) -> Array:
        """The conductances of devices in one state."""
        if p is None:
            return g
        heat = 0.0 if self.temperature is None else self.threshold / self.temperature
        power = p[1] * self.cell_size + p[2] * jnp.minimum(heat, 1.0)
        last = jnp.log10(p[0]) + power / math.log(10)
        # Fewer than one cycle are none.
        beyond = jnp.log10(jnp.maximum(self.cycles, 1e-30)) - last
        if self.mode == "sudden":
            return jnp.where(beyond > 0, 1 / stable, g)
        change = p[3] * power * jnp.where(beyond > 0, beyond, 0.0)
        worn = g * jnp.exp(-math.log(10) * change)
        if stable is None:
            return worn
        end = 1 / stable
        passed = jnp.where(change > 0, jnp.maximum(worn, end), jnp.minimum(worn, end))
        # A device that was beyond the end already does not come back to it.
        already = jnp.where(change > 0, g <= end, g >= end)
        return jnp.where(already, g, passed)
