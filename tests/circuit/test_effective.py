"""A tile as a matrix equals the tile solved input by input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.circuit.effective import corner
from jaxbar.circuit.wires import checked_wires

from .tiles import CASES, SEVERITY, load, random_tile

METHODS = ["cg", "cg_library", "direct", "dense", "auto"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (9, 5), (5, 9)], ids=str)
def test_equals_unit_inputs(x64, rng, method, shape):
    g, *_, wires = random_tile(rng, shape)
    w = jb.effective_conductance(g, wires, jb.Solver(method))
    exact = jb.solve(g, np.eye(shape[0]), wires, solver=jb.Solver("dense")).currents
    np.testing.assert_allclose(w, exact, rtol=1e-9)


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith("lin")])
@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_truth(x64, case, method):
    g, v, _, wires, currents, *_ = load(case)
    w = jb.effective_conductance(g, wires, jb.Solver(method))
    np.testing.assert_allclose(v @ w, currents, rtol=1e-9, atol=1e-9 * np.abs(currents).max())


@pytest.mark.parametrize("severity", SEVERITY)
@pytest.mark.parametrize(("method", "limit"), [("cg", 2e-6), ("direct", 2e-5)])
def test_float32(x64, rng, severity, method, limit):
    g, *_, wires = random_tile(rng, (48, 40), severity, dtype=np.float32)
    exact = jb.effective_conductance(g.astype(np.float64), wires)
    w = jb.effective_conductance(g, wires, jb.Solver(method))
    assert w.dtype == jnp.float32
    np.testing.assert_allclose(w, exact, atol=limit * float(exact.max()))


def test_without_wires_it_is_the_conductances(rng):
    g, *_ = random_tile(rng, (12, 10), dtype=np.float32)
    for method in ("cg", "direct"):
        w = jb.effective_conductance(g, jb.Wires(), jb.Solver(method))
        np.testing.assert_allclose(w, g, rtol=1e-6)


def test_open_tile_and_dead_lines(rng):
    g, *_, wires = random_tile(rng, (6, 5), dtype=np.float32)
    g[1], g[:, 2] = 0.0, 0.0
    for method in ("cg", "direct", "auto"):
        w = np.asarray(jb.effective_conductance(g, wires, jb.Solver(method)))
        np.testing.assert_array_equal(w[1], 0.0)
        np.testing.assert_array_equal(w[:, 2], 0.0)
        assert (np.delete(np.delete(w, 1, 0), 2, 1) > 0).all()
        np.testing.assert_array_equal(
            jb.effective_conductance(np.zeros_like(g), wires, jb.Solver(method)), 0.0
        )


@pytest.mark.parametrize("used", [(9, 3), (3, 8), (1, 1), (9, 8)])
@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_corner_is_part_of_the_whole(x64, rng, used, method):
    g, *_, wires = random_tile(rng, (9, 8))
    solver = jb.Solver(method)
    part, converged = corner(
        solver, *used, min(used), jnp.asarray(g), checked_wires(wires, g.dtype, g.shape)
    )
    whole = jb.effective_conductance(g, wires, solver)
    assert converged
    np.testing.assert_allclose(part, whole[: used[0], : used[1]], rtol=1e-9)


@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_vmap_over_tiles_in_jit(x64, rng, method):
    tiles = np.stack([random_tile(rng, (5, 6))[0] for _ in range(3)])
    wires = jb.Wires(2.0, 1.0, 1.0, 2.0)
    f = lambda g: jb.effective_conductance(g, wires, jb.Solver(method))
    for w, g in zip(jax.jit(jax.vmap(f))(tiles), tiles, strict=True):
        np.testing.assert_allclose(w, f(g), rtol=1e-9)


def test_an_unconverged_matrix_is_known(rng):
    g, *_, wires = random_tile(rng, (40, 40), "extreme", dtype=np.float32)
    solver = jb.Solver("cg", max_iterations=2)
    assert not corner(solver, 40, 40, 40, jnp.asarray(g), checked_wires(wires, g.dtype, g.shape))[1]
