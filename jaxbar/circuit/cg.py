"""Conjugate gradients on the symmetric system (Id + s∘R(s∘·)) x = b (Hestenes & Stiefel 1952).

Two loops with the same contract: `own`, written for a batch of inputs and counting the
iterations of each, and `library`, `jax.scipy.sparse.linalg.cg` vmapped over the inputs.
In both an input stops at its own tolerance, and its batch mates do not change its result.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from .batch import any_of_batch
from .operator import symmetric_matvec
from .wires import Wires


def _sum(x: Array) -> Array:
    return jnp.sum(x, axis=(-2, -1), keepdims=True)


def own(
    root_g: Array,
    wires: Wires,
    b: Array,
    target: Array,
    max_iterations: int,
    project: Callable[[Array], Array] | None = None,
) -> tuple[Array, Array]:
    """x with ‖b − A x‖ ≤ target.

    Args:
        root_g: √g (M, N).
        wires: line resistances.
        b: right-hand sides (B, M, N).
        target: norm to reach, one per input (B, 1, 1).
        max_iterations: bound on the iterations.
        project: an orthogonal projector; the system is then that of its subspace, which b
            lies in. Default: none.

    Returns:
        x (B, M, N) and the iterations taken (B,).
    """

    def cond(state):
        *_, rr, step = state
        return any_of_batch(rr > target**2) & (step < max_iterations)

    def body(state):
        x, r, p, steps, rr, step = state
        # An input that is done keeps its x: its step length is 0.
        go = rr > target**2
        q = symmetric_matvec(root_g, wires, p)
        alpha = jnp.where(go, rr / _sum(p * q), 0.0)
        x = x + alpha * p
        r = r - alpha * q
        if project is not None:  # r and not q: what rounding leaves off the subspace stays small
            r = project(r)
        new = jnp.where(go, _sum(r * r), rr)
        p = r + jnp.where(go, new / rr, 0.0) * p
        return x, r, p, steps + go[:, 0, 0], new, step + 1

    steps = jnp.zeros(b.shape[0], jnp.int32)
    start = (jnp.zeros_like(b), b, b, steps, _sum(b * b), jnp.zeros((), jnp.int32))
    x, _, _, steps, _, _ = jax.lax.while_loop(cond, body, start)
    return x, steps


def library(
    root_g: Array, wires: Wires, b: Array, target: Array, max_iterations: int
) -> tuple[Array, Array]:
    """The same by `jax.scipy.sparse.linalg.cg`, which does not count: iterations are −1."""

    def one(b, target):
        def matvec(x):
            return symmetric_matvec(root_g, wires, x)

        cg = jax.scipy.sparse.linalg.cg
        return cg(matvec, b, tol=0.0, atol=target[0, 0], maxiter=max_iterations)[0]

    return jax.vmap(one)(b, target), jnp.full(b.shape[0], -1, jnp.int32)
