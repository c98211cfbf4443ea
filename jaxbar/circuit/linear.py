"""The symmetric system (Id + s∘R(s∘·)) x = b of one tile, by any method, for many inputs."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._device import platform
from . import cg, direct, fused, nodal
from .batch import any_of_batch
from .chunks import in_chunks
from .operator import line_drop, padding, rare_drop
from .solver import Solver, candidates, use_direct
from .wires import Wires

# A CPU is fastest while the state of the inputs in hand stays in its cache.
_CPU_CHUNK_BYTES = 2 * 2**20
# A residual below this many units of rounding cannot be improved, and is not chased …
_ROUNDING = 4
# … and one below this many counts as converged, whatever the tolerance.
_FLOOR = 32
_MAX_PASSES = 4


# A cell this much below the largest conductance has its voltage from the drops along the
# lines, as x/s would be 0/0 at an open cell. Other cells keep the digits that the
# difference of drive and drops loses where the wires take most of the drive.
OPEN = 1e-9


class Stats(NamedTuple):
    """How well each of B inputs is solved; each (B,)."""

    converged: Array  # bool
    iterations: Array  # int32
    residual: Array  # bound on ‖b − A x‖: as computed, plus its own rounding
    relative: Array  # ‖b − A x‖ / ‖b‖, 0 where b is


def solve_symmetric(
    root_g: Array,
    wires: Wires,
    solver: Solver,
    inputs: tuple[Array, ...],
    drive: Callable[..., Array],
    read: Callable[..., Array],
    certify: bool = True,
) -> tuple[Array, Stats]:
    """Solve (Id + s∘R(s∘·)) x = s∘drive(*inputs) for B inputs, chunk by chunk.

    Args:
        root_g: s = √g (M, N).
        wires: line resistances.
        solver: method and tolerance.
        inputs: arrays with the B inputs along their first axis.
        drive: what is applied across each cell (C, M, N) for the C inputs of a chunk.
        read: what to keep of a chunk, from x (C, M, N), the drops R(s∘x) and its inputs.
        certify: whether the residual is computed from x and solved for again if need be; the
            fused kernel else trusts its recurrence, which saves an application of the
            operator and several passes over x. Other methods always do.

    Returns:
        What `read` kept, (B, …), and the statistics.
    """
    count = inputs[0].shape[0]
    tolerance = solver.tolerance_for(root_g.dtype)

    def by(method):
        return lambda: _all_chunks(root_g, wires, solver, tolerance, method, inputs, drive, read)

    first, *other = candidates(solver, root_g.shape, root_g.dtype, count, wires.plain)
    if first == "fused" and not certify:
        return _by_kernel(root_g, wires, solver, tolerance, inputs, drive, read)
    if not other:
        return by(first)()
    harsh = use_direct(root_g**2, wires, count, tolerance)
    return jax.lax.cond(harsh, by("direct"), by("cg"))


def _by_kernel(root_g, wires, solver, tolerance, inputs, drive, read):
    across = drive(*inputs)
    solved = fused.solve(root_g, wires, across, tolerance, solver.max_iterations)
    is_open = root_g <= OPEN**0.5 * jnp.max(root_g)

    def with_drops(voltage):
        return jnp.where(is_open, across - rare_drop(root_g**2 * voltage, wires), voltage)

    some = any_of_batch(is_open.any())
    voltage = jax.lax.cond(some, with_drops, lambda voltage: voltage, solved.found)
    return read(root_g * solved.found, across - voltage, *inputs), kernel_stats(solved, tolerance)


def kernel_stats(solved: fused.Solved, tolerance: float) -> Stats:
    """The statistics of what the kernel has solved, by the residual of its recurrence."""
    return _stats(solved.residual, solved.norm, solved.iterations, tolerance)


def _stats(residual, norm, steps, tolerance):
    rounding = float(jnp.finfo(norm.dtype).eps)
    relative = jnp.where(norm > 0, residual / jnp.where(norm > 0, norm, 1.0), norm)
    return Stats(
        converged=relative <= max(tolerance, _FLOOR * rounding),
        iterations=steps,
        # What the evaluation of the residual itself may have rounded away is added.
        residual=residual + _ROUNDING * rounding * norm,
        relative=relative,
    )


def _all_chunks(root_g, wires, solver, tolerance, method, inputs, drive, read):
    shape = root_g.shape
    up, right = padding(shape, wires) if method in ("cg", "cg_library") else (0, 0)
    filled = jnp.pad(root_g, [(up, 0), (0, right)])
    inverse = _inverse(filled, wires, solver, method)

    def chunk(*inputs):
        b = jnp.pad(root_g * drive(*inputs), [(0, 0), (up, 0), (0, right)])
        x, drop, stats = _refined(filled, wires, b, inverse, tolerance, solver.max_iterations)
        kept = read(x[:, up:, : shape[1]], drop[:, up:, : shape[1]], *inputs)
        return kept, stats

    return in_chunks(chunk, inputs, cache_chunk(shape, root_g.dtype), checkpoint=False)


def cache_chunk(shape: tuple[int, ...], dtype: jnp.dtype) -> int:
    """Inputs of a tile that are solved at a time, whatever the memory; all of them on a GPU."""
    if platform() != "cpu":
        return sys.maxsize
    return max(1, _CPU_CHUNK_BYTES // (math.prod(shape) * jnp.dtype(dtype).itemsize))


def _inverse(root_g, wires, solver, method):
    """A function (b, target) -> (x, iterations) with everything about the tile prepared."""
    if method == "direct":
        factors = direct.factor(root_g, wires)
        return lambda b, target: (direct.solve(factors, wires, b), _none(b))
    if method == "dense":
        lu = nodal.factor(root_g, wires)
        return lambda b, target: (nodal.solve(lu, root_g, b), _none(b))
    if method == "fused":

        def inverse(b, target):
            # Of what is solved already, target is infinite and b is 0. Where s is 0, so is b.
            relative = (target / _norm(b))[:, 0, 0]
            across = b / jnp.where(root_g > 0, root_g, 1.0)
            solved = fused.solve(root_g, wires, across, relative, solver.max_iterations)
            return root_g * solved.found, solved.iterations

        return inverse
    loop = cg.own if method == "cg" else cg.library
    return lambda b, target: loop(root_g, wires, b, target, solver.max_iterations)


def _none(b: Array) -> Array:
    return jnp.zeros(b.shape[0], jnp.int32)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, axis=(-2, -1), keepdims=True))


def _refined(root_g, wires, b, inverse, tolerance, max_iterations):
    """Solve, recompute the residual, and solve again for what rounding left of it.

    Returns x, the drops R(s∘x) along the lines, and the statistics.
    """
    rounding = float(jnp.finfo(b.dtype).eps)
    # Each input is brought to the order of 1: squares of small drives would underflow.
    scale = jnp.max(jnp.abs(b), axis=(-2, -1), keepdims=True)
    scale = jnp.where(scale > 0, scale, 1.0)
    b = b / scale
    norm = _norm(b)
    target = tolerance * norm

    def residual_of(x, drop):
        return b - x - root_g * drop

    def unfinished(state):
        _, _, _, _, go, passes = state
        return any_of_batch(go) & (passes < _MAX_PASSES)

    def one_pass(state):
        x, drop, residual, steps, go, passes = state
        r = jnp.where(go, residual_of(x, drop), 0.0)
        d, more = inverse(r, jnp.where(go, target, jnp.inf))
        new_x = x + d
        new_drop = line_drop(root_g * new_x, wires)
        new_residual = _norm(residual_of(new_x, new_drop))
        better = go & ~(new_residual >= residual)
        x, drop = jnp.where(better, new_x, x), jnp.where(better, new_drop, drop)
        residual = jnp.where(better, new_residual, residual)
        steps = jnp.where(more < 0, more, steps + more)
        go = better & (residual > jnp.maximum(target, _ROUNDING * rounding * norm))
        go = go & (steps < max_iterations)[:, None, None]
        return x, drop, residual, steps, go, passes + 1

    nothing = jnp.zeros_like(b)
    start = (nothing, nothing, norm, _none(b), norm != 0, 0)
    x, drop, residual, steps, _, _ = jax.lax.while_loop(unfinished, one_pass, start)
    residual, norm = ((scale * size)[:, 0, 0] for size in (residual, norm))
    stats = _stats(residual, norm, steps, tolerance)
    return x * scale, drop * scale, stats


def no_tangent(x: Array) -> Any:
    """The tangent of what has no derivative: zero."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return jnp.zeros_like(x)
    return np.zeros(x.shape, jax.dtypes.float0)
