"""The nodal matrix against Kirchhoff's laws and against the truth files."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.circuit import nodal_drive

from .tiles import CASES, load, random_tile


@pytest.mark.parametrize("case", CASES)
def test_truth(x64, case):
    g, v, v_bit, wires, currents, word, bit = load(case)
    v_bit = np.zeros((len(v), g.shape[1])) if v_bit is None else v_bit
    matrix = np.asarray(jb.nodal_matrix(g, wires))
    for k in range(len(v)):
        nodes = np.linalg.solve(matrix, nodal_drive(v[k], v_bit[k], wires))
        found_word, found_bit = nodes.reshape(2, *g.shape)
        np.testing.assert_allclose(found_word, word[k], atol=1e-9)
        np.testing.assert_allclose(found_bit, bit[k], atol=1e-9)
        sensed = (found_bit[-1] - v_bit[k]) / wires.sense
        np.testing.assert_allclose(sensed, currents[k], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (3, 5)])
def test_symmetric_positive_definite_blocks(x64, rng, shape):
    g, *_, wires = random_tile(rng, shape)
    matrix = np.asarray(jb.nodal_matrix(g, wires))
    assert matrix.shape == (2 * g.size, 2 * g.size)
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > 0
    np.testing.assert_array_equal(matrix[: g.size, g.size :], -np.diag(g.ravel()))


def test_kirchhoff_at_every_node_of_a_solution(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (6, 9))
    s = jb.solve(g, v[0], wires, v_bit[0])
    nodes = jnp.concatenate([s.word_voltages.ravel(), s.bit_voltages.ravel()])
    drive = nodal_drive(v[0], v_bit[0], wires)
    left = jb.nodal_matrix(g, wires) @ nodes
    np.testing.assert_allclose(left, drive, atol=1e-10 * float(jnp.abs(drive).max()))


def test_zero_resistance_is_named(rng):
    g, *_ = random_tile(rng, (2, 2))
    with pytest.raises(ValueError, match=r"wires.word = 0.0 ohm.*each must be > 0"):
        jb.nodal_matrix(g, jb.Wires(1.0, 0.0, 1.0, 1.0))
