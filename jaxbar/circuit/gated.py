"""Cells whose current depends on their bit line's potential too, such as 1T1R, in their network.

Newton's method on I = f(drive − R(I), u + R_b·I), with the currents I as the unknown. With
d and c, both ≥ 0, what the current rises by with the potential of the word line and falls by
with that of the bit line, each step is the system

    I + d∘R_w(I) + c∘R_b(I) = rhs,

R_w and R_b the drops along the word and the bit lines. It is not symmetric where d ≠ c, and is
solved by `jax.scipy.sparse.linalg.bicgstab` with I in units of √max(d, c). The derivatives are
implicit, at the solution.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import damped, step
from .batch import any_of_batch
from .chunks import in_chunks
from .linear import Stats, cache_chunk, no_tangent
from .operator import bit_drop, word_drop
from .solver import Solver
from .step import norm
from .wires import Wires

# The units of cells in cut-off are those of one that conducts this share of the largest.
_LEAST = 1e-6
# A system is solved again for what rounding left of it, this often at most.
_MAX_PASSES = 8


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def currents(
    solver: Solver, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Stats]:
    """The current through each cell (B, M, N) in ampere, and its quality.

    Args:
        solver: tolerance and bound on the steps and on the iterations of each.
        cell: the law; ``cell.current(g, voltage, bit_voltage)`` is 0 at 0 V, rises with the
            potential of the word line and falls with that of the bit line.
        g: conductances (M, N), or (B, M, N) for each input its own, in siemens.
        v, v_bit: drives (B, M) of the word lines and (B, N) of the bit lines, in volt.
        wires: line resistances.
    """
    own, shared = (None, g) if g.ndim == 2 else (g, None)

    def chunk(v, v_bit, own):
        return _newton(solver, cell, shared if own is None else own, v, v_bit, wires)

    size = cache_chunk(g.shape[-2:], v.dtype)
    return in_chunks(chunk, (v, v_bit, own), size, checkpoint=False)


@currents.defjvp
def _(solver, primals, tangents):
    *_, wires = primals
    current, stats = currents(solver, *primals)
    _, rhs = jax.jvp(functools.partial(_law, current), primals, tangents)
    _, d, c = slopes(current, *primals)
    moved = _exact(solver, d, c, wires, rhs)
    return (current, stats), (moved, jax.tree.map(no_tangent, stats))


def _law(current: Array, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires) -> Array:
    """What the law says at the voltages that these currents leave of the drives."""
    return cell.current(g, *_voltages(current, v, v_bit, wires))


def slopes(
    current: Array, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Array, Array]:
    """The law at what these currents leave of the drives, d and c; (B, M, N)."""
    u, bit = _voltages(current, v, v_bit, wires)
    return _slopes(cell, g, u, bit)


def _slopes(cell: Any, g: Array, u: Array, bit: Array) -> tuple[Array, Array, Array]:
    found, derivative = jax.linearize(lambda *x: cell.current(g, *x), u, bit)
    one, none = jnp.ones_like(u), jnp.zeros_like(u)
    by_voltage = derivative(one, none)
    return found, by_voltage, by_voltage - derivative(none, one)


def _voltages(current: Array, v: Array, v_bit: Array, wires: Wires) -> tuple[Array, Array]:
    """Across each cell, and of the bit line there; (B, M, N)."""
    bit = v_bit[:, None, :] + bit_drop(current, wires)
    return v[:, :, None] - word_drop(current, wires) - bit, bit


def _newton(solver, cell, g, v, v_bit, wires):
    """(I, statistics) for inputs (B, M), (B, N)."""
    tolerance = solver.tolerance_for(v.dtype)
    rounding = float(jnp.finfo(v.dtype).eps)
    drive = v[:, :, None] - v_bit[:, None, :]

    def at(current):
        found, d, c = slopes(current, cell, g, v, v_bit, wires)
        return found - current, d, c

    def unit(left):
        return _unit(*left[1:])

    def size(left, s):
        return norm(left[0] / s)

    def relative(left, s):
        """‖residual/s‖ / ‖s∘drive‖; the scale is 0 only if nothing drives any cell."""
        scale = norm(s * drive)
        return size(left, s) / jnp.where(scale > 0, scale, 1.0)

    def newton_step(left, s, go, relative):
        residual, d, c = left
        b = jnp.where(go, residual / s, 0.0)
        target = damped.FORCING * jnp.clip(relative, 1e-4, 1.0) * norm(b)
        return s * _solve(_Scaled(d, c, s, wires), b, target, solver.max_iterations, 1)

    current, left, steps, relative_left = damped.iterate(
        _start(solver, cell, g, v, v_bit, wires),
        at,
        unit,
        newton_step,
        size,
        relative,
        max(tolerance, 2 * rounding),
        solver.max_iterations,
    )
    s = unit(left)
    stats = Stats(
        converged=(relative_left <= max(tolerance, 32 * rounding))[:, 0, 0],
        iterations=steps,
        residual=(size(left, s) + 4 * rounding * norm(s * drive))[:, 0, 0],
        relative=relative_left[:, 0, 0],
    )
    return current, stats


def _start(solver, cell, g, v, v_bit, wires):
    """What the law says where the tile would be if the cells kept their slope at 0 V."""
    drive = v[:, :, None] - v_bit[:, None, :]
    bit = jnp.broadcast_to(v_bit[:, None, :], drive.shape)
    _, d, _ = _slopes(cell, g, jnp.zeros_like(drive), bit)
    s = jnp.sqrt(jnp.maximum(d, 0.0))
    u = step.take(s, wires, None, None, drive, None, 1e-2, solver.max_iterations).delta
    return cell.current(g, u, v_bit[:, None, :] + bit_drop(d * u, wires))


def _unit(d: Array, c: Array) -> Array:
    """√max(d, c), and where that is next to nothing a little more; 1 where no cell conducts."""
    most = jnp.maximum(d, c)
    largest = jnp.max(most, axis=(-2, -1), keepdims=True)
    return jnp.sqrt(jnp.where(largest > 0, jnp.maximum(most, _LEAST * largest), 1.0))


class _Scaled:
    """x + (d/s)∘R_w(s∘x) + (c/s)∘R_b(s∘x), or its transpose, of each input."""

    def __init__(self, d: Array, c: Array, s: Array, wires: Wires, transposed: bool = False):
        self.arrays = d / s, c / s, s
        self.wires, self.transposed = wires, transposed

    def __call__(self, arrays: tuple[Array, Array, Array], x: Array) -> Array:
        word, bit, s = arrays
        if self.transposed:
            return x + s * (word_drop(word * x, self.wires) + bit_drop(bit * x, self.wires))
        return x + word * word_drop(s * x, self.wires) + bit * bit_drop(s * x, self.wires)


def _solve(system: _Scaled, b: Array, target: Array, max_iterations: int, passes: int) -> Array:
    """x (B, M, N) with ‖b − A x‖ ≤ target (B, 1, 1), in a number of passes at most."""

    def one(arrays, b, target):
        # The library's loop counts the norm of what is left, not squared.
        matvec = functools.partial(system, arrays)
        solve = jax.scipy.sparse.linalg.bicgstab
        return solve(matvec, b, tol=0.0, atol=target[0, 0], maxiter=max_iterations)[0]

    def left_of(x):
        return b - system(system.arrays, x)

    def unfinished(state):
        _, _, go, count = state
        return any_of_batch(go) & (count < passes)

    def one_pass(state):
        x, rest, go, count = state
        new = x + jax.vmap(one)(system.arrays, jnp.where(go, left_of(x), 0.0), target)
        new_rest = norm(left_of(new))
        better = go & (new_rest < rest)  # nor is it where the method broke down
        x, rest = jnp.where(better, new, x), jnp.where(better, new_rest, rest)
        return x, rest, better & (rest > target), count + 1

    rest = norm(b)
    state = jnp.zeros_like(b), rest, rest > target, 0
    return jax.lax.while_loop(unfinished, one_pass, state)[0]


def _exact(solver: Solver, d: Array, c: Array, wires: Wires, rhs: Array) -> Array:
    """I + d∘R_w(I) + c∘R_b(I) = rhs, linear in rhs and transposable."""
    tolerance = solver.tolerance_for(d.dtype)

    def matvec(x):
        return x + d * word_drop(x, wires) + c * bit_drop(x, wires)

    def solve_by(transposed):
        def solve(_, rhs):
            def chunk(d, c, rhs):
                s = _unit(d, c)
                b = s * rhs if transposed else rhs / s
                # Each input is brought to the order of 1: squares of small ones would underflow.
                scale = jnp.max(jnp.abs(b), axis=(-2, -1), keepdims=True)
                b = b / jnp.where(scale > 0, scale, 1.0)
                system = _Scaled(d, c, s, wires, transposed)
                x = _solve(system, b, tolerance * norm(b), solver.max_iterations, _MAX_PASSES)
                return scale * (x / s if transposed else s * x)

            size = cache_chunk(d.shape[-2:], d.dtype)
            return in_chunks(chunk, (d, c, rhs), size, checkpoint=False)

        return solve

    return jax.lax.custom_linear_solve(matvec, rhs, solve_by(False), solve_by(True))
