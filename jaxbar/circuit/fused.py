"""Conjugate gradients in one GPU kernel: the whole solve of an input stays on the chip.

A program of the kernel solves one input of one tile after another, so that their vectors never
leave the multiprocessor and every input stops at its own tolerance. Neither the number of tiles
nor that of inputs is part of the compiled kernel: what a network does with tiles of one shape
compiles once. Written in Pallas; on a CPU the same kernel runs interpreted, for tests.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap
from jax.experimental import pallas as pl

from .._device import platform
from .operator import prefix_drop
from .wires import Wires

# The largest padded tile whose vectors fit the registers and cache of a multiprocessor.
_LARGEST = 128 * 128
_SMALLEST_SIDE = 16
# Programs of a launch, many more than a GPU runs at a time so that it stays evenly filled.
_PROGRAMS = 4096


class Solved(NamedTuple):
    """Of B inputs; the norm and the residual of the recurrence are those of the given system."""

    found: Array  # U (B, M, N), or the sums of s∘x along an axis, (B, N) or (B, M)
    residual: Array  # ‖b − A x‖ by the recurrence, which rounding parts from the true one (B,)
    norm: Array  # ‖b‖ (B,)
    iterations: Array  # (B,) int32


def padded_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape in the kernel: powers of 2, open cells above the tile and right of it."""
    m, n = (max(_SMALLEST_SIDE, 1 << (size - 1).bit_length()) for size in shape)
    return m, n


def fits(shape: tuple[int, ...], dtype: Any) -> bool:
    """Whether the kernel takes tiles of this shape (M, N) and dtype."""
    m, n = padded_shape(shape)
    return jnp.dtype(dtype) == jnp.float32 and m * n <= _LARGEST


def solve(
    root_g: Array, wires: Wires, drive: Array, target: Array | float, max_iterations: int
) -> Solved:
    """x/s (B, M, N) with (Id + s∘R(s∘·)) x = s∘drive, 0 where s is.

    It is the U with U + R(g∘U) = drive, but for open cells.

    Args:
        root_g: s = √g (M, N).
        wires: line resistances.
        drive: what is applied across each cell (B, M, N).
        target: residual to reach relative to ‖s∘drive‖, one for all or one per input (B,).
        max_iterations: bound on the iterations of an input.
    """
    up, right = _padding(root_g.shape)
    padded = jnp.pad(drive, [(0, 0), (up, 0), (0, right)])
    found = _call(_given, None, (padded,), root_g, wires, target, max_iterations)
    return found._replace(found=found.found[:, up:, : root_g.shape[1]])


def solve_drives(
    root_g: Array,
    wires: Wires,
    v: Array,
    v_bit: Array,
    axis: int,
    target: Array | float,
    max_iterations: int,
) -> Solved:
    """The sums of s∘x along an axis, −2 or −1, for drives v (B, M) and v_bit (B, N).

    Neither the drive v1ᵀ − 1v_bitᵀ nor x ever reaches the memory.
    """
    up, right = _padding(root_g.shape)
    drives = jnp.pad(v, [(0, 0), (up, 0)]), jnp.pad(v_bit, [(0, 0), (0, right)])
    found = _call(_driven, axis, drives, root_g, wires, target, max_iterations)
    used = found.found[:, : root_g.shape[1]] if axis == -2 else found.found[:, up:]
    return found._replace(found=used)


def _padding(shape: tuple[int, ...]) -> tuple[int, int]:
    m, n = padded_shape(shape)
    return m - shape[0], n - shape[1]


def _given(drive: Array) -> Array:
    return drive


def _driven(v: Array, v_bit: Array) -> Array:
    return v[:, None] - v_bit[None, :]


def _call(
    drive: Callable[..., Array],
    axis: int | None,
    inputs: tuple[Array, ...],
    root_g: Array,
    wires: Wires,
    target: Array | float,
    max_iterations: int,
) -> Solved:
    count = inputs[0].shape[0]
    up, right = _padding(root_g.shape)
    s = jnp.pad(root_g, [(up, 0), (0, right)])
    ohm = jnp.stack([wires.source, wires.word, wires.bit, wires.sense]).astype(s.dtype)
    target = jnp.broadcast_to(jnp.asarray(target, s.dtype), (count,))
    which = jnp.zeros(count, jnp.int32)
    launch = _launcher(drive, axis, max_iterations)
    return Solved(*launch(s[None], ohm[None], which, target, *inputs))


