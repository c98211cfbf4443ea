"""Who drives what: the voltages of a tile's lines, and which of them nobody drives."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import as_number, check_choice, check_number, concrete
from .._pytree import register
from .floating import Lines

UNSELECTED = ("grounded", "floating")
SCHEMES = ("V/2", "V/3", *UNSELECTED)


@register("word", "bit", "word_floating", "bit_floating")
@dataclasses.dataclass(frozen=True)
class Bias:
    """The state of all lines of a tile of M word lines and N bit lines; for B inputs, of each.

    Takes the place of the drives in `solve`. A floating line carries no net current, exactly;
    its voltage is solved for, and what is given for it is not used. Lines that are joined to no
    driver at all, not even through cells, are at 0 V on average.

    Args:
        word: voltages of the word lines in volt, (M,) or (B, M).
        bit: voltages of the bit lines' sense ends in volt, (N,) or (B, N).
        word_floating, bit_floating: bool, of the shapes of `word` and `bit`; None (default):
            every line is driven.

    Raises:
        ValueError: the shapes do not meet.
    """

    word: Any
    bit: Any
    word_floating: Any = None
    bit_floating: Any = None

    def __post_init__(self) -> None:
        for name in ("word", "bit"):
            value = as_number(getattr(self, name))
            floating = getattr(self, f"{name}_floating")
            object.__setattr__(self, name, value)
            if np.ndim(value) not in (1, 2):
                raise ValueError(
                    f"Bias.{name} has shape {np.shape(value)}: must hold one voltage for each "
                    "line, or (B, lines) for B inputs"
                )
            if floating is None:
                continue
            floating = as_number(floating)
            object.__setattr__(self, f"{name}_floating", floating)
            of_lines = np.shape(floating)[-1:] == np.shape(value)[-1:]
            if not (jnp.issubdtype(jnp.result_type(floating), jnp.bool_) and of_lines):
                raise ValueError(
                    f"Bias.{name}_floating of shape {np.shape(floating)} and type "
                    f"{jnp.result_type(floating)}: must be bools, one for each of the "
                    f"{np.shape(value)[-1]} lines, or None"
                )

    @classmethod
    def read(
        cls,
        shape: tuple[int, ...],
        voltage: ArrayLike,
        row: int | Array | None = None,
        column: int | Array | None = None,
        unselected: str = "grounded",
    ) -> "Bias":
        """Word lines at a voltage, bit lines sensed at 0 V.

        Args:
            shape: (M, N).
            voltage: in volt; a scalar, or with all rows read one for each, (M,).
            row: the only word line that is driven, from 0; None (default): all are.
            column: the only bit line that is sensed; None (default): all are.
            unselected: the other lines are ``"grounded"`` (default) or ``"floating"``.

        Raises:
            ValueError: an argument is not allowed; the message names it.
        """
        check_choice("unselected", unselected, UNSELECTED)
        word, bit = _selected("row", row, shape[0]), _selected("column", column, shape[1])
        volt = _voltage(voltage, shape[:1] if row is None else ())
        floats = unselected == "floating"
        return cls(
            jnp.where(word, volt, 0.0),
            jnp.zeros(shape[1], volt.dtype),
            ~word if floats else None,
            ~bit if floats else None,
        )

    @classmethod
    def write(
        cls,
        shape: tuple[int, ...],
        row: int | Array,
        column: int | Array,
        voltage: ArrayLike,
        scheme: str = "V/2",
    ) -> "Bias":
        """One cell written: its word line at the voltage, its bit line at 0 V.

        Args:
            shape: (M, N).
            row, column: of the cell, from 0.
            voltage: across it if there were no wires, in volt, of any sign.
            scheme: of the other lines. ``"V/2"`` (default): all at V/2, so that the cells of
                the same row or column see V/2 and the others nothing; ``"V/3"``: word lines at
                V/3 and bit lines at 2V/3, so that all others see ±V/3; ``"grounded"``: all at
                0 V; ``"floating"``: nobody drives them.

        Raises:
            ValueError: an argument is not allowed; the message names it.
        """
        check_choice("scheme", scheme, SCHEMES)
        word, bit = _selected("row", row, shape[0]), _selected("column", column, shape[1])
        volt = _voltage(voltage)
        shares = {"V/2": (1 / 2, 1 / 2), "V/3": (1 / 3, 2 / 3)}.get(scheme, (0.0, 0.0))
        floats = scheme == "floating"
        return cls(
            jnp.where(word, volt, shares[0] * volt),
            jnp.where(bit, 0.0, shares[1] * volt),
            ~word if floats else None,
            ~bit if floats else None,
        )

    def lines(self, count: int) -> Lines | None:
        """The floating lines of `count` inputs; None if all lines are driven."""
        if self.word_floating is None and self.bit_floating is None:
            return None

        def full(floating: Any, volts: Any) -> Array:
            lines = jnp.zeros((), bool) if floating is None else jnp.asarray(floating)
            return jnp.broadcast_to(lines, (count, np.shape(volts)[-1]))

        return Lines(full(self.word_floating, self.word), full(self.bit_floating, self.bit))


def _voltage(voltage: ArrayLike, lines: tuple[int, ...] = ()) -> Array:
    voltage = as_number(voltage)
    check_number("voltage", voltage, np.isfinite, "V: must be finite")
    if np.shape(voltage) not in ((), lines):
        allowed = f"a scalar or {lines}, one for each word line" if lines else "a scalar"
        raise ValueError(f"voltage has shape {np.shape(voltage)}: must be {allowed}, in volt")
    return jnp.asarray(voltage * 1.0)


def _selected(name: str, index: int | Array | None, lines: int) -> Array:
    """Whether each of the lines is the one of an index; all are if it is None."""
    if index is None:
        return jnp.ones(lines, bool)
    known = concrete(index)
    if known is not None and (known.ndim or known.dtype.kind not in "iu" or not 0 <= known < lines):
        raise ValueError(f"{name} = {index!r}: must be an int in [0, {lines - 1}]")
    return jnp.arange(lines) == index
