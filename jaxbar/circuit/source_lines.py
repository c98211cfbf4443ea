"""The lines of a tile whose current does not come along its word lines."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import as_number, check_choice, check_number
from .._pytree import register

DRIVERS = ("top", "bottom")


@register("source", "line", "bit", "sense")
@dataclasses.dataclass(frozen=True)
class SourceLines:
    """Resistances of a tile with a source line beside each bit line, in ohm; any may be 0.

    The separate-source topology: current flows from the driver along the source line of a
    column, through its cells, and along its bit line to the sense node. Word lines are gates
    and carry no current: the input of a row scales the conductance of its cells, so a column's
    drops depend on that column alone. See `solve_source_lines`.

    A pytree: every resistance can be differentiated, traced or vmapped.

    Args:
        source: driver to the nearest cell of a source line.
        line: between neighbouring cells of a source line.
        bit: between neighbouring cells of a bit line.
        sense: last cell of a bit line to the sense node.
        driver: end of the source lines that is driven: ``"top"`` (default), at the first row,
            so that all cells have as much line in series, or ``"bottom"``, where the bit lines
            are sensed.

    Raises:
        ValueError: a resistance is negative or not finite, or no scalar.
    """

    source: Any = 0.0
    line: Any = 0.0
    bit: Any = 0.0
    sense: Any = 0.0
    driver: str = "top"

    # Conjugate gradients alone take these lines, as wires by segment.
    plain = False

    def __post_init__(self) -> None:
        check_choice("SourceLines.driver", self.driver, DRIVERS)
        for name in ("source", "line", "bit", "sense"):
            value = as_number(getattr(self, name))
            object.__setattr__(self, name, value)
            if isinstance(value, int | float | np.ndarray | np.number | Array):
                check_number(f"SourceLines.{name}", value, _is_resistance, _ALLOWED)


_ALLOWED = "ohm: a line resistance must be finite and ≥ 0 (use 0 for a perfect wire)"


def _is_resistance(ohm: np.ndarray) -> np.ndarray:
    return (ohm >= 0) & np.isfinite(ohm)


def checked_source_lines(lines: SourceLines, dtype: jnp.dtype) -> SourceLines:
    """The lines of one tile in a dtype.

    Raises:
        ValueError: a resistance is no scalar.
    """
    if not isinstance(lines, SourceLines):
        raise ValueError(
            f"wires = {lines!r}: must be a jaxbar.SourceLines(source, line, bit, sense)"
        )
    for name in ("source", "line", "bit", "sense"):
        ohm = getattr(lines, name)
        if np.shape(ohm):
            raise ValueError(
                f"SourceLines.{name} has shape {np.shape(ohm)}: a tile takes one resistance, in "
                "ohm; use jax.vmap for many"
            )
    return jax.tree.map(lambda ohm: jnp.asarray(ohm, dtype), lines)