@functools.cache
def _launcher(
    drive: Callable[..., Array], axis: int | None, max_iterations: int
) -> Callable[..., tuple[Array, ...]]:
    """A function of tiles s (T, m, n), their wires (T, 4) and, for each of P solves, its tile,
    its target and its inputs; `jax.vmap` only adds to T and P."""

    @custom_vmap
    def launch(s, ohm, which, target, *inputs):
        return tuple(_run(drive, axis, max_iterations, s, ohm, which, target, *inputs))

    @launch.def_vmap
    def _(size, batched, s, ohm, which, target, *inputs):
        def full(x, is_batched):
            return x if is_batched else jnp.broadcast_to(x, (size, *x.shape))

        def flat(x):
            return x.reshape(size * x.shape[1], *x.shape[2:])

        s_batched, ohm_batched, which_batched, *each = batched
        which = full(which, which_batched)
        if s_batched or ohm_batched:
            s, ohm = full(s, s_batched), full(ohm, ohm_batched)
            which = which + s.shape[1] * jnp.arange(size, dtype=which.dtype)[:, None]
            s, ohm = flat(s), flat(ohm)
        arrays = map(full, (target, *inputs), each)
        out = launch(s, ohm, flat(which), *map(flat, arrays))
        out = tuple(y.reshape(size, which.shape[1], *y.shape[1:]) for y in out)
        return out, (True,) * len(out)

    return launch


def _run(drive, axis, max_iterations, s, ohm, which, target, *inputs):
    count, (m, n) = which.shape[0], s.shape[1:]
    kept = {None: (m, n), -2: (n,), -1: (m,)}[axis]
    out = [
        jax.ShapeDtypeStruct((count, *kept), s.dtype),
        jax.ShapeDtypeStruct((count,), s.dtype),
        jax.ShapeDtypeStruct((count,), s.dtype),
        jax.ShapeDtypeStruct((count,), jnp.int32),
    ]
    if count == 0:
        return [jnp.zeros(x.shape, x.dtype) for x in out]
    call = pl.pallas_call(
        functools.partial(_kernel, drive, axis, len(inputs), max_iterations),
        out_shape=out,
        **_how(m * n),
    )
    return call(jnp.full(1, count, jnp.int32), s, ohm, which, target, *inputs)


def _how(cells: int) -> dict[str, Any]:
    if platform() == "cpu":
        return {"interpret": True, "grid": (1,)}
    from jax.experimental.pallas import triton

    # The fastest on an H200 of 1, 2, 4, 8 and 16 warps.
    warps = 1 if cells <= 1024 else 4 if cells <= 4096 else 8
    params = triton.CompilerParams(num_warps=warps, num_stages=1)
    return {"compiler_params": params, "grid": (_PROGRAMS,)}


def _total(x: Array) -> Array:
    return jnp.sum(jnp.sum(x, 1), 0)


def _kernel(drive, axis, inputs, max_iterations, count, s_all, ohm_all, which, targets, *refs):
    """One program: every so-manieth solve; x/s or the sums of s∘x along an axis, and how well."""
    given, (found, residual, norm, steps) = refs[:inputs], refs[inputs:]
    first, programs = pl.program_id(0), pl.num_programs(0)

    def one(k, _):
        i = first + k * programs
        tile = which[i]
        s = s_all[tile]
        ohm = [ohm_all[tile, j] for j in range(4)]
        b = s * drive(*(ref[i] for ref in given))
        kept, rr, bb, step = _solve_one(s, ohm, b, targets[i], axis, max_iterations)
        found[i] = kept
        residual[i], norm[i], steps[i] = rr, bb, step

    turns = (count[0] - first + programs - 1) // programs
    jax.lax.fori_loop(0, turns, one, None)


def _solve_one(s, ohm, b, target, axis, max_iterations):
    """Conjugate gradients for one input (m, n): what is kept of x, ‖r‖, ‖b‖ and the iterations.

    Every vector more that lives through the loop is one more in the registers: a loop that
    also verified x took three times as long.
    """
    scale = jnp.max(jnp.max(jnp.abs(b), 1), 0)
    scale = jnp.where(scale > 0, scale, 1.0)  # squares of small drives would underflow
    b = b / scale
    bb = _total(b * b)
    goal = target**2 * bb
    # Of a large tile's x its sums alone are kept; for a small one, summing costs more.
    whole = axis is None or s.size <= 4096

    def summed(x):
        return jnp.sum(s * x, 2 + axis)

    def unfinished(state):
        *_, rr, step = state
        return (rr > goal) & (step < max_iterations)

    def body(state):
        x, r, p, rr, step = state
        q = p + s * prefix_drop(s * p, ohm)
        alpha = rr / _total(p * q)
        x = x + alpha * (p if whole else summed(p))
        r = r - alpha * q
        new = _total(r * r)
        return x, r, r + (new / rr) * p, new, step + 1

    nothing = jnp.zeros_like(b) if whole else jnp.zeros(s.shape[1 if axis == -2 else 0], b.dtype)
    x, _, _, rr, step = jax.lax.while_loop(unfinished, body, (nothing, b, b, bb, jnp.int32(0)))
    if axis is None:
        x = x / jnp.where(s > 0, s, 1.0)
    elif whole:
        x = summed(x)
    return scale * x, scale * jnp.sqrt(rr), scale * jnp.sqrt(bb), step
