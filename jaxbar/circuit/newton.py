"""Cells of any law in their network: Newton's method on U + R(f(U)) = v1ᵀ − 1uᵀ + Bφ.

Bφ are the potentials of floating lines, if there are any, which carry no net current:
Bᵀ f(U) = 0. Every step is the symmetric system of `step`, whatever the law, as long as its
current rises with the voltage. Each input has a differential conductance d = f′(U) of its own.

The derivatives are implicit, at the solution; nothing is differentiated through the steps.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import step
from .batch import any_of_batch
from .cells import Ohmic
from .chunks import in_chunks
from .floating import Lines
from .linear import Stats, cache_chunk, no_tangent
from .operator import drop_tangent, line_drop
from .solver import Solver
from .step import norm
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
    solver: Solver, cell: Any, g: Array, drive: Array, wires: Wires, lines: Lines | None = None
) -> tuple[tuple[Array, Array | None], Stats]:
    """The voltage across each cell (B, M, N), the potentials of floating lines, the quality.

    Args:
        solver: tolerance and bound on the steps.
        cell: the law; ``cell.current(g, voltage)`` rises with the voltage, and is 0 at 0 V.
        g: conductances (M, N), or (B, M, N) for each input its own, in siemens.
        drive: what the drivers apply across each cell (B, M, N), in volt.
        wires: line resistances.
        lines: which lines float, for each input; None: none.

    Returns:
        The voltages (B, M, N) and the potentials (B, M + N) or None, in volt; the statistics.
    """
    own, shared = (None, g) if g.ndim == 2 else (g, None)

    def chunk(drive, own, lines):
        return _newton(solver, cell, shared if own is None else own, drive, wires, lines)

    size = cache_chunk(g.shape[-2:], drive.dtype)
    return in_chunks(chunk, (drive, own, lines), size, checkpoint=False)


@voltages.defjvp
def _(solver, primals, tangents):
    cell, g, drive, wires, lines = primals
    dcell, dg, ddrive, dwires, _ = tangents
    (u, phi), stats = voltages(solver, cell, g, drive, wires, lines)
    current, dcurrent = jax.jvp(lambda cell, g: cell.current(g, u), (cell, g), (dcell, dg))
    rhs = ddrive - drop_tangent(current, wires, dwires) - line_drop(dcurrent, wires)
    net = None if lines is None else -lines.gather(dcurrent)
    moved = step.exact(solver, conductance(cell, g, u), wires, lines, rhs, net)
    return ((u, phi), stats), (moved, jax.tree.map(no_tangent, stats))


def conductance(cell: Any, g: Array, u: Array) -> Array:
    """dI/dU of each cell."""
    return jax.jvp(lambda u: cell.current(g, u), (u,), (jnp.ones_like(u),))[1]


def _newton(solver, cell, g, drive, wires, lines):
    """((U, φ), statistics) for inputs (B, M, N), each with a step length of its own."""
    tolerance = solver.tolerance_for(drive.dtype)
    rounding = float(jnp.finfo(drive.dtype).eps)
    # The system of ohmic cells is linear: one step is all.
    forcing = 0.5 * tolerance if isinstance(cell, Ohmic) else _FORCING

    def at(u, phi):
        """What is left of the drive and of the nets' currents, and √dI/dU: the law once."""
        current, slope = jax.jvp(lambda u: cell.current(g, u), (u,), (jnp.ones_like(u),))
        left, net = drive - u - line_drop(current, wires), None
        if lines is not None:
            left, net = left + lines.spread(phi), -lines.gather(current)
        return left, net, jnp.broadcast_to(jnp.sqrt(jnp.maximum(slope, 0.0)), u.shape)

    def inverse_of(s):
        return None if lines is None else lines.inverse(s * s)

    def in_volts(residual, net, inverse):
        """Residuals as voltages (B, M, N): a net current by the potential that would stop it."""
        if lines is None:
            return residual, jnp.zeros((), residual.dtype)
        return residual, lines.spread(jnp.einsum("bij,bj->bi", inverse, net, precision="highest"))

    def size_of(residual, net, inverse, s=1.0):
        one, other = in_volts(residual, net, inverse)
        if lines is None:
            return norm(s * one)
        return jnp.hypot(norm(s * one), norm(s * other))

    def relative_of(residual, net, inverse, s):
        """‖s∘residual‖ / ‖s∘drive‖: what it is worth in current."""
        size, scale = size_of(residual, net, inverse, s), norm(s * drive)
        return jnp.where(scale > 0, size / jnp.where(scale > 0, scale, 1.0), size)

    def unfinished(state):
        *_, go, count = state
        return any_of_batch(go) & (count < min(_MAX_STEPS, solver.max_iterations))

    def one_step(state):
        u, phi, residual, net, s, steps, relative, go, count = state
        inverse = inverse_of(s)
        rhs = jnp.where(go, residual, 0.0)
        accuracy = forcing * jnp.clip(relative, 1e-4, 1.0)
        delta, more = step.take(
            s, wires, lines, inverse, rhs, _where(go, net, 0.0), accuracy, solver.max_iterations
        )[1:]
        before = size_of(residual, net, inverse)

        def is_better(state):
            return size_of(state[0], state[1], inverse) < before

        def moved(length):
            new = u + length * delta, None if phi is None else phi + length[:, :, 0] * more
            return new, at(*new)

        def too_far(search):
            halvings, _, _, state = search
            return (halvings < _HALVINGS) & any_of_batch(go & ~is_better(state))

        def halve(search):
            halvings, length, _, state = search
            length = jnp.where(is_better(state), length, 0.5 * length)
            return halvings + 1, length, *moved(length)

        whole = jnp.ones_like(before)
        _, _, trial, new = jax.lax.while_loop(too_far, halve, (0, whole, *moved(whole)))
        better = go & is_better(new)
        (u, phi), (residual, net, s) = jax.tree.map(
            lambda a, b: jnp.where(better.reshape(-1, *(1,) * (a.ndim - 1)), a, b),
            (trial, new),
            ((u, phi), (residual, net, s)),
        )
        relative = relative_of(residual, net, inverse, s)
        # Beyond rounding nothing gets better, and what gets no better has ended.
        next_go = better & (relative > max(tolerance, 2 * rounding))
        return u, phi, residual, net, s, steps + go[:, 0, 0], relative, next_go, count + 1

    u, phi = _start(solver, cell, g, drive, wires, lines)
    residual, net, s = at(u, phi)
    none = jnp.zeros(drive.shape[0], jnp.int32)
    inverse = inverse_of(s)
    relative = relative_of(residual, net, inverse, s)
    go = size_of(residual, net, inverse) > 0
    start = (u, phi, residual, net, s, none, relative, go, 0)
    u, phi, residual, net, s, steps, relative, _, _ = jax.lax.while_loop(
        unfinished, one_step, start
    )
    left = size_of(residual, net, inverse_of(s), s)
    stats = Stats(
        converged=(relative <= max(tolerance, 32 * rounding))[:, 0, 0],
        iterations=steps,
        residual=(left + 4 * rounding * norm(s * drive))[:, 0, 0],
        relative=relative[:, 0, 0],
    )
    return (u, phi), stats


def _start(solver, cell, g, drive, wires, lines):
    """The tile if its cells were ohmic, with the slope of the law at 0 V."""
    d = jnp.broadcast_to(conductance(cell, g, jnp.zeros_like(drive)), drive.shape)
    inverse = net = None
    if lines is not None:
        inverse = lines.inverse(d)
        net = jnp.zeros(inverse.shape[:2], d.dtype)
    found = step.take(jnp.sqrt(d), wires, lines, inverse, drive, net, 1e-2, solver.max_iterations)
    return found.delta, found.phi


def _where(go, x, other):
    return None if x is None else jnp.where(go[:, :, 0], x, other)
