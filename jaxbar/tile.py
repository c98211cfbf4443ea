"""One tile as a layer reads it: from word-line voltages to the currents of its bit lines."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .circuit import Solution, Solver, SourceLines, Wires, solve, solve_source_lines
from .circuit.currents import line_currents
from .circuit.laws import cell_currents, is_ohmic, needs_bit_voltage, without_wires
from .circuit.separate import gated_voltages
from .circuit.source_lines import checked_source_lines
from .circuit.wires import checked_wires
from .config import CrossbarConfig


def checked(config: CrossbarConfig, dtype: Any) -> CrossbarConfig:
    """The configuration with wires of a dtype, checked against the tile.

    Raises:
        ValueError: wires of a wrong shape.
    """
    if config.wires is None:
        return config
    if isinstance(config.wires, SourceLines):
        return config.replace(wires=checked_source_lines(config.wires, dtype))
    return config.replace(wires=checked_wires(config.wires, dtype, config.tile_shape))


def bit_currents(solver: Solver, g: Array, v: Array, config: CrossbarConfig) -> tuple[Array, Array]:
    """Currents (B, N) in ampere of a tile g (M, N), for voltages v (B, M), and what converged (B,).

    With source lines |v|/v_max gates the cells, and inputs of either sign are read in turn.
    """
    v_bit = jnp.zeros((v.shape[0], g.shape[1]), g.dtype)
    if config.wires is None:
        return jnp.sum(without_wires(config.cell, g, v, v_bit), 1), jnp.ones(len(v), bool)
    if isinstance(config.wires, SourceLines):
        gate = v / config.v_max
        (on, converged), (off, too) = (
            _gated_currents(solver, g, jnp.maximum(sign * gate, 0.0), config) for sign in (1, -1)
        )
        return on - off, converged & too
    if is_ohmic(config.cell):
        i, stats = line_currents(solver, -2, g, v, v_bit, config.wires)
        return i, stats.converged
    current, stats = cell_currents(solver, config.cell, g, v, v_bit, config.wires)
    return jnp.sum(current, 1), stats.converged


def _gated_currents(
    solver: Solver, g: Array, gate: Array, config: CrossbarConfig
) -> tuple[Array, Array]:
    assert isinstance(config.wires, SourceLines)
    v_source = jnp.broadcast_to(jnp.asarray(config.v_max, g.dtype), (g.shape[1],))
    on, u, stats = gated_voltages(solver, config.cell, g, gate, v_source, config.wires)
    return jnp.sum(config.cell.current(on, u), 1), stats.converged


def reference(g: Array, v: Array, config: CrossbarConfig) -> Array:
    """The current (…,) in ampere of a bit line of cells g without wires, for voltages v (…, M)."""
    if isinstance(config.wires, SourceLines):
        on, off = (
            config.cell.current(g * jnp.maximum(sign * v / config.v_max, 0.0), config.v_max)
            for sign in (1, -1)
        )
        return jnp.sum(on - off, -1)
    if needs_bit_voltage(config.cell):
        g = jnp.broadcast_to(g, (*v.shape, 1))
        return jnp.sum(config.cell.current(g, v[..., None], jnp.zeros_like(g)), (-2, -1))
    return jnp.sum(config.cell.current(g, v), -1)


def power(
    solver: Solver, g: Array, v: Array, config: CrossbarConfig
) -> tuple[tuple[Array, Array], Array]:
    """What cells and wires of a tile g (M, N) dissipate, (B,) W each, and what converged (B,).

    Of one read; with source lines of the two that inputs of both signs take.
    """
    signs = (1, -1) if isinstance(config.wires, SourceLines) else (1,)
    how = config.replace(solver=solver)
    reads = [solved(g, jnp.maximum(s * v, 0.0) if len(signs) > 1 else v, how) for s in signs]
    all_reads = jax.tree.map(lambda *x: jnp.stack(x), *reads)
    cells, wires = jnp.sum(all_reads.cell_power, 0), jnp.sum(all_reads.wire_power, 0)
    return (cells, wires), all_reads.converged.all(0)


def solved(g: Array, v: Array, config: CrossbarConfig) -> Solution:
    """The whole solution of a tile g (M, N) for voltages v (M,) ≥ 0 or (B, M)."""
    if isinstance(config.wires, SourceLines):
        how = config.cell, config.solver
        return solve_source_lines(g, v / config.v_max, config.wires, config.v_max, *how)
    wires = Wires() if config.wires is None else config.wires
    return solve(g, v, wires, cell=config.cell, solver=config.solver)
