"""The drops along the lines against their definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.circuit.operator import bit_drop, line_drop, padded, word_drop

WIRES = jb.Wires(source=3.0, word=2.0, bit=1.5, sense=4.0)
SIZES = [1, 2, 7, 8, 31, 32, 33, 37, 48, 64, 97, 128, 250, 512]


def definition(current, wires):
    m, n = current.shape[-2:]
    j, i = np.arange(n), np.arange(m)[::-1]
    word = wires.source + wires.word * np.minimum.outer(j, j)
    bit = wires.sense + wires.bit * np.minimum.outer(i, i)
    return current @ word, bit @ current


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n", [1, 5, 40, 67])
def test_against_the_matrices(x64, rng, m, n):
    for shape in ((m, n), (2, n, m)):
        current = rng.standard_normal(shape)
        word, bit = definition(current, WIRES)
        scale = np.abs(word).max() + np.abs(bit).max()
        np.testing.assert_allclose(word_drop(current, WIRES), word, atol=1e-13 * scale)
        np.testing.assert_allclose(bit_drop(current, WIRES), bit, atol=1e-13 * scale)


def test_float32_error_is_of_rounding(rng):
    current = rng.uniform(0, 1, (4, 512, 512)).astype(np.float32)
    exact = sum(definition(current.astype(np.float64), WIRES))
    np.testing.assert_allclose(line_drop(current, WIRES), exact, rtol=2e-6)


def test_symmetric_and_positive(x64, rng):
    x, y = rng.standard_normal((2, 9, 40))
    np.testing.assert_allclose(
        np.vdot(y, line_drop(x, WIRES)), np.vdot(line_drop(y, WIRES), x), rtol=1e-12
    )
    assert np.vdot(x, line_drop(x, WIRES)) > 0


@pytest.mark.parametrize("n", range(1, 200))
def test_padding_is_short(n):
    assert n <= padded(n) < n + 16
    assert padded(padded(n)) == padded(n)


def test_jit_equals_numpy_on_many_rows(rng):
    """Some jax releases are silently wrong here on the CPU, above 32 768 rows."""
    rows, matrix = rng.standard_normal((40_000, 24)), rng.standard_normal((24, 24))
    rows, matrix = rows.astype(np.float32), matrix.astype(np.float32)

    @jax.jit
    def f(rows):
        y = jax.vmap(lambda x: jnp.matmul(matrix, x, precision="highest"))(rows)
        return y, jnp.sum(y * rows, axis=1)

    y, dot = f(rows)
    expected = rows @ matrix.T
    np.testing.assert_allclose(y, expected, atol=1e-4)
    np.testing.assert_allclose(dot, np.sum(expected * rows, axis=1), atol=1e-3)
