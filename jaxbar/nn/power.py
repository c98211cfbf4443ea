"""What reads of a crossbar model cost."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from .. import crossbar
from .linear import Linear, ProgrammedLinear, observer, warn_unconverged

Layer = Linear | ProgrammedLinear


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Power:
    """The power of a layer's tiles while they are read, the mean over the inputs.

    With source lines, of the two reads that inputs of both signs take.

    Attributes:
        cells: of all cells of each tile (arrays, tiles down, tiles across), watt.
        wires: of the lines of each tile, watt.
    """

    cells: Array
    wires: Array

    @property
    def tiles(self) -> Array:
        """What the drivers deliver to each tile (arrays, tiles down, tiles across), watt."""
        return self.cells + self.wires

    @property
    def total(self) -> Array:
        """What the drivers deliver to the layer, watt."""
        return jnp.sum(self.tiles)

    def energy(self, read_time: Any) -> Array:
        """Joule for the product of one input, for the time that a read takes in second."""
        return self.total * read_time


def power(model: nnx.Module, *args: Any, **kwargs: Any) -> dict[str, Power]:
    """The power of every crossbar layer in one pass ``model(*args, **kwargs)``.

    From the solved network: Σ v·i of the drivers, as what cells and wires dissipate. Converters
    and everything digital is not in it. Every input of every tile is solved for. For use under
    `jax.jit` and `jax.grad` too.

    Args:
        model: from `patch_model`, or from `program`.
        *args, **kwargs: of the model's call, with a batch of typical inputs.

    Returns:
        `Power` by the layers' names; of a layer that is used several times, the mean over all
        inputs that it sees.

    Raises:
        ValueError: the model ran no crossbar layer, or a layer saw no input.
    """
    seen: dict[int, tuple[Layer, list[Array]]] = {}

    def note(layer: Layer, x: Array) -> Array:
        seen.setdefault(id(layer), (layer, []))[1].append(x)
        return layer.product(x)

    token = observer.set(note)
    try:
        model(*args, **kwargs)
    finally:
        observer.reset(token)
    if not seen:
        raise ValueError(
            f"{type(model).__name__} ran no crossbar layer: use patch_model before power"
        )
    return {layer.path: _power(layer, jnp.concatenate(x)) for layer, x in seen.values()}


def _power(layer: Layer, x: Array) -> Power:
    if not x.shape[0]:
        raise ValueError(f"{layer.path}: x holds no inputs: a mean needs at least one")
    parts, converged = crossbar.power(x, layer.conductances(), layer.calibration, layer.config)
    warn_unconverged(converged, layer.path)
    return Power(*parts)
