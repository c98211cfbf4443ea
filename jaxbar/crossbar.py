"""A weight matrix on crossbar tiles, from inputs to outputs; pure functions.

The data flows one way: weights → conductances → tiles → currents → ADC → outputs. Shapes:
K inputs and L outputs of the matrix, tiles of (m, n), P arrays (2 for "differential", else 1),
D = ⌈K/m⌉ tiles down and A = ⌈L/n⌉ across (⌈2L/n⌉ for "interleaved"), B inputs at a time.
"""

import dataclasses
import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import mapping, planning, tile, tiling
from ._device import platform
from .circuit.chunks import in_chunks
from .circuit.effective import corner
from .config import CrossbarConfig
from .host import on_cpu
from .periphery import covering_range, quantize
from .planning import Plan


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Calibration:
    """What `tune` stores: the ranges of the converters and an affine map of each output.

    Attributes:
        input_scale: the input that is driven with v_max, ().
        adc_range: largest current that the ADC tells apart, (), ampere.
        gain, offset: applied to the outputs in units of the weights times inputs, (L,).
        tuned: whether `tune` has set them, (), bool; until then they follow the configuration.
    """

    input_scale: Any
    adc_range: Any
    gain: Any
    offset: Any
    tuned: Any


def default_calibration(shape: tuple[int, int], config: CrossbarConfig, dtype: Any) -> Calibration:
    """No scaling, and an ADC that spans the largest current of a tile without wires."""
    span = config.g_on - config.g_off
    most = config.v_max * tiling.used_corner(shape, config.tile_shape)[0]
    most = most * (span if config.paired else 0.5 * span)
    given = config.adc.range
    return Calibration(
        input_scale=jnp.asarray(config.input_scale, dtype),
        adc_range=jnp.asarray(most if given is None else given, dtype),
        gain=jnp.ones(shape[1], dtype),
        offset=jnp.zeros(shape[1], dtype),
        tuned=jnp.asarray(False),
    )


def write(w: Array, config: CrossbarConfig) -> tuple[Array, Array]:
    """The conductances (P, D, A, m, n) in siemens of weights (K, L), and the largest weight."""
    g, largest = mapping.to_conductance(w, config)
    return tiling.to_tiles(g, config.tile_shape, config.g_unused), largest


@functools.partial(jax.jit, static_argnums=1)
def effective(g: Array, shape: tuple[int, int], config: CrossbarConfig) -> tuple[Array, Array]:
    """Written tiles (P, D, A, m, n) as signed matrices; and whether every solve converged.

    Returns (D, A, m', n') in siemens, m' word lines and n' outputs in use in the fullest tile:
    the current of an output, signed, is the sum over the inputs of voltage times this. Only
    for a crossbar that `is_linear`.
    """
    rows, columns = tiling.used_corner(mapping.array_shape(shape, config), config.tile_shape)
    if config.wires is None:
        w, converged = g[..., :rows, :columns], jnp.asarray(True)
    else:

        def solve(how: Plan, config: CrossbarConfig, g: Array) -> tuple[Array, Array]:
            return corner(how.solver, rows, columns, how.input_chunk, g, config.wires)

        w, converged = _over_tiles(solve, (g,), min(rows, columns), config)
    return mapping.signed(w, mapping.mid_conductance(config), config), converged


def currents(g: Array, v: Array, config: CrossbarConfig) -> tuple[Array, Array]:
    """Signed output currents of written tiles, solved for each input.

    Args:
        g: conductances (P, D, A, m, n) in siemens.
        v: word-line voltages (D, B, m) in volt.
        config: wires, cell, solver and memory are used.

    Returns:
        Currents (D, A, B, n) in ampere, n/2 of them for "interleaved", and whether every solve
        converged.
    """
    if config.wires is None and config.is_linear:
        i = jnp.einsum("dbm,pdamn->pdabn", v, g, precision="highest")
        converged = jnp.asarray(True)
    else:

        def solve(how: Plan, config: CrossbarConfig, g: Array, v: Array) -> tuple[Array, Array]:
            def lines(v):
                return tile.bit_currents(how.solver, g, v, config)

            i, converged = in_chunks(lines, (v,), how.input_chunk)
            return i, converged.all()

        each = jnp.broadcast_to(v[None, :, None], (*g.shape[:3], *v.shape[1:]))
        i, converged = _over_tiles(solve, (g, each), v.shape[1], config)
    middle = tile.reference(mapping.mid_conductance(config), v, config)
    return mapping.signed(i, middle[:, None, :, None], config), converged


