"""The resistances of a tile's lines."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._check import concrete
from .._pytree import register


@register("source", "word", "bit", "sense")
@dataclasses.dataclass(frozen=True)
class Wires:
    """Line resistances of one tile, in ohm; each a scalar, and any of them may be 0.

    A pytree: every resistance can be differentiated, traced or vmapped.

    Args:
        source: driver to the first cell of a word line.
        word: between neighbouring cells of a word line.
        bit: between neighbouring cells of a bit line.
        sense: last cell of a bit line to the sense node.

    A circuit drawn with a full segment before the first and after the last cell
    (badcrossbar, CrossSim, most SPICE decks) is
    ``Wires(source=r_source + r, word=r, bit=r, sense=r_sense + r)``; MemTorch's is
    ``Wires(source=R_source, word=R_line, bit=R_line, sense=R_source)``.

    Raises:
        ValueError: a resistance is negative, infinite or NaN.
    """

    source: Any = 0.0
    word: Any = 0.0
    bit: Any = 0.0
    sense: Any = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and not 0.0 <= value < math.inf:
                raise ValueError(
                    f"Wires.{field.name} = {value} ohm: a line resistance must be finite and ≥ 0 "
                    "(use 0 for a perfect wire; an open line is a row or column of g = 0)"
                )


def checked_wires(wires: Wires, dtype: jnp.dtype) -> Wires:
    """The wires as scalars of a dtype.

    Raises:
        ValueError: a resistance is negative, not finite or not a scalar.
    """
    if not isinstance(wires, Wires):
        raise ValueError(f"wires = {wires!r}: must be a jaxbar.Wires(source, word, bit, sense)")
    for field in dataclasses.fields(wires):
        value = getattr(wires, field.name)
        if np.shape(value) != ():
            raise ValueError(
                f"wires.{field.name} has shape {np.shape(value)}: one tile takes a scalar, in "
                "ohm; use jax.vmap for many wires"
            )
        known = concrete(value)
        if known is not None and not 0 <= known < np.inf:
            raise ValueError(
                f"wires.{field.name} = {known} ohm: a line resistance must be finite and ≥ 0"
            )
    return jax.tree.map(lambda r: jnp.asarray(r, dtype), wires)
