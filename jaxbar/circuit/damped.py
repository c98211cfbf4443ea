"""Damped Newton steps for a batch of inputs, each with a step length of its own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .batch import any_of_batch

# The step is halved until the residual falls, this often at most …
_HALVINGS = 8
# … and Newton's method ends after so many steps: from the ohmic solution, 3 to 20 are usual.
_MAX_STEPS = 60
# The linear system of a step needs no more digits than the step will have: this share of the
# relative residual (inexact Newton). 0.1 is up to a fifth faster, but often ends just below the
# tolerance where this ends at rounding.
FORCING = 0.01


def iterate(
    point: Any,
    at: Callable[[Any], Any],
    prepare: Callable[[Any], Any],
    step: Callable[[Any, Any, Array, Array], Any],
    size: Callable[[Any, Any], Array],
    relative: Callable[[Any, Any], Array],
    floor: float,
    max_steps: int,
) -> tuple[Any, Any, Array, Array]:
    """Newton's method from a point, a tree of arrays (B, …), to where its residual is small.

    Args:
        point: where to start.
        at: what is left at a point, and what a step needs there: a tree of arrays (B, …).
        prepare: what the step and the sizes need of that, once a step.
        step: (left, prepared, go, relative) -> the step, for the inputs that go (B, 1, 1) on.
        size: (left, prepared) -> (B, 1, 1), which no step may raise; `prepared` is that of the
            point where the step began.
        relative: (left, prepared) -> (B, 1, 1), what is compared with the floor.
        floor: the relative size at which an input has ended.
        max_steps: bound on the steps.

    Returns:
        The point, what is left there, the steps of each input (B,) and the relative size.
    """

    def unfinished(state):
        *_, go, count = state
        return any_of_batch(go) & (count < min(_MAX_STEPS, max_steps))

    def one_step(state):
        point, left, steps, rest, go, count = state
        prepared = prepare(left)
        delta = step(left, prepared, go, rest)
        before = size(left, prepared)

        def is_better(left):
            return size(left, prepared) < before

        def moved(length):
            new = jax.tree.map(lambda x, d: x + _like(length, x) * d, point, delta)
            return new, at(new)

        def too_far(search):
            halvings, _, _, left = search
            return (halvings < _HALVINGS) & any_of_batch(go & ~is_better(left))

        def halve(search):
            halvings, length, _, left = search
            length = jnp.where(is_better(left), length, 0.5 * length)
            return halvings + 1, length, *moved(length)

        whole = jnp.ones_like(before)
        _, _, *new = jax.lax.while_loop(too_far, halve, (0, whole, *moved(whole)))
        better = go & is_better(new[1])
        point, left = jax.tree.map(
            lambda a, b: jnp.where(_like(better, a), a, b), tuple(new), (point, left)
        )
        rest = relative(left, prepared)
        # What gets no better has ended.
        go_on = better & (rest > floor)
        return point, left, steps + go[:, 0, 0], rest, go_on, count + 1

    left = at(point)
    prepared = prepare(left)
    go = size(left, prepared) > 0
    steps = jnp.zeros(go.shape[0], jnp.int32)
    start = (point, left, steps, relative(left, prepared), go, 0)
    point, left, steps, rest, _, _ = jax.lax.while_loop(unfinished, one_step, start)
    return point, left, steps, rest


def _like(x: Array, other: Array) -> Array:
    """(B, 1, 1) as (B, 1, …), to broadcast with the other."""
    return x.reshape(-1, *(1,) * (other.ndim - 1))
