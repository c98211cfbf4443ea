"""Checks of what a device is made of; traced values pass."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import as_number, check_number, concrete

_BOUNDS: dict[str, Callable[[np.ndarray], Any]] = {
    "": np.isfinite,
    "> 0": lambda x: x > 0,
    "< 0": lambda x: x < 0,
    "≥ 0": lambda x: x >= 0,
    "≤ 0": lambda x: x <= 0,
    "≥ 1": lambda x: x >= 1,
}


def check_parameters(owner: Any, bounds: dict[str, tuple[str, str]]) -> None:
    """Raises ValueError unless each named field is within its bound, entry by entry.

    Lists and tuples become numpy arrays, integers floats: derivatives exist of these alone.

    Args:
        owner: a frozen dataclass.
        bounds: field to (bound, unit), such as ("> 0", "ohm").
    """
    for name, (bound, unit) in bounds.items():
        value = _as_float(getattr(owner, name))
        object.__setattr__(owner, name, value)
        check_entries(f"{type(owner).__name__}.{name}", value, bound, unit)


def check_coefficients(owner: Any, name: str, unit: str) -> None:
    """Makes the field a tuple, lowest power first; ValueError unless its entries are finite."""
    value, full = getattr(owner, name), f"{type(owner).__name__}.{name}"
    # A tuple may hold arrays of different shapes, which have no ndim together.
    scalar = not isinstance(value, tuple | list) and np.ndim(value) == 0
    if scalar or len(value) == 0:
        raise ValueError(f"{full} = {value!r}: must be a tuple of coefficients, lowest power first")
    coefficients = tuple(_as_float(entry) for entry in value)
    object.__setattr__(owner, name, coefficients)
    for power, entry in enumerate(coefficients):
        check_entries(f"{full}[{power}]", entry, "", unit)


def check_entries(name: str, value: Any, bound: str, unit: str) -> None:
    """Raises ValueError, naming the first wrong entry, unless all are finite and in bound."""
    ok = lambda x: np.isfinite(x) & _BOUNDS[bound](x)
    allowed = "must be finite" + (f" and {bound}" if bound else "")
    allowed += f", in {unit}" if unit else ""
    known = concrete(value)
    if known is not None and known.ndim and jnp.issubdtype(known.dtype, jnp.number):
        wrong = ~ok(known)
        if not wrong.any():
            return
        where = _first(wrong)
        name, value = f"{name}{list(where)}", known[where]
    check_number(name, value, ok, allowed)


def check_shapes(device: Any) -> None:
    """Raises ValueError unless all parameters broadcast against each other."""
    named = jax.tree_util.tree_leaves_with_path(device)
    shapes = {jax.tree_util.keystr(path)[1:]: np.shape(leaf) for path, leaf in named}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        which = ", ".join(f"{name} {shape}" for name, shape in shapes.items() if shape)
        raise ValueError(
            f"{type(device).__name__}: parameters of shapes {which} must broadcast to one array "
            "of devices"
        ) from error


def check_order(device: Any, low: str, high: str, unit: str) -> None:
    """Raises ValueError unless the field low is below the field high, device by device."""
    below, above = concrete(getattr(device, low)), concrete(getattr(device, high))
    if below is None or above is None:
        return
    below, above = np.broadcast_arrays(below, above)
    wrong = ~(below < above)
    if wrong.any():
        where = _first(wrong)
        at = str(list(where)) if where else ""
        raise ValueError(
            f"{type(device).__name__}.{low}{at} = {below[where]}: must be below {high}{at} = "
            f"{above[where]}, in {unit}"
        )


def _as_float(value: Any) -> Any:
    """Lists and tuples as numpy arrays, integers as floats, all else as it is."""
    value = as_number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, np.ndarray | np.integer | Array) and np.issubdtype(
        value.dtype, np.integer
    ):
        return value.astype(float)
    return value


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    """Index of the first true entry."""
    return tuple(int(i) for i in np.argwhere(wrong)[0])
