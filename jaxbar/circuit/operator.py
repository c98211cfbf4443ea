"""The voltage that a tile's own currents drop along its lines.

With I (M, N) the currents through the cells, the drop at cell (i, j) is

    R(I) = I·R_w + R_b·I
    R_w[j, k] = source + word·min(j, k)
    R_b[i, l] = sense + bit·min(M-1-i, M-1-l)

which is Kirchhoff's laws of the 2MN line nodes with the line nodes eliminated.
R is symmetric and positive semi-definite for any resistances ≥ 0.
"""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._device import platform
from . import segments
from .source_lines import SourceLines
from .wires import Wires

# An H200 would otherwise round float32 products to TF32.
PRECISION = "highest"

# Lines up to this many cells are one small matrix product; longer ones go in blocks.
# Products with blocks of 16 to 32 measured fastest on CPUs from 64 to 512 cells a line.
_LONGEST_BLOCK = 32
_PAD_BLOCK = 16


def _block(n: int) -> int:
    """Block length for a line of n cells; 1 where n has no good divisor."""
    if n <= _LONGEST_BLOCK:
        return n
    return max((b for b in range(8, _LONGEST_BLOCK + 1) if n % b == 0), default=1)


def padded(n: int) -> int:
    """Cells of the shortest line ≥ n that divides into blocks; the added cells are open."""
    return n if _block(n) > 1 or n == 1 else -(-n // _PAD_BLOCK) * _PAD_BLOCK


@functools.cache
def _tables(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ_j min(j, k)·x_j for all k, split into blocks of b cells.

    With K[j, k] = min(j, k) + 1 inside a block, the product y = x·K holds what the
    block contributes to itself, and its first and last entries are the block's sum A
    and A + Σ j·x_j. All other blocks contribute α + β·k, with (α, β) a linear map of
    every block's two entries; α also takes back the 1 added to min(j, k).

    Returns: K (b, b), the map (n/b, 2, n/b, 2), and k (b,).
    """
    b = _block(n)
    blocks = n // b
    k = np.arange(b)
    start = np.arange(blocks) * b
    source, target = np.indices((blocks, blocks))
    before, same, after = source < target, source == target, source > target
    coupling = np.zeros((blocks, 2, blocks, 2))
    coupling[:, 0, :, 0] = np.where(before | same, start[source] - 1, start[target])
    coupling[:, 1, :, 0] = before
    coupling[:, 0, :, 1] = after
    return np.minimum.outer(k, k) + 1.0, coupling, k.astype(float)


def word_drop(current: Array, wires: Wires) -> Array:
    """I·R_w (..., M, N) in volt: from the driver along each word or source line to each cell."""
    if isinstance(wires, SourceLines):
        if wires.driver == "bottom":
            return bit_drop(current, Wires(bit=wires.line, sense=wires.source))
        turned = jnp.swapaxes(current, -2, -1)
        drop = word_drop(turned, Wires(source=wires.source, word=wires.line))
        return jnp.swapaxes(drop, -2, -1)
    if not wires.plain:
        return segments.word_drop(current, wires)
    *lead, n = current.shape
    if padded(n) != n:
        pad = [(0, 0)] * len(lead) + [(0, padded(n) - n)]
        return word_drop(jnp.pad(current, pad), wires)[..., :n]
    kernel, coupling, k = (jnp.asarray(t, current.dtype) for t in _tables(n))
    blocks = n // k.size
    own = jnp.matmul(current.reshape(*lead, blocks, k.size), kernel, precision=PRECISION)
    if blocks == 1:
        drop = wires.word * own + (wires.source - wires.word) * own[..., :1]
        return drop.reshape(current.shape)
    coupling = (wires.word * coupling).at[:, 0, :, 0].add(wires.source)
    ends = jnp.stack([own[..., 0], own[..., -1]], -1).reshape(*lead, 2 * blocks)
    other = jnp.matmul(ends, coupling.reshape(2 * blocks, 2 * blocks), precision=PRECISION)
    other = other.reshape(*lead, blocks, 2)
    drop = wires.word * own + other[..., :1] + other[..., 1:] * k
    return drop.reshape(current.shape)


def bit_drop(current: Array, wires: Wires) -> Array:
    """R_b·I (..., M, N) in volt: from each cell along its bit line to the sense node."""
    if isinstance(wires, SourceLines):
        wires = Wires(bit=wires.bit, sense=wires.sense)
    if not wires.plain:
        return segments.bit_drop(current, wires)
    *lead, m, n = current.shape
    if padded(m) != m:
        pad = [(0, 0)] * len(lead) + [(padded(m) - m, 0), (0, 0)]
        return bit_drop(jnp.pad(current, pad), wires)[..., padded(m) - m :, :]
    kernel, coupling, k = (jnp.asarray(t, current.dtype) for t in _tables(m))
    # The line is counted from its sense end, at the last row.
    kernel, coupling, k = kernel[::-1, ::-1], coupling[::-1, :, ::-1], k[::-1, None]
    blocks = m // k.size
    own = _left(kernel, current.reshape(*lead, blocks, k.size, n))
    if blocks == 1:
        drop = wires.bit * own + (wires.sense - wires.bit) * own[..., -1:, :]
        return drop.reshape(current.shape)
    coupling = (wires.bit * coupling).at[:, 0, :, 0].add(wires.sense)
    ends = jnp.stack([own[..., -1, :], own[..., 0, :]], -2).reshape(*lead, 2 * blocks, n)
    coupling = coupling.transpose(2, 3, 0, 1).reshape(2 * blocks, 2 * blocks)
    other = _left(coupling, ends).reshape(*lead, blocks, 2, n)
    drop = wires.bit * own + other[..., :1, :] + other[..., 1:, :] * k
    return drop.reshape(current.shape)


def _left(matrix: Array, x: Array) -> Array:
    """matrix @ x for each matrix of x's batch."""
    if platform() != "cpu":
        return jnp.einsum("ij,...jk->...ik", matrix, x, precision=PRECISION)
    # XLA's CPU form of that transposes x and back, twice as slow as repeating the matrix.
    repeated = jnp.broadcast_to(matrix, (*x.shape[:-2], *matrix.shape))
    return jnp.matmul(repeated, x, precision=PRECISION)


def line_drop(current: Array, wires: Wires) -> Array:
    """R(I) (..., M, N) in volt: what the currents (..., M, N) in ampere drop on both lines."""
    return word_drop(current, wires) + bit_drop(current, wires)


def drop_tangent(current: Array, wires: Wires, dwires: Wires) -> Array:
    """The tangent of `line_drop` (..., M, N) as the resistances change and the currents do not."""
    if wires.plain:  # it is linear in them
        return line_drop(current, dwires)
    return jax.jvp(functools.partial(line_drop, current), (wires,), (dwires,))[1]


def padding(shape: tuple[int, ...], wires: Wires) -> tuple[int, int]:
    """Open cells (above the tile, right of it) that fill its lines up to whole blocks."""
    if not wires.plain:
        return 0, 0
    return padded(shape[-2]) - shape[-2], padded(shape[-1]) - shape[-1]


def prefix_drop(current: Array, ohm: Sequence[Any]) -> Array:
    """R(I) (M, N) of one tile by prefix sums, as (source, word, bit, sense) in ohm.

    For the GPU kernel, where a matrix would not fit beside the vectors, and for what is rare
    there: XLA spends seconds on the choice of a matrix product, whether or not it is ever run.
    """
    source, word, bit, sense = ohm
    # Through the segment before cell k of a word line flows all that the cells from k on take.
    whole = jnp.sum(current, 1, keepdims=True)
    onward = whole - jnp.cumsum(current, 1) + current
    drop = word * jnp.cumsum(onward, 1) + (source - word) * whole
    # Below cell k of a bit line flows all that the cells down to k deliver.
    down = jnp.cumsum(current, 0)
    below = jnp.sum(down, 0, keepdims=True) - jnp.cumsum(down, 0) + down
    return drop + bit * below + (sense - bit) * jnp.sum(current, 0, keepdims=True)


def rare_drop(current: Array, wires: Wires) -> Array:
    """`line_drop` (B, M, N) in a branch that is seldom taken: on a GPU, cheap to compile."""
    if platform() == "cpu" or not wires.plain:
        return line_drop(current, wires)
    ohm = (wires.source, wires.word, wires.bit, wires.sense)
    return jax.vmap(lambda tile: prefix_drop(tile, ohm))(current)


def symmetric_matvec(root_g: Array, wires: Wires, x: Array) -> Array:
    """(Id + s∘R(s∘·)) x with s = √g: symmetric, every eigenvalue ≥ 1."""
    return x + root_g * line_drop(root_g * x, wires)
