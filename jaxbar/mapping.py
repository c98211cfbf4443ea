"""Weights to conductances and back."""

import jax.numpy as jnp
from jax import Array

from .config import CrossbarConfig


def largest_weight(w: Array, config: CrossbarConfig) -> Array:
    """The weight that is mapped to the end of the conductance range; () or (outputs,).

    Per layer or per column as configured, the largest |w| or its percentile; 1 where all
    weights are 0.
    """
    axis = None if config.scale == "layer" else 0
    size = jnp.abs(w)
    if config.clip_percentile is None:
        largest = jnp.max(size, axis)
    else:
        largest = jnp.percentile(size, config.clip_percentile, axis)
    return jnp.where(largest > 0, largest, 1.0)


def to_conductance(w: Array, config: CrossbarConfig) -> tuple[Array, Array]:
    """The target conductances of a weight matrix, linear between 1/r_off and 1/r_on.

    Args:
        w: weights (inputs, outputs), laid out as a Flax kernel.
        config: `mapping`, `scale`, `clip_percentile`, `r_on`, `r_off` are used.

    Returns:
        g (arrays, inputs, bit lines) in siemens, with the array of the positive and the one of
        the negative part for "differential", one array for "offset", and one with both parts
        of an output on neighbouring bit lines for "interleaved"; and the largest weight, see
        `largest_weight`. Weights beyond the largest clip.
    """
    largest = largest_weight(w, config)
    unit = w / largest
    if config.clip_percentile is not None:
        unit = jnp.clip(unit, -1.0, 1.0)
    span = config.g_on - config.g_off
    if config.paired:
        parts = jnp.stack([jnp.maximum(unit, 0.0), jnp.maximum(-unit, 0.0)])
        if config.mapping == "interleaved":
            parts = jnp.moveaxis(parts, 0, 2).reshape(1, *array_shape(w.shape, config))
        return config.g_off + span * parts, largest
    return (config.g_off + span * (0.5 + 0.5 * unit))[None], largest


def conductance_per_weight(largest: Array, config: CrossbarConfig) -> Array:
    """Siemens of (differential) conductance that stand for one unit of weight."""
    span = config.g_on - config.g_off
    return (span if config.paired else 0.5 * span) / largest


def signed(arrays: Array, reference: Array, config: CrossbarConfig) -> Array:
    """The arrays (first axis) made one signed quantity.

    "differential" subtracts the second array from the first, "interleaved" each second bit
    line (last axis) from the one before it; "offset" subtracts the reference from the array.
    """
    if config.mapping == "interleaved":
        return arrays[0][..., 0::2] - arrays[0][..., 1::2]
    return arrays[0] - (arrays[1] if config.mapping == "differential" else reference)


def array_count(config: CrossbarConfig) -> int:
    """Arrays that carry a weight matrix."""
    return 2 if config.mapping == "differential" else 1


def array_shape(shape: tuple[int, ...], config: CrossbarConfig) -> tuple[int, int]:
    """Word lines and bit lines of each array, for a weight matrix (inputs, outputs)."""
    return shape[0], shape[1] * (2 if config.mapping == "interleaved" else 1)


def mid_conductance(config: CrossbarConfig) -> Array:
    """The conductance of a zero weight in the "offset" mapping, in siemens."""
    return 0.5 * (config.g_on + config.g_off)


def to_weight(g: Array, largest: Array, config: CrossbarConfig) -> Array:
    """The weights (inputs, outputs) of conductances g (arrays, inputs, outputs)."""
    difference = signed(g, mid_conductance(config), config)
    return difference / conductance_per_weight(largest, config)
