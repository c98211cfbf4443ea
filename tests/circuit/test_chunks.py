"""Chunks: the same numbers, and a backward pass that keeps no more than one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.circuit.chunks import in_chunks


def f(x, y):
    return {"s": jnp.sin(x) * y[:, None], "t": jnp.sum(x, 1) * y}


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_chunks_that_divide_or_do_not(rng, size, checkpoint):
    x, y = jnp.asarray(rng.standard_normal((7, 3))), jnp.asarray(rng.standard_normal(7))
    whole, parts = f(x, y), in_chunks(f, (x, y), size, checkpoint=checkpoint)
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-6)

    def loss(how):
        return lambda x, y: sum(jnp.sum(a**2) for a in how(x, y).values())

    chunked = loss(lambda *a: in_chunks(f, a, size, checkpoint=checkpoint))
    for found, exact in zip(
        jax.grad(chunked, (0, 1))(x, y), jax.grad(loss(f), (0, 1))(x, y), strict=True
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_none_and_one():
    assert in_chunks(f, (jnp.zeros((0, 3)), jnp.zeros(0)), 2)["s"].shape == (0, 3)
    assert in_chunks(f, (jnp.ones((1, 3)), jnp.ones(1)), 2)["t"].shape == (1,)


def test_the_backward_pass_keeps_one_chunk():
    x = jax.ShapeDtypeStruct((64, 1000), jnp.float32)

    def deep(x):
        for _ in range(6):
            x = jnp.sin(x)
        return x

    def temporaries(checkpoint):
        loss = lambda x: jnp.sum(in_chunks(deep, (x,), 2, checkpoint=checkpoint))
        compiled = jax.jit(jax.grad(loss)).lower(x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    assert temporaries(True) < 0.5 * temporaries(False)
