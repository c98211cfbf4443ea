"""Training and evaluation of a classifier with nnx and optax."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx
from jax import Array
from jax.typing import ArrayLike


class MLP(nnx.Module):
    """A multilayer perceptron with a ReLU between its layers.

    Args:
        *sizes: features of the input, of each hidden layer and of the output.
        rngs: keys for the weights.
    """

    def __init__(self, *sizes: int, rngs: nnx.Rngs):
        self.layers = nnx.List([nnx.Linear(i, o, rngs=rngs) for i, o in itertools.pairwise(sizes)])

    def __call__(self, x: Array) -> Array:
        """Logits (B, classes) of inputs (B, features)."""
        *hidden, last = self.layers
        for layer in hidden:
            x = nnx.relu(layer(x))
        return last(x)


def cross_entropy(model: Any, x: ArrayLike, y: ArrayLike) -> Array:
    """Mean cross entropy of the model's logits for inputs x (B, …) with labels y (B,)."""
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


@nnx.jit
def train_step(model: Any, optimizer: nnx.Optimizer, x: ArrayLike, y: ArrayLike) -> Array:
    """One update, in place, of the model's `nnx.Param`s; returns the loss before it."""
    loss, gradients = nnx.value_and_grad(cross_entropy)(model, x, y)
    optimizer.update(model, gradients)
    return loss


def fit(
    model: Any,
    x: np.ndarray,
    y: np.ndarray,
    *,
    key: Array,
    epochs: int,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    progress: Callable[[int, int], None] | None = None,
) -> list[float]:
    """Trains a classifier in place with Adam, its rate falling to 0 along a cosine.

    Each epoch is a new permutation of the inputs. Those at its end that do not fill a batch
    are left out, so that every step has the same shapes and is compiled once.

    Args:
        model: an nnx module, inputs to logits; its `nnx.Param`s are trained.
        x: inputs (count, …).
        y: labels (count,), integers.
        key: of the permutations; the same key gives the same numbers.
        epochs: passes over the inputs.
        batch_size: inputs a step; all of them where they are fewer. Default 64.
        learning_rate: at the start; default 3e-3.
        progress: called after each step with (steps done, steps in all).

    Returns:
        The mean loss of each epoch.

    Raises:
        ValueError: x and y differ in length, or are empty.
    """
    if len(x) != len(y) or not len(x):
        raise ValueError(f"x holds {len(x)} inputs and y {len(y)} labels: as many, and ≥ 1")
    batch_size = min(batch_size, len(x))
    steps = len(x) // batch_size
    schedule = optax.cosine_decay_schedule(learning_rate, max(1, epochs * steps))
    optimizer = nnx.Optimizer(model, optax.adam(schedule), wrt=nnx.Param)
    losses: list[Array] = []
    for epoch in range(epochs):
        order = np.asarray(jax.random.permutation(jax.random.fold_in(key, epoch), len(x)))
        for rows in order[: steps * batch_size].reshape(steps, batch_size):
            losses.append(train_step(model, optimizer, x[rows], y[rows]))
            # One step stays in flight while the next is prepared; more would let the
            # progress run ahead of the work.
            jax.block_until_ready(losses[-2:-1])
            if progress is not None:
                progress(len(losses), epochs * steps)
    means = np.asarray(jax.device_get(losses), np.float64).reshape(epochs, steps).mean(1)
    return [float(loss) for loss in means]


@nnx.jit
def _correct(model: Any, x: ArrayLike, y: ArrayLike) -> Array:
    return (model(x).argmax(-1) == y).sum()


def accuracy(model: Any, x: np.ndarray, y: np.ndarray, batch_size: int = 2048) -> float:
    """The share of inputs (count, …), in [0, 1], whose largest logit is that of their label y."""
    right = 0
    for start in range(0, len(x), batch_size):
        batch = slice(start, start + batch_size)
        right += int(_correct(model, x[batch], y[batch]))
    return right / len(x)