@jax.jit
def power(
    x: Array, g: Array, calibration: Calibration, config: CrossbarConfig
) -> tuple[tuple[Array, Array], Array]:
    """The power of cells and wires (P, D, A) in watt, the mean of inputs (B, K), B ≥ 1.

    Args:
        x: inputs (B, K).
        g: conductances (P, D, A, m, n) in siemens.
        calibration: whose input scale is used.
        config: the crossbar.

    Returns:
        The two powers, and whether every solve converged.
    """
    v = tiling.inputs_to_tiles(drive(x, calibration, config), config.tile_shape[0])

    def solve(how: Plan, config: CrossbarConfig, g: Array, v: Array) -> tuple[Array, Array]:
        def lines(v):
            parts, converged = tile.power(how.solver, g, v, config)
            return jnp.stack(parts, -1), converged

        parts, converged = in_chunks(lines, (v,), how.input_chunk)
        return jnp.mean(parts, 0), converged.all()

    each = jnp.broadcast_to(v[None, :, None], (*g.shape[:3], *v.shape[1:]))
    parts, converged = _over_tiles(solve, (g, each), v.shape[1], config)
    return (parts[..., 0], parts[..., 1]), converged


def plan(shape: tuple[int, int], inputs: int, config: CrossbarConfig, dtype: Any) -> Plan:
    """How the tiles of a weight matrix (K, L) are solved for a number of inputs.

    Raises:
        MemoryBudgetError: one input of one tile does not fit.
    """
    lines = mapping.array_shape(shape, config)
    tiles = mapping.array_count(config) * math.prod(tiling.tile_counts(lines, config.tile_shape))
    if matrix_is_cheaper(inputs, shape, config):
        inputs = min(tiling.used_corner(lines, config.tile_shape))
    return _plan(tiles, inputs, config, dtype)


def _plan(tiles: int, inputs: int, config: CrossbarConfig, dtype: Any) -> Plan:
    return planning.plan(
        config.tile_shape,
        tiles,
        inputs,
        dtype=dtype,
        solver=config.solver,
        memory_budget=config.memory_budget,
        tile_chunk=config.tile_chunk,
        wires=config.wires,
        cell=config.cell,
    )


def _over_tiles(
    solve: Callable[..., tuple[Array, Array]],
    tiles: tuple[Array, ...],
    inputs: int,
    config: CrossbarConfig,
) -> tuple[Array, Array]:
    """``solve(plan, config, *tile)`` on each tile of arrays (P, D, A, …), as memory allows.

    Returns its first result (P, D, A, …), and whether the second holds for all tiles.
    """
    lead, dtype = tiles[0].shape[:3], tiles[0].dtype
    config = jax.tree.map(lambda x: jnp.asarray(x, dtype), tile.checked(config, dtype))

    def planned(config: CrossbarConfig, *tiles: Array) -> tuple[Array, Array]:
        how = _plan(math.prod(lead), inputs, config, dtype)
        flat = tuple(x.reshape(math.prod(lead), *x.shape[3:]) for x in tiles)
        # Chunks of inputs inside a tile bound the backward pass already.
        out, good = in_chunks(
            jax.vmap(functools.partial(solve, how, config)),
            flat,
            how.tile_chunk,
            checkpoint=how.checkpoint and how.input_chunk >= how.inputs,
        )
        # A float: what is computed on the CPU for a GPU takes and returns no other arrays.
        return out.reshape(*lead, *out.shape[1:]), good.all().astype(dtype)

    try:
        out, good = planned(config, *tiles)
    except planning.MemoryBudgetError as error:
        if config.on_memory == "error" or platform() == "cpu":
            raise
        warnings.warn(f"solved on the CPU: {error}", planning.MemoryBudgetWarning, stacklevel=2)
        out, good = on_cpu(planned)(config.replace(memory_budget=None), *tiles)
    return out, good > 0.5


def drive(x: Array, calibration: Calibration, config: CrossbarConfig) -> Array:
    """Inputs (B, K) as the voltages (B, K) of the word lines."""
    return config.v_max * quantize(x / calibration.input_scale, 1.0, config.dac.bits)


def read(
    i: Array,
    outputs: int,
    largest: Array,
    calibration: Calibration,
    config: CrossbarConfig,
    factor: Array | None = None,
) -> Array:
    """Signed currents (D, A, B, n) through the ADCs and added up: outputs (B, L).

    factor: of the outputs of each tile, digitally, broadcast to the currents.
    """
    i = quantize(i, calibration.adc_range, config.adc.bits)
    if factor is not None:
        i = i * factor[..., : i.shape[-1]]
    return decode(tiling.outputs_from_tiles(jnp.sum(i, 0), outputs), largest, calibration, config)


def decode(i: Array, largest: Array, calibration: Calibration, config: CrossbarConfig) -> Array:
    """Currents (B, L) in ampere as outputs (B, L) in units of weights times inputs."""
    per_weight = mapping.conductance_per_weight(largest, config)
    y = i * (calibration.input_scale / (config.v_max * per_weight))
    return y * calibration.gain + calibration.offset


