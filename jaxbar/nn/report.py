"""What programming a model has come to."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from .. import chip, mapping
from ..programming import Status
from .linear import ProgrammedLinear


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Written:
    """How the used cells of a layer were written.

    Attributes:
        cells: how many carry weights.
        pulses: that they got in all; None where no device was programmed, as the next three.
        stuck: cells that pulses do not move.
        out_of_range: cells whose target no device holds.
        limit: cells that have used all their pulses.
        error: root mean square of conductance less target, in siemens.
        worst: the largest such difference, in siemens.
        snr: Σ w² / Σ (w' − w)² in decibel, of weights w and what the cells make of them, w';
            inf where they are the same.
    """

    cells: int = dataclasses.field(metadata={"static": True})
    pulses: Array | None
    stuck: Array | None
    out_of_range: Array | None
    limit: Array | None
    error: Array
    worst: Array
    snr: Array


def written(model: nnx.Module) -> dict[str, Written]:
    """Of a programmed model: what was aimed at against what is there now, layer by layer.

    Args:
        model: from `program`, or `at_time`.

    Returns:
        `Written` by the layers' names.

    Raises:
        ValueError: the model holds no programmed layer.
    """
    layers = [node for _, node in nnx.iter_graph(model) if isinstance(node, ProgrammedLinear)]
    if not layers:
        raise ValueError(f"{type(model).__name__} holds no programmed layer: use program first")
    return {layer.path: _written(layer) for layer in layers}


def _written(layer: ProgrammedLinear) -> Written:
    new, config = layer.chip.get_value(), layer.config
    used = jnp.broadcast_to(chip.used_cells(layer.shape, config), new.target.shape)
    off = jnp.where(used, new.conductance - new.target, 0.0)
    count = new.target.shape[0] * math.prod(mapping.array_shape(layer.shape, config))
    middle = mapping.mid_conductance(config)
    target, now = (
        mapping.signed(jnp.where(used, g, middle), middle, config)
        for g in (new.target, new.conductance)
    )
    noise = jnp.sum((now - target) ** 2)
    snr = 10 * jnp.log10(jnp.sum(target**2) / noise)

    def ended(status: Status) -> Array | None:
        return None if new.status is None else jnp.sum(used & (new.status == status))

    return Written(
        cells=count,
        pulses=None if new.pulses is None else jnp.sum(jnp.where(used, new.pulses, 0)),
        stuck=ended(Status.STUCK),
        out_of_range=ended(Status.OUT_OF_RANGE),
        limit=ended(Status.LIMIT),
        error=jnp.sqrt(jnp.sum(off**2) / count),
        worst=jnp.max(jnp.abs(off)),
        snr=snr,
    )
