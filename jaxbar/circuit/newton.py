"""Cells of any law in their network: Newton's method on U + R(f(U)) = v1ᵀ − 1uᵀ.

With the cells' differential conductance d = f′(U) and s = √d, every step is the operator of
ohmic cells again, (Id + s∘R(s∘·)) x = s∘residual and δ = x/s: symmetric, every eigenvalue ≥ 1,
whatever the law, as long as its current rises with the voltage. Each input has a d of its own.

The derivatives are implicit, at the solution; nothing is differentiated through the steps.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import cg
from .batch import any_of_batch
from .chunks import in_chunks
from .linear import OPEN, Stats, cache_chunk, no_tangent
from .operator import line_drop, padded
from .solver import Solver
from .wires import Wires

# The step is halved until the residual falls, this often at most …
_HALVINGS = 8
# … and Newton's method ends after so many steps: from the ohmic solution, 3 to 20 are usual.
_MAX_STEPS = 60
# The linear system of a step needs no more digits than the step will have: this share of the
# relative residual (inexact Newton). 0.1 is up to a fifth faster, but often ends just below the
# tolerance where this ends at rounding.
_FORCING = 0.01


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def voltages(
    solver: Solver, cell: Any, g: Array, drive: Array, wires: Wires
) -> tuple[Array, Stats]:
    """The voltage across each cell (B, M, N), in volt, and how well it is found.

    Args:
        solver: tolerance and bound on the steps.
        cell: the law; ``cell.current(g, voltage)`` rises with the voltage, and is 0 at 0 V.
        g: conductances (M, N) in siemens.
        drive: what the drivers apply across each cell (B, M, N), in volt.
        wires: line resistances.
    """
    m, n = g.shape
    up, right = padded(m) - m, padded(n) - n
    # Open cells fill the lines up to whole blocks, as for ohmic cells.
    filled = jnp.pad(g, [(up, 0), (0, right)])

    def chunk(drive):
        padded_drive = jnp.pad(drive, [(0, 0), (up, 0), (0, right)])
        u, stats = _newton(solver, cell, filled, padded_drive, wires)
        return u[:, up:, :n], stats

    return in_chunks(chunk, (drive,), cache_chunk(g.shape, g.dtype), checkpoint=False)


@voltages.defjvp
def _(solver, primals, tangents):
    cell, g, drive, wires = primals
    dcell, dg, ddrive, dwires = tangents
    u, stats = voltages(solver, cell, g, drive, wires)
    current, dcurrent = jax.jvp(lambda cell, g: cell.current(g, u), (cell, g), (dcell, dg))
    rhs = ddrive - line_drop(current, dwires) - line_drop(dcurrent, wires)
    du = _linear(solver, conductance(cell, g, u), wires, rhs)
    return (u, stats), (du, jax.tree.map(no_tangent, stats))


def conductance(cell: Any, g: Array, u: Array) -> Array:
    """dI/dU of each cell."""
    return jax.jvp(lambda u: cell.current(g, u), (u,), (jnp.ones_like(u),))[1]


def _newton(solver, cell, g, drive, wires):
    """(U, statistics) for inputs (B, M, N), each with a step length of its own."""
    tolerance = solver.tolerance_for(drive.dtype)
    rounding = float(jnp.finfo(drive.dtype).eps)

    def at(u):
        """What is left of the drive, and √dI/dU: one evaluation of the law."""
        current, slope = jax.jvp(lambda u: cell.current(g, u), (u,), (jnp.ones_like(u),))
        return drive - u - line_drop(current, wires), jnp.sqrt(jnp.maximum(slope, 0.0))

    def relative_of(residual, s):
        """‖s∘residual‖ / ‖s∘drive‖: what it is worth in current."""
        size, scale = _norm(s * residual), _norm(s * drive)
        return jnp.where(scale > 0, size / jnp.where(scale > 0, scale, 1.0), size)

    def unfinished(state):
        *_, go, step = state
        return any_of_batch(go) & (step < min(_MAX_STEPS, solver.max_iterations))

    def one_step(state):
        u, residual, s, steps, relative, go, step = state
        b = jnp.where(go, s * residual, 0.0)
        target = _FORCING * jnp.clip(relative, 1e-4, 1.0) * _norm(b)
        x, _ = cg.own(s, wires, b, target, solver.max_iterations)
        delta = jnp.where(_is_open(s), residual - line_drop(s * x, wires), x / _safe(s))
        before = _norm(residual)

        def too_far(search):
            halvings, _, _, (new, _) = search
            return (halvings < _HALVINGS) & any_of_batch(go & ~(_norm(new) < before))

        def halve(search):
            halvings, length, _, (new, _) = search
            length = jnp.where(_norm(new) < before, length, 0.5 * length)
            trial = u + length * delta
            return halvings + 1, length, trial, at(trial)

        whole = u + delta
        search = (0, jnp.ones_like(before), whole, at(whole))
        _, _, trial, (new, new_s) = jax.lax.while_loop(too_far, halve, search)
        better = go & (_norm(new) < before)
        u, residual, s = (
            jnp.where(better, a, b) for a, b in ((trial, u), (new, residual), (new_s, s))
        )
        relative = relative_of(residual, s)
        # Beyond rounding nothing gets better, and what gets no better has ended.
        next_go = better & (relative > max(tolerance, 2 * rounding))
        return u, residual, s, steps + go[:, 0, 0], relative, next_go, step + 1

    u = _start(solver, cell, g, drive, wires)
    residual, s = at(u)
    none = jnp.zeros(drive.shape[0], jnp.int32)
    start = (u, residual, s, none, relative_of(residual, s), _norm(residual) > 0, 0)
    u, residual, s, steps, relative, _, _ = jax.lax.while_loop(unfinished, one_step, start)
    stats = Stats(
        converged=(relative <= max(tolerance, 32 * rounding))[:, 0, 0],
        iterations=steps,
        residual=(_norm(s * residual) + 4 * rounding * _norm(s * drive))[:, 0, 0],
        relative=relative[:, 0, 0],
    )
    return u, stats


def _start(solver, cell, g, drive, wires):
    """The voltages of the tile if its cells were ohmic, with the slope of the law at 0 V."""
    s = jnp.broadcast_to(jnp.sqrt(conductance(cell, g, jnp.zeros_like(drive))), drive.shape)
    b = s * drive
    x, _ = cg.own(s, wires, b, 1e-2 * _norm(b), solver.max_iterations)
    return jnp.where(_is_open(s), drive - line_drop(s * x, wires), x / _safe(s))


def _linear(solver: Solver, d: Array, wires: Wires, rhs: Array) -> Array:
    """δ (B, M, N) with δ + R(d∘δ) = rhs, for any rhs; linear in it and transposable."""
    m, n = d.shape[-2:]
    pad = [(0, 0), (padded(m) - m, 0), (0, padded(n) - n)]
    tolerance = solver.tolerance_for(d.dtype)

    def matvec(delta):
        return delta + line_drop(d * delta, wires)

    def solved(s, b):
        """x with (Id + s∘R(s∘·)) x = b."""

        def chunk(s, b):
            s, b = jnp.pad(s, pad), jnp.pad(b, pad)
            scale = jnp.max(jnp.abs(b), axis=(-2, -1), keepdims=True)
            scale = jnp.where(scale > 0, scale, 1.0)
            b = b / scale
            x, _ = cg.own(s, wires, b, tolerance * _norm(b), solver.max_iterations)
            return (scale * x)[:, pad[1][0] :, :n]

        return in_chunks(chunk, (s, b), cache_chunk((m, n), d.dtype), checkpoint=False)

    def solve(_, rhs):
        s = jnp.sqrt(d)
        x = solved(s, s * rhs)
        return jnp.where(_is_open(s), rhs - line_drop(s * x, wires), x / _safe(s))

    def transpose_solve(_, c):  # w + d∘R(w) = c
        s = jnp.sqrt(d)
        return c - s * solved(s, s * line_drop(c, wires))

    return jax.lax.custom_linear_solve(matvec, rhs, solve, transpose_solve)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, axis=(-2, -1), keepdims=True))


def _is_open(s: Array) -> Array:
    return s <= OPEN**0.5 * jnp.max(s, axis=(-2, -1), keepdims=True)


def _safe(s: Array) -> Array:
    return jnp.where(_is_open(s), 1.0, s)
