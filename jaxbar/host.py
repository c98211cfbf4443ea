"""A computation of a GPU program done on the CPU, for what does not fit the GPU's memory."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def on_cpu(f: Callable[..., Any]) -> Callable[..., Any]:
    """f computed on the CPU wherever its caller runs: eagerly, compiled, mapped, differentiated.

    Args:
        f: takes and returns trees of floating-point arrays; differentiable in reverse mode.
    """
    cpu = jax.devices("cpu")[0]

    def forward(*args):
        return f(*args)

    def backward(args, cotangent):
        return jax.vjp(forward, *args)[1](cotangent)

    @jax.custom_vjp
    def call(*args):
        return _callback(jax.jit(forward), cpu, *args)

    def call_and_keep(*args):
        return call(*args), args

    def pull_back(args, cotangent):
        return _callback(jax.jit(backward), cpu, args, cotangent)

    call.defvjp(call_and_keep, pull_back)
    return call


def _callback(compiled: Callable[..., Any], cpu: Any, *args: Any) -> Any:
    def run(*args):
        # As numpy arrays, so that nothing waits for the device that waits for this.
        with jax.default_device(cpu):
            return jax.tree.map(np.asarray, compiled(*jax.tree.map(np.asarray, args)))

    with jax.default_device(cpu):
        shapes = jax.eval_shape(compiled, *args)
    return jax.pure_callback(run, shapes, *args, vmap_method="sequential")
