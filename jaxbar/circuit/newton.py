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

from . import damped, step
from .cells import Ohmic
from .chunks import in_chunks
from .damped import FORCING
from .floating import Lines
from .linear import Stats, cache_chunk, no_tangent
from .operator import drop_tangent, line_drop
from .solver import Solver
from .step import norm
from .wires import Wires


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
    """((U, φ), statistics) for inputs (B, M, N)."""
    tolerance = solver.tolerance_for(drive.dtype)
    rounding = float(jnp.finfo(drive.dtype).eps)
    # The system of ohmic cells is linear: one step is all.
    forcing = 0.5 * tolerance if isinstance(cell, Ohmic) else FORCING

    def at(point):
        """What is left of the drive and of the nets' currents, and √dI/dU: the law once."""
        u, phi = point
        current, slope = jax.jvp(lambda u: cell.current(g, u), (u,), (jnp.ones_like(u),))
        left, net = drive - u - line_drop(current, wires), None
        if lines is not None:
            left, net = left + lines.spread(phi), -lines.gather(current)
        return left, net, jnp.broadcast_to(jnp.sqrt(jnp.maximum(slope, 0.0)), u.shape)

    def inverse_of(left):
        return None if lines is None else lines.inverse(left[2] * left[2])

    def size_of(left, inverse, s=1.0):
        """In volt, or with s in √watt; a net current by the potential that would stop it."""
        residual, net, _ = left
        if lines is None:
            return norm(s * residual)
        potential = jnp.einsum("bij,bj->bi", inverse, net, precision="highest")
        return jnp.hypot(norm(s * residual), norm(s * lines.spread(potential)))

    def relative_of(left, inverse):
        """‖s∘residual‖ / ‖s∘drive‖: what it is worth in current."""
        s = left[2]
        size, scale = size_of(left, inverse, s), norm(s * drive)
        return jnp.where(scale > 0, size / jnp.where(scale > 0, scale, 1.0), size)

    def newton_step(left, inverse, go, relative):
        residual, net, s = left
        if net is not None:
            net = jnp.where(go[:, :, 0], net, 0.0)
        accuracy = jnp.maximum(forcing * jnp.clip(relative, 1e-4, 1.0), rounding)
        rhs = jnp.where(go, residual, 0.0)
        found = step.take(s, wires, lines, inverse, rhs, net, accuracy, solver.max_iterations)
        return found.delta, found.phi

    (u, phi), left, steps, relative = damped.iterate(
        _start(solver, cell, g, drive, wires, lines),
        at,
        inverse_of,
        newton_step,
        size_of,
        relative_of,
        max(tolerance, 2 * rounding),  # beyond rounding nothing gets better
        solver.max_iterations,
    )
    s = left[2]
    rest = size_of(left, inverse_of(left), s) + 4 * rounding * norm(s * drive)
    stats = Stats(
        converged=(relative <= max(tolerance, 32 * rounding))[:, 0, 0],
        iterations=steps,
        residual=rest[:, 0, 0],
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
