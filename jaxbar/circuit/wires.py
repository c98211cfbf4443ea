"""The resistances of a tile's lines."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._check import as_number, concrete
from .._pytree import register


@register("source", "word", "bit", "sense", "source_far", "sense_far")
@dataclasses.dataclass(frozen=True)
class Wires:
    """Line resistances of one tile, in ohm; any of them may be 0.

    A pytree: every resistance can be differentiated, traced or vmapped. Four scalars, the
    usual case, take the fast methods; arrays and far ends take conjugate gradients.

    Args:
        source: driver to the first cell of a word line; a scalar, or (M,) by word line.
        word: between neighbouring cells of a word line; a scalar, (N − 1,) by segment, the
            same on all lines, or (M, N − 1).
        bit: between neighbouring cells of a bit line; a scalar, (M − 1,) by segment, the same
            on all lines, or (M − 1, N).
        sense: last cell of a bit line to the sense node; a scalar, or (N,) by bit line.
        source_far: a second driver of the same voltage to the last cell of a word line; a
            scalar or (M,). None (default) or inf: that end is open.
        sense_far: first cell of a bit line to a second sense node of the same voltage; a
            scalar or (N,). None (default) or inf: that end is open.

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
    source_far: Any = None
    sense_far: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = as_number(getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            _check(field.name, value)

    @property
    def plain(self) -> bool:
        """Whether it is four scalars."""
        ends = (self.source_far, self.sense_far)
        return ends == (None, None) and all(np.ndim(r) == 0 for r in jax.tree.leaves(self))


def _check(name: str, value: Any) -> None:
    far = name.endswith("_far")
    known = concrete(value)
    # Placeholders of jax stand in for numbers; what is no number at all fails in the solve.
    if known is None or not jnp.issubdtype(known.dtype, jnp.number):
        return
    wrong = ~(known >= 0) | (np.isinf(known) & (not far))
    if wrong.any():
        at = list(map(int, np.argwhere(wrong)[0])) if known.ndim else ""
        raise ValueError(
            f"Wires.{name}{at} = {known[wrong][0] if known.ndim else known} ohm: a line "
            "resistance must be finite and ≥ 0 (use 0 for a perfect wire; an open line is a row "
            "or column of g = 0" + (", and an open far end None)" if far else ")")
        )


def checked_wires(wires: Wires, dtype: jnp.dtype, shape: tuple[int, ...]) -> Wires:
    """The wires of a tile (M, N) in a dtype: scalars, or if not `plain` as `by_segment`.

    Raises:
        ValueError: a resistance is negative, not finite or of a shape that does not fit.
    """
    if not isinstance(wires, Wires):
        raise ValueError(
            f"wires = {wires!r}: must be a jaxbar.Wires(source, word, bit, sense); a tile with "
            "source lines takes jaxbar.solve_source_lines"
        )
    m, n = shape
    for name, allowed in _shapes(shape).items():
        value = getattr(wires, name)
        if value is not None and np.shape(value) not in ((), *allowed):
            choices = " or ".join(map(str, ("a scalar", *allowed)))
            raise ValueError(
                f"wires.{name} has shape {np.shape(value)}: a tile of {m}×{n} takes {choices}, in "
                "ohm; use jax.vmap for many wires"
            )
        _check(name, value)
    wires = jax.tree.map(lambda r: jnp.asarray(r, dtype), wires)
    return wires if wires.plain else by_segment(wires, shape)


def by_segment(wires: Wires, shape: tuple[int, ...]) -> Wires:
    """Source (M,), word (M, N − 1), bit (M − 1, N), sense (N,), far ends (M,), (N,) or None."""
    full = {}
    for name, (whole, *_) in _shapes(shape).items():
        value = getattr(wires, name)
        if value is not None:
            value = jnp.asarray(value)
            lines = value[:, None] if name == "bit" and value.ndim == 1 else value
            full[name] = jnp.broadcast_to(lines, whole)
    return Wires(**full)


def _shapes(shape: tuple[int, ...]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """By resistance, the shape of all its segments and the short forms."""
    m, n = shape
    return {
        "source": ((m,),),
        "word": ((m, n - 1), (n - 1,)),
        "bit": ((m - 1, n), (m - 1,)),
        "sense": ((n,),),
        "source_far": ((m,),),
        "sense_far": ((n,),),
    }
