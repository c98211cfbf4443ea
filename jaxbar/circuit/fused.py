"""Conjugate gradients in one GPU kernel: the whole solve of an input stays on the chip.

One program of the kernel solves one input of one tile, so that its vectors never leave the
multiprocessor and every input stops at its own tolerance. Written in Pallas; on a CPU the same
kernel runs interpreted, for tests.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl

from .._device import platform
from .wires import Wires

# The largest padded tile whose vectors fit the registers and cache of a multiprocessor.
_LARGEST = 128 * 128
_SMALLEST_SIDE = 16


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
    root_g: Array,
    wires: Wires,
    drive: Array,
    open_below: Array,
    target: Array | float,
    max_iterations: int,
) -> Solved:
    """U (B, M, N) with U + R(g∘U) = drive for any drive (B, M, N) and s = √g.

    With x = s∘U it is the symmetric system (Id + s∘R(s∘·)) x = s∘drive.

    Args:
        root_g: s (M, N).
        wires: line resistances.
        drive: what is applied across each cell.
        open_below: s up to which a cell is open, (); its U is drive − R(s∘x), of others x/s.
        target: residual to reach relative to ‖s∘drive‖, one for all or one per input (B,).
        max_iterations: bound on the iterations of an input.
    """
    up, right = _padding(root_g.shape)
    padded = jnp.pad(drive, [(0, 0), (up, 0), (0, right)])
    # Where no cell is open the kernel need not know the drops.
    open_below = jnp.where(jnp.min(root_g) <= open_below, open_below, -1.0)
    found = _call(_given, None, (padded,), root_g, wires, open_below, target, max_iterations)
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
    found = _call(_driven, axis, drives, root_g, wires, -1.0, target, max_iterations)
    used = found.found[:, : root_g.shape[1]] if axis == -2 else found.found[:, up:]
    return found._replace(found=used)


def _padding(shape: tuple[int, ...]) -> tuple[int, int]:
    m, n = padded_shape(shape)
    return m - shape[0], n - shape[1]


def _given(drive: Any) -> Array:
    return drive[...]


def _driven(v: Any, v_bit: Any) -> Array:
    return v[...][:, None] - v_bit[...][None, :]


def _call(
    drive: Callable[..., Array],
    axis: int | None,
    inputs: tuple[Array, ...],
    root_g: Array,
    wires: Wires,
    open_below: Array | float,
    target: Array | float,
    max_iterations: int,
) -> Solved:
    count = inputs[0].shape[0]
    up, right = _padding(root_g.shape)
    s = jnp.pad(root_g, [(up, 0), (0, right)])
    m, n = s.shape
    tile = jnp.stack([wires.source, wires.word, wires.bit, wires.sense, jnp.asarray(open_below)])
    tile = jnp.pad(tile.astype(s.dtype), (0, 3))  # blocks are powers of 2
    target = jnp.broadcast_to(jnp.asarray(target, s.dtype), (count,))[:, None]

    def each(*shape: int) -> pl.BlockSpec:  # a program's own part of an array (B, *shape)
        return pl.BlockSpec((None, *shape), lambda i: (i, *[0] * len(shape)))

    def shared(*shape: int) -> pl.BlockSpec:
        return pl.BlockSpec(shape, lambda i: (0,) * len(shape))

    kept = {None: (m, n), -2: (n,), -1: (m,)}[axis]
    out = [
        jax.ShapeDtypeStruct((count, *kept), s.dtype),
        jax.ShapeDtypeStruct((count, 1), s.dtype),
        jax.ShapeDtypeStruct((count, 1), s.dtype),
        jax.ShapeDtypeStruct((count, 1), jnp.int32),
    ]
    if count == 0:  # a grid of no programs cannot be launched
        found, *each_input = (jnp.zeros(x.shape, x.dtype) for x in out)
    else:
        found, *each_input = pl.pallas_call(
            functools.partial(_kernel, drive, axis, len(inputs), max_iterations),
            grid=(count,),
            in_specs=[shared(m, n), shared(8), each(1), *(each(*x.shape[1:]) for x in inputs)],
            out_specs=[each(*x.shape[1:]) for x in out],
            out_shape=out,
            **_how(m * n),
        )(s, tile, target, *inputs)
    return Solved(found, *(x[:, 0] for x in each_input))


def _how(cells: int) -> dict[str, Any]:
    if platform() == "cpu":
        return {"interpret": True}
    from jax.experimental.pallas import triton

    # The fastest on an H200 of 1, 2, 4, 8 and 16 warps.
    warps = 1 if cells <= 1024 else 4 if cells <= 4096 else 8
    return {"compiler_params": triton.CompilerParams(num_warps=warps, num_stages=1)}


def _total(x: Array) -> Array:
    return jnp.sum(jnp.sum(x, 1), 0)


def _drops(current: Array, tile: Any) -> Array:
    """R(I) of one tile by prefix sums: a matrix would not fit beside the vectors."""
    source, word, bit, sense = (tile[k] for k in range(4))
    # Through the segment before cell k of a word line flows all that the cells from k on take.
    whole = jnp.sum(current, 1, keepdims=True)
    onward = whole - jnp.cumsum(current, 1) + current
    drop = word * jnp.cumsum(onward, 1) + (source - word) * whole
    # Below cell k of a bit line flows all that the cells down to k deliver.
    down = jnp.cumsum(current, 0)
    below = jnp.sum(down, 0, keepdims=True) - jnp.cumsum(down, 0) + down
    return drop + bit * below + (sense - bit) * jnp.sum(current, 0, keepdims=True)


def _kernel(drive, axis, inputs, max_iterations, s_ref, tile, target, *refs):
    """One input: U, or the sums of s∘x along an axis, into the first of the outputs.

    Every vector more that lives through the loop is one more in the registers: a loop that
    also verified x took three times as long.
    """
    given, (found, residual, norm, steps) = refs[:inputs], refs[inputs:]
    s = s_ref[...]
    b = s * drive(*given)
    scale = jnp.max(jnp.max(jnp.abs(b), 1), 0)
    scale = jnp.where(scale > 0, scale, 1.0)  # squares of small drives would underflow
    b = b / scale
    bb = _total(b * b)
    goal = target[0] ** 2 * bb
    # Of a large tile's x its sums alone are kept; for a small one, summing costs more.
    whole = axis is None or s.size <= 4096

    def summed(x):
        return jnp.sum(s * x, 2 + axis)

    def unfinished(state):
        *_, rr, step = state
        return (rr > goal) & (step < max_iterations)

    def body(state):
        x, r, p, rr, step = state
        q = p + s * _drops(s * p, tile)
        alpha = rr / _total(p * q)
        x = x + alpha * (p if whole else summed(p))
        r = r - alpha * q
        new = _total(r * r)
        return x, r, r + (new / rr) * p, new, step + 1

    nothing = jnp.zeros_like(b) if whole else jnp.zeros(found.shape, b.dtype)
    x, _, _, rr, step = jax.lax.while_loop(unfinished, body, (nothing, b, b, bb, jnp.int32(0)))
    if axis is None:

        def with_open(x):
            return jnp.where(s > tile[4], x / s, drive(*given) / scale - _drops(s * x, tile))

        def without(x):
            return x / jnp.where(s > 0, s, 1.0)  # 0 in the padding alone

        x = jax.lax.cond(tile[4] >= 0, with_open, without, x)
    elif whole:
        x = summed(x)
    found[...] = scale * x
    residual[0] = scale * jnp.sqrt(rr)
    norm[0] = scale * jnp.sqrt(bb)
    steps[0] = step