@functools.partial(jax.jit, static_argnums=2)
def through_effective(
    x: Array,
    w: Array,
    outputs: int,
    largest: Array,
    calibration: Calibration,
    config: CrossbarConfig,
    factor: Array | None = None,
) -> Array:
    """Outputs (B, L) of inputs (B, K) through effective matrices w (D, A, m', n').

    factor: as of `read`.
    """
    v = drive(x, calibration, config)
    if config.adc.bits is None:  # nothing happens between the tiles: one matrix product
        if factor is not None:
            w = w * factor[..., : w.shape[-1]]
        matrix = tiling.from_tiles(w, (x.shape[1], outputs))
        i = jnp.matmul(v, matrix, precision="highest")
        return decode(i, largest, calibration, config)
    tiles = tiling.inputs_to_tiles(v, w.shape[-2])
    i = jnp.einsum("dbm,damn->dabn", tiles, w, precision="highest")
    return read(i, outputs, largest, calibration, config, factor)


@jax.jit
def matmul(
    x: Array, w: Array, calibration: Calibration, config: CrossbarConfig
) -> tuple[Array, Array]:
    """x·w through the crossbar: the pristine weights written, solved exactly and read.

    Args:
        x: inputs (B, K).
        w: weights (K, L).
        calibration: as `default_calibration` or set by `tune`.
        config: the crossbar.

    Returns:
        Outputs (B, L), and whether every solve converged. Differentiable in all arguments;
        the converters' gradients are straight through.
    """
    g, largest = write(w, config)
    shape = (x.shape[1], w.shape[1])
    if matrix_is_cheaper(x.shape[0], shape, config):
        matrix, converged = effective(g, shape, config)
        y = through_effective(x, matrix, w.shape[1], largest, calibration, config)
        return y, converged
    return through_tiles(x, g, w.shape[1], largest, calibration, config)


@functools.partial(jax.jit, static_argnums=2)
def through_tiles(
    x: Array,
    g: Array,
    outputs: int,
    largest: Array,
    calibration: Calibration,
    config: CrossbarConfig,
    factor: Array | None = None,
) -> tuple[Array, Array]:
    """Outputs (B, L) of inputs (B, K), each solved for on written tiles (P, D, A, m, n).

    factor: as of `read`. Returns the outputs, and whether every solve converged.
    """
    v = tiling.inputs_to_tiles(drive(x, calibration, config), config.tile_shape[0])
    i, converged = currents(g, v, config)
    return read(i, outputs, largest, calibration, config, factor), converged


def matrix_is_cheaper(inputs: int, shape: tuple[int, ...], config: CrossbarConfig) -> bool:
    """Whether the tiles' matrices take no more solves, one a unit drive, than the inputs do."""
    lines = mapping.array_shape(shape, config)
    enough = inputs >= min(tiling.used_corner(lines, config.tile_shape))
    return config.is_linear and (config.wires is None or enough)


@jax.jit
def calibrate(x: Array, w: Array, config: CrossbarConfig) -> tuple[Calibration, Array, Array]:
    """The calibration of a layer from inputs (B, K) that it sees, and the outputs it makes of them.

    The input scale is the largest |input|; the range of the ADC covers the currents seen
    but for the fraction `adc.overflow`, unless it is configured; and each output gets the
    gain and offset that bring it closest to x·w in the least squares sense. It depends on
    the inputs and the weights alone, so that calibrating twice changes nothing.

    Returns:
        The calibration, the outputs (B, L) with it, and whether every solve converged.
    """
    x, shape = x.astype(w.dtype), (x.shape[1], w.shape[1])
    start = default_calibration(shape, config, w.dtype)
    start = dataclasses.replace(start, input_scale=covering_range(x))
    g, largest = write(w, config)
    v = drive(x, start, config)
    if matrix_is_cheaper(x.shape[0], shape, config):
        matrix, converged = effective(g, shape, config)
        tiles = tiling.inputs_to_tiles(v, matrix.shape[-2])
        i = jnp.einsum("dbm,damn->dabn", tiles, matrix, precision="highest")
    else:
        i, converged = currents(g, tiling.inputs_to_tiles(v, config.tile_shape[0]), config)
    if config.adc.bits is not None and config.adc.range is None:
        used = jnp.stack([tiling.outputs_from_tiles(row, w.shape[1]) for row in i])
        start = dataclasses.replace(start, adc_range=covering_range(used, config.adc.overflow))
    raw = read(i, w.shape[1], largest, start, config)
    gain, offset = _affine(raw, jnp.matmul(x, w, precision="highest"))
    tuned = dataclasses.replace(start, gain=gain, offset=offset, tuned=jnp.asarray(True))
    return tuned, raw * gain + offset, converged


def _affine(raw: Array, target: Array) -> tuple[Array, Array]:
    """Gain and offset of each column with least squares error; gain 1 where raw is constant."""
    raw_mean, target_mean = jnp.mean(raw, 0), jnp.mean(target, 0)
    spread = jnp.mean((raw - raw_mean) ** 2, 0)
    shared = jnp.mean((raw - raw_mean) * (target - target_mean), 0)
    size = jnp.mean(raw**2, 0)
    varies = spread > (100 * jnp.finfo(raw.dtype).eps) ** 2 * size
    gain = jnp.where(varies, shared / jnp.where(varies, spread, 1.0), 1.0)
    return gain, target_mean - gain * raw_mean
