"""The cell that is a resistor."""

import dataclasses

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Ohmic:
    """I = g·U."""

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across the cell in volt."""
        return jnp.multiply(g, voltage)
