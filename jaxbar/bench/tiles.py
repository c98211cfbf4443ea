"""Workloads of one tile: its currents, and their derivative by the conductances."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..circuit import Solver, Wires, solve
from . import peers
from .job import Job

# Lowest and highest cell resistance, and each of the four wires, ohm.
SEVERITY = {"mild": (1e5, 1e6, 2.0), "harsh": (1.8e3, 2.5e3, 5.0)}
SIZES = (64, 128, 256, 512)
INPUTS = (1, 32, 256)


def solver(dtype: str) -> Solver:
    """The solver that is timed: the default, or in float64 a tolerance of 1e-10."""
    return Solver() if dtype == "float32" else Solver(tolerance=1e-10)


def jobs(name: str, severity: str, n: int, inputs: int, dtype: str) -> Iterator[Job]:
    """A forward and a gradient job on one tile (n, n) with random cells and drives.

    Args:
        name: of the workload.
        severity: "mild" or "harsh".
        n: word lines and bit lines.
        inputs: solved together.
        dtype: "float32" or "float64".
    """
    low, high, r = SEVERITY[severity]
    rng = np.random.default_rng(0)
    g = (1 / rng.uniform(low, high, (n, n))).astype(dtype)
    v = rng.uniform(0, 0.3, (inputs, n)).astype(dtype)
    # The peers get the numbers that jaxbar gets: the error is that of the solution alone.
    g64, v64 = g.astype(np.float64), v.astype(np.float64)
    how = solver(dtype)

    def currents(g: jax.Array, v: jax.Array) -> jax.Array:
        return solve(g, v, Wires(r, r, r, r), solver=how).currents[None]

    def loss(g: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.sum(currents(g, v) ** 2)

    forward, gradient = jax.jit(currents), jax.jit(jax.grad(loss))
    on_device: tuple[Any, Any] = jax.device_put((g, v))
    yield Job(
        name,
        "forward",
        lambda: forward(*on_device),
        lambda: forward.lower(*on_device),
        peers.forward(g64[None], v64[None], r),
    )
    yield Job(
        name,
        "gradient",
        lambda: gradient(*on_device),
        lambda: gradient.lower(*on_device),
        peers.gradient(g64, v64, r),
    )
