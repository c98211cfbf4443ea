"""What several cell laws need: one dtype, and checks of their parameters."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from ..._check import check_number


def same_dtype(g: ArrayLike, voltage: ArrayLike, *parameters: Any) -> tuple[Any, ...]:
    """g, the voltage and the parameters (trees) as arrays of the dtype of the first two.

    Python numbers alone are what they are elsewhere in jax: float64 in 64-bit mode.
    """
    dtype = jnp.promote_types(jnp.result_type(g, voltage, 1.0), jnp.float32)
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), (g, voltage, *parameters))


def as_tuple(value: Any) -> Any:
    """Sequences and vectors as tuples, whose entries are leaves; numbers as they are."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    return tuple(value) if not isinstance(value, tuple) and np.ndim(value) == 1 else value


def check_positive(name: str, value: Any, unit: str) -> None:
    """Raises ValueError unless the value is finite and > 0; traced ones pass."""
    check_number(name, value, lambda x: (x > 0) & np.isfinite(x), allowed("> 0", unit))


def check_finite(name: str, value: Any, unit: str) -> None:
    """Raises ValueError unless the value is finite; traced ones pass."""
    check_number(name, value, np.isfinite, allowed("", unit))


def allowed(bound: str, unit: str) -> str:
    """How a message on a number of a unit goes on; unit "" is none."""
    return "must be finite" + (f" and {bound}" if bound else "") + (f", in {unit}" if unit else "")


def checked_range(name: str, value: Any) -> tuple[float, float]:
    """(lowest, highest) conductance of a fit, in siemens, as floats; raises ValueError."""
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 < low <= high < np.inf:
        raise ValueError(
            f"{name} = {value!r}: must be (lowest, highest) conductance that the law was fitted "
            "to, in siemens, 0 < lowest ≤ highest"
        )
    return low, high
