"""Checks of arguments that run before anything is compiled."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike


def concrete(value: Any) -> np.ndarray | None:
    """The value as a numpy array, or None while it is traced (jit, vmap, grad)."""
    if value is None or isinstance(value, jax.core.Tracer):
        return None
    try:
        return np.asarray(value)
    except (TypeError, ValueError, jax.errors.JAXTypeError):
        return None


def as_number(value: Any) -> Any:
    """Lists and tuples as numpy arrays; arrays, numbers and None as they are."""
    return np.asarray(value) if isinstance(value, list | tuple) else value


def real_dtype(*values: ArrayLike) -> jnp.dtype:
    """float64 if any value is, with 64-bit mode on; else float32 (also for integers)."""
    return jnp.promote_types(jnp.result_type(*values, jnp.float32), jnp.float32)


def check_conductance(g: ArrayLike, name: str = "g") -> None:
    """Raises ValueError unless g is a matrix (M, N), M and N ≥ 1, finite and ≥ 0."""
    shape = np.shape(g)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{name} has shape {shape}: one tile takes a matrix (M word lines, N bit lines), "
            "both ≥ 1; use jax.vmap for many tiles"
        )
    if np.issubdtype(jnp.result_type(g), np.complexfloating):
        raise ValueError(f"{name} is complex: a conductance is a real number in siemens")
    values = concrete(g)
    if values is None:
        return
    wrong = ~(values >= 0) | np.isinf(values)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name}{list(where)} = {values[where]} S: a conductance must be finite and ≥ 0 "
            "(0 is an open cell; for a short use a large finite value)"
        )


def is_count(value: Any) -> bool:
    """Whether the value is a whole number ≥ 1; True and False are not."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and bool(value >= 1)


def check_count(name: str, value: Any, allowed: str = "an int ≥ 1") -> None:
    """Raises ValueError unless value is a whole number ≥ 1."""
    if not is_count(value):
        raise ValueError(f"{name} = {value!r}: must be {allowed}")


def check_number(
    name: str, value: Any, ok: Callable[[np.ndarray], np.ndarray | bool], allowed: str
) -> None:
    """Raises ValueError unless every entry of a real number or array passes; traced ones do.

    Args:
        name: of the argument.
        value: what the user gave.
        ok: true where an entry is allowed.
        allowed: continues ``{name} = {value}`` in the message, from the unit on.
    """
    if isinstance(value, jax.core.Tracer):
        return
    known = concrete(value)
    # Numbers alone: bool, text and None are none.
    if known is None or not jnp.issubdtype(known.dtype, jnp.number):
        raise ValueError(f"{name} = {value!r}: must be a number")
    good = np.broadcast_to(ok(known), known.shape)
    if not good.all():
        joint = " " if allowed.startswith(("A:", "ohm:", "V:")) else ": "
        if known.ndim:
            where = tuple(int(i) for i in np.argwhere(~good)[0])
            raise ValueError(f"{name}{list(where)} = {known[where]}{joint}{allowed}")
        raise ValueError(f"{name} = {value}{joint}{allowed}")


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Raises ValueError, naming the nearest allowed word, unless value is one of them."""
    allowed = tuple(allowed)
    if value in allowed:
        return
    near = difflib.get_close_matches(str(value), allowed, 1, cutoff=0.5)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(repr, allowed))}{hint}")
