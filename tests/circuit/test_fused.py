"""The GPU kernel, interpreted: the same program that an H200 runs."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.circuit import fused
from jaxbar.circuit.solver import candidates

from .test_solve import superlu
from .tiles import CASES, load, random_tile

FUSED = jb.Solver("fused")


def float32(*arrays):
    return [None if x is None else jnp.asarray(x, jnp.float32) for x in arrays]


def assert_close(found, exact, tolerance=1e-6):
    exact = np.asarray(exact)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tolerance * np.abs(exact).max())


@pytest.mark.parametrize("case", CASES)
def test_truth(case):
    g, v, v_bit, wires, currents, word, bit = load(case)
    s = jb.solve(*float32(g, v), wires, *float32(v_bit), solver=FUSED)
    assert_close(np.reshape(s.currents, currents.shape), currents)
    scale = np.abs(word).max()
    np.testing.assert_allclose(np.reshape(s.word_voltages, word.shape), word, atol=2e-6 * scale)
    np.testing.assert_allclose(np.reshape(s.bit_voltages, bit.shape), bit, atol=2e-6 * scale)
    assert np.all(s.converged)
    error = np.abs(np.reshape(s.currents, currents.shape) - currents)
    assert (error <= np.reshape(s.error_bound, currents.shape)).all()


@pytest.mark.parametrize("severity", ["mild", "harsh", "extreme"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (5, 8), (33, 20), (70, 65)], ids=str)
def test_shapes_against_a_sparse_solver(rng, shape, severity):
    g, v, v_bit, wires = random_tile(rng, shape, severity)
    s = jb.solve(*float32(g, v), wires, *float32(v_bit), solver=FUSED)
    exact = [superlu(g, *drives, wires)[0] for drives in zip(v, v_bit, strict=True)]
    assert_close(s.currents, exact, 3e-6 if severity == "extreme" else 1e-6)


@pytest.mark.parametrize("zero", ["source", "word", "bit", "sense"])
def test_open_cells_and_perfect_wires(rng, zero):
    g, v, v_bit, wires = random_tile(rng, (9, 12))
    g[rng.random(g.shape) < 0.3] = 0.0
    g[4], g[:, 2] = 0.0, 0.0
    wires = jb.Wires(**{**vars(wires), zero: 0.0})
    s = jb.solve(*float32(g, v), wires, *float32(v_bit), solver=FUSED)
    exact = [superlu(g, *drives, wires) for drives in zip(v, v_bit, strict=True)]
    assert_close(s.currents, [e[0] for e in exact])
    connected = g > 0
    voltages = np.stack([e[1] - e[2] for e in exact])
    np.testing.assert_allclose(s.cell_voltages[:, connected], voltages[:, connected], atol=1e-6)
    assert np.isfinite(s.cell_voltages).all()


def loss(method):
    def of(g, v, v_bit, wires):
        i = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method)).currents
        return jnp.sum(jnp.sin(3e3 * i))

    return of


@pytest.mark.parametrize("share_open", [0.0, 0.3])
def test_gradients_are_those_in_float64(rng, share_open):
    args = random_tile(rng, (6, 11))
    args[0][rng.random(args[0].shape) < share_open] = 0.0
    with jax.enable_x64(True):
        exact = jax.grad(loss("cg"), (0, 1, 2, 3))(*jax.tree.map(jnp.asarray, args))
        exact = jax.tree.map(np.asarray, exact)
    args = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), args)
    found = jax.jit(jax.grad(loss("fused"), (0, 1, 2, 3)))(*args)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
        assert_close(one, other, 3e-6)


def test_second_order_and_forward_mode(rng):
    g, v, v_bit, wires = random_tile(rng, (4, 5))
    args = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), (g, v, v_bit, wires))
    step = jax.tree.map(lambda x: 0.3 * x, args)

    def slope(method):
        first = lambda *a: jax.jvp(loss(method), a, step)[1]
        return jax.jvp(first, args, step)

    assert_close(slope("fused"), slope("cg"), 1e-5)


def test_the_matrix_of_a_tile_from_either_side(rng):
    for shape in ((5, 12), (12, 5), (70, 66)):
        g, _, _, wires = random_tile(rng, shape)
        with jax.enable_x64(True):
            exact = np.asarray(jb.effective_conductance(g, wires))
        assert_close(jb.effective_conductance(*float32(g), wires, FUSED), exact, 2e-6)


def test_vmap_over_tiles_inputs_and_wires(rng):
    tiles = [random_tile(rng, (5, 6), inputs=3) for _ in range(2)]
    g, v = (jnp.asarray(np.stack([t[k] for t in tiles]), jnp.float32) for k in (0, 1))
    r = jnp.array([0.5, 2.0, 8.0], jnp.float32)

    def of(method):
        def one(g, v, r):
            return jb.solve(g, v, jb.Wires(r, r, 2 * r, r), solver=jb.Solver(method)).currents

        over_tiles = jax.vmap(one, (0, 0, None))
        return jax.jit(jax.vmap(over_tiles, (None, None, 0)))(g, v, r)

    assert of("fused").shape == (3, 2, 3, 6)
    assert_close(of("fused"), of("cg"))


@pytest.mark.parametrize("inputs", [0, 1])
def test_batches_of_none_and_one(rng, inputs):
    g, v, _, wires = random_tile(rng, (3, 4), inputs=inputs)
    s = jb.solve(*float32(g, v), wires, solver=FUSED)
    assert s.currents.shape == (inputs, 4)
    assert jb.solve(*float32(g, v), wires, solver=FUSED).converged.all()


def test_each_input_stops_at_its_own_tolerance(rng):
    g, v, _, wires = random_tile(rng, (20, 20), inputs=3)
    v[1] = 0.0
    v[2] *= 1e-30
    s = jb.solve(*float32(g, v), wires, solver=FUSED)
    assert s.iterations[1] == 0 and s.iterations[0] > 3
    assert abs(int(s.iterations[2]) - int(s.iterations[0])) <= 3
    assert s.converged.all()
    np.testing.assert_array_equal(s.currents[1], 0.0)
    alone = jb.solve(*float32(g, v[:1]), wires, solver=FUSED)
    np.testing.assert_allclose(s.currents[0], alone.currents[0], rtol=1e-6)


def test_what_stops_early_says_so(rng):
    g, v, _, wires = random_tile(rng, (30, 30))
    s = jb.solve(*float32(g, v), wires, solver=jb.Solver("fused", max_iterations=2))
    assert not s.converged.any()
    assert (s.residual > 1e-4).all()


def test_what_it_does_not_take(x64, rng):
    g, v, _, wires = random_tile(rng, (4, 4))
    with pytest.raises(ValueError, match=r"'fused' on a tile of \(4, 4\) in float64.*use 'auto'"):
        jb.solve(g, v, wires, solver=FUSED)
    big = jnp.ones((129, 128), jnp.float32)
    with pytest.raises(ValueError, match=r"tile of \(129, 128\) in float32"):
        jb.effective_conductance(big, wires, FUSED)


def test_what_fits():
    assert fused.padded_shape((1, 100)) == (16, 128)
    assert fused.fits((128, 128), jnp.float32) and fused.fits((16, 1024), jnp.float32)
    assert not fused.fits((129, 100), jnp.float32) and not fused.fits((8, 8), jnp.float64)


def test_auto_takes_it_on_a_gpu_alone(monkeypatch):
    solver = importlib.import_module("jaxbar.circuit.solver")
    auto = jb.Solver()
    assert candidates(auto, (64, 64), jnp.float32, 1) == ("cg",)
    monkeypatch.setattr(solver, "platform", lambda: "gpu")
    assert candidates(auto, (64, 64), jnp.float32, 1) == ("fused",)
    assert candidates(auto, (64, 64), jnp.float64, 1)[0] == "cg"
    assert candidates(auto, (300, 64), jnp.float32, 1)[0] == "cg"
    assert candidates(jb.Solver("direct"), (64, 64), jnp.float32, 1) == ("direct",)
