"""One tile against other programs, its limits, and what a solution promises."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import jaxbar as jb

from .tiles import CASES, SEVERITY, load, random_tile

METHODS = ["cg", "cg_library", "direct", "dense", "auto"]
SHAPES = [(1, 1), (1, 7), (7, 1), (5, 8), (33, 20), (37, 41), (64, 48)]


def superlu(g, v, v_bit, wires):
    """(currents, word voltages, bit voltages) by SciPy's sparse LU of a resistor netlist.

    Nodes joined by a wire of 0 ohm are one node; written apart from jaxbar's equations.
    """
    m, n = g.shape
    # Node 0 … m-1: drivers; m … m+n-1: sense; then word nodes and bit nodes.
    word = lambda i, j: m + n + i * n + j
    bit = lambda i, j: m + n + m * n + i * n + j
    edges = [(i, word(i, 0), wires.source) for i in range(m)]
    edges += [(word(i, j), word(i, j + 1), wires.word) for i in range(m) for j in range(n - 1)]
    edges += [(bit(i, j), bit(i + 1, j), wires.bit) for i in range(m - 1) for j in range(n)]
    edges += [(bit(m - 1, j), m + j, wires.sense) for j in range(n)]
    nodes = m + n + 2 * m * n
    short = [(a, b) for a, b, r in edges if r == 0]
    graph = sp.coo_matrix((np.ones(len(short)), np.array(short).reshape(-1, 2).T), (nodes, nodes))
    _, name = sp.csgraph.connected_components(graph, directed=False)
    resistors = [(name[a], name[b], 1 / r) for a, b, r in edges if r > 0]
    resistors += [(name[word(i, j)], name[bit(i, j)], g[i, j]) for i in range(m) for j in range(n)]
    a, b, s = (np.array(x) for x in zip(*resistors, strict=True))
    size = name.max() + 1
    laplacian = sp.coo_matrix(
        (np.concatenate([s, s, -s, -s]), (np.r_[a, b, a, b], np.r_[a, b, b, a])), (size, size)
    ).tocsc()
    fixed, value = name[: m + n], np.concatenate([v, v_bit])
    free = np.setdiff1d(np.arange(size), fixed)
    voltage = np.zeros(size)
    voltage[fixed] = value
    if free.size:
        lu = scipy.sparse.linalg.splu(laplacian[free][:, free])
        voltage[free] = lu.solve(-(laplacian @ voltage)[free])
    at = voltage[name]
    word_v, bit_v = np.split(at[m + n :].reshape(2 * m, n), 2)
    return (g * (word_v - bit_v)).sum(0), word_v, bit_v


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_truth_float64(x64, case, method):
    g, v, v_bit, wires, currents, word, bit = load(case)
    s = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method))
    assert s.currents.dtype == jnp.float64
    assert s.converged.all()
    np.testing.assert_allclose(s.currents, currents, rtol=1e-9, atol=1e-9 * np.abs(currents).max())
    np.testing.assert_allclose(s.word_voltages, word, rtol=0, atol=1e-9)
    np.testing.assert_allclose(s.bit_voltages, bit, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_truth_float32(case, method):
    g, v, v_bit, wires, currents, *_ = load(case)
    s = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method))
    assert s.currents.dtype == jnp.float32
    assert s.converged.all()
    np.testing.assert_allclose(s.currents, currents, rtol=0, atol=2e-6 * np.abs(currents).max())


ZERO = [(), ("source",), ("word",), ("bit",), ("sense",), ("source", "word", "bit", "sense")]


@pytest.mark.parametrize("zero", ZERO, ids="+".join)
@pytest.mark.parametrize("method", ["cg", "direct"])
def test_zero_resistances_are_the_exact_limit(x64, rng, method, zero):
    g, v, v_bit, wires = random_tile(rng, (6, 5))
    wires = dataclasses.replace(wires, **dict.fromkeys(zero, 0.0))
    g[2], g[:, 3], g[0, 0] = 0.0, 0.0, 0.0  # a dead row, a dead column, an open cell
    s = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method))
    for k in range(len(v)):
        current, word, bit = superlu(g, v[k], v_bit[k], wires)
        np.testing.assert_allclose(s.currents[k], current, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(s.word_voltages[k], word, atol=1e-11)
        np.testing.assert_allclose(s.bit_voltages[k], bit, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("severity", SEVERITY)
def test_any_shape_against_superlu(x64, rng, shape, severity):
    g, v, v_bit, wires = random_tile(rng, shape, severity)
    for method in ("cg", "direct"):
        s = jb.solve(g, v, wires, v_bit, solver=jb.Solver(method))
        current, word, bit = superlu(g, v[1], v_bit[1], wires)
        np.testing.assert_allclose(s.currents[1], current, rtol=1e-9)
        np.testing.assert_allclose(s.word_voltages[1], word, atol=1e-10)
        np.testing.assert_allclose(s.bit_voltages[1], bit, atol=1e-10)


def test_without_wires_it_is_a_matrix_product(rng):
    g, v, v_bit, _ = random_tile(rng, (40, 30), dtype=np.float32)
    s = jb.solve(g, v, jb.Wires(), v_bit)
    np.testing.assert_allclose(s.currents, v @ g - v_bit * g.sum(0), rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(s.word_voltages, np.broadcast_to(v[:, :, None], (2, 40, 30)))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_flows_without_drive_or_cells(rng, method):
    g, v, _, wires = random_tile(rng, (5, 4), dtype=np.float32)
    for s in (
        jb.solve(g, np.zeros_like(v), wires, solver=jb.Solver(method)),
        jb.solve(np.zeros_like(g), v, wires, solver=jb.Solver(method)),
    ):
        assert s.converged.all()
        np.testing.assert_array_equal(s.currents, 0.0)
        np.testing.assert_array_equal(s.error_bound, 0.0)
        np.testing.assert_array_equal(s.residual, 0.0)


def test_shapes_with_and_without_a_batch(rng):
    g, v, v_bit, wires = random_tile(rng, (5, 4), inputs=3)
    shapes = lambda s: [x.shape for x in jax.tree.leaves(s)]
    cell, line = (5, 4), (4,)
    expected = [line, cell, cell, cell, (), line, (), (), ()]
    assert shapes(jb.solve(g, v[0], wires)) == expected
    assert shapes(jb.solve(g, v[0], wires, v_bit[0])) == expected
    for count in (0, 1, 3):
        s = jb.solve(g, v[:count], wires)
        assert shapes(s) == [(count, *shape) for shape in expected]
    assert shapes(jb.solve(g, v[0], wires, v_bit)) == [(3, *shape) for shape in expected]


@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_an_input_does_not_depend_on_its_batch_mates(rng, method):
    g, v, _, wires = random_tile(rng, (32, 40), "harsh", inputs=6, dtype=np.float32)
    v[3] *= 1e-6  # a small drive among large ones
    v[4] = 0.0
    solver = jb.Solver(method)
    together = jb.solve(g, v, wires, solver=solver)
    for k in range(len(v)):
        alone = jb.solve(g, v[k], wires, solver=solver)
        # The order of a float32 sum over the rows may differ.
        rounding = 1e-7 * np.abs(alone.device_currents).sum(0).max()
        np.testing.assert_allclose(together.currents[k], alone.currents, rtol=0, atol=rounding)
        assert abs(int(together.iterations[k]) - int(alone.iterations)) <= 1


@pytest.mark.parametrize("scale", [1e-18, 1e-9, 1e9])
def test_float32_is_linear_over_any_scale_of_the_drive(rng, scale):
    g, v, _, wires = random_tile(rng, (16, 16), "harsh", dtype=np.float32)
    one, other = jb.solve(g, v, wires), jb.solve(g, v * np.float32(scale), wires)
    largest = np.abs(one.currents).max()
    assert other.converged.all()
    np.testing.assert_allclose(other.currents / scale, one.currents, atol=2e-6 * largest)


@pytest.mark.parametrize("severity", SEVERITY)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(np.float32, 1e-2), (np.float32, 1e-7), (np.float64, 1e-4), (np.float64, 1e-10)],
)
def test_the_error_bound_holds(x64, severity, tolerance, dtype):
    rng = np.random.default_rng(0)
    for shape in ((1, 9), (23, 30), (31, 8)):
        g, v, v_bit, wires = random_tile(rng, shape, severity, dtype=dtype)
        s = jb.solve(g, v, wires, v_bit, solver=jb.Solver("cg", tolerance))
        exact = jb.solve(*_up(g, v), wires, _up(v_bit)[0], solver=jb.Solver("dense"))
        error = np.abs(s.currents.astype(np.float64) - exact.currents)
        # Rounding of the sum that makes a current of its cells' currents.
        rounding = np.finfo(dtype).eps * np.abs(exact.device_currents).sum(1)
        assert (error <= np.asarray(s.error_bound, np.float64) + rounding).all()
        assert s.converged.all()
        assert (s.residual <= max(tolerance, 32 * float(np.finfo(dtype).eps))).all()


def _up(*arrays):
    return tuple(np.asarray(a, np.float64) for a in arrays)


def test_the_error_bound_is_not_idle(rng):
    """Within a factor 100 of the error of a rough solve: a bound that says something."""
    g, v, _, wires = random_tile(rng, (32, 32), "harsh", dtype=np.float32)
    rough = jb.solve(g, v, wires, solver=jb.Solver("cg", 1e-3))
    error = np.abs(rough.currents - jb.solve(g, v, wires).currents).max()
    assert error < rough.error_bound.max() < 100 * error


def test_a_solve_that_stops_early_says_so(rng):
    g, v, _, wires = random_tile(rng, (64, 64), "extreme", dtype=np.float32)
    s = jb.solve(g, v, wires, solver=jb.Solver("cg", max_iterations=3))
    assert not s.converged.any()
    assert (s.iterations <= 3).all()
    assert (s.residual > 1e-6).all()
    exact = jb.solve(g, v, wires, solver=jb.Solver("direct"))
    assert (np.abs(s.currents - exact.currents) <= s.error_bound).all()


def test_nan_inside_jit_is_never_converged(rng):
    g, v, _, wires = random_tile(rng, (4, 4), dtype=np.float32)
    s = jax.jit(jb.solve)(jnp.asarray(g).at[1, 1].set(jnp.nan), v, wires)
    assert not s.converged.any()


@pytest.mark.parametrize("method", ["cg", "direct", "auto"])
def test_vmap_over_tiles_and_over_wires(x64, rng, method):
    tiles = [random_tile(rng, (6, 5)) for _ in range(3)]
    g, v = np.stack([t[0] for t in tiles]), np.stack([t[1] for t in tiles])
    resistances = np.array([0.5, 2.0, 8.0])
    wires = jb.Wires(resistances, 2 * resistances, resistances / 2, resistances)
    each = lambda g, v, wires: jb.solve(g, v, wires, solver=jb.Solver(method))
    at = lambda tree, k: jax.tree.map(lambda x: x[k], tree)
    both = jax.jit(jax.vmap(each))(g, v, wires)
    over_wires = jax.vmap(each, (None, None, 0))(g[0], v[0], wires)
    nested = jax.vmap(jax.vmap(each, (None, None, 0)), (0, 0, None))(g, v, wires)
    for k in range(3):
        alone = each(g[k], v[k], at(wires, k))
        np.testing.assert_allclose(both.currents[k], alone.currents, rtol=1e-10)
        np.testing.assert_allclose(nested.currents[k, k], alone.currents, rtol=1e-10)
        other = each(g[0], v[0], at(wires, k))
        np.testing.assert_allclose(over_wires.currents[k], other.currents, rtol=1e-10)


def test_auto_takes_elimination_where_it_pays(rng):
    """Many inputs on a harsh tile eliminate (no iterations), few or mild ones iterate."""
    g, v, _, _ = random_tile(rng, (32, 32), "extreme", inputs=512, dtype=np.float32)
    harsh = jb.Wires(50.0, 50.0, 50.0, 50.0)
    assert (jb.solve(g, v, harsh).iterations == 0).all()
    assert (jb.solve(g, v[:1], harsh).iterations > 0).all()
    assert (jb.solve(g, v, jb.Wires(1e-3, 1e-3, 1e-3, 1e-3)).iterations > 0).all()


G, V = np.full((3, 2), 1e-4), np.full(3, 0.1)
WIRES = jb.Wires(1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(g=-G, v=V), r"g\[0, 0\] = -0.0001 S: a conductance must be finite and ≥ 0"),
        (dict(g=G * np.nan, v=V), r"g\[0, 0\] = nan S"),
        (dict(g=G * np.inf, v=V), r"g\[0, 0\] = inf S.*use a large finite value"),
        (dict(g=G[0], v=V), r"g has shape \(2,\).*use jax.vmap for many tiles"),
        (dict(g=np.zeros((0, 2)), v=V), r"g has shape \(0, 2\)"),
        (dict(g=G + 1j, v=V), "g is complex"),
        (dict(g=G, v=V[:2]), r"v has shape \(2,\): a tile g \(3, 2\) takes \(3,\) or \(B, 3\)"),
        (dict(g=G, v=V[None, None]), r"v has shape \(1, 1, 3\)"),
        (dict(g=G, v=V, v_bit=V), r"v_bit has shape \(3,\)"),
        (dict(g=G, v=np.ones((2, 3)), v_bit=np.ones((4, 2))), "v holds 2 inputs and v_bit 4"),
        (dict(g=G, v=V, wires=2.0), "wires = 2.0: must be a jaxbar.Wires"),
        (dict(g=G, v=V, wires=jb.Wires(np.ones(4))), r"wires.source has shape \(4,\)"),
        (dict(g=G, v=V, solver="cg"), "solver = 'cg': must be a jaxbar.Solver"),
        (dict(g=G, v=V, cell="ohmic"), "cell = 'ohmic'"),
        (dict(g=G, v=V, wires=jb.Wires(), solver=jb.Solver("dense")), "wires.source = 0.0 ohm"),
        (
            dict(g=np.ones((100, 100)), v=np.ones(100), solver=jb.Solver("dense")),
            r"'dense' on a tile of \(100, 100\)",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        jb.solve(**{"wires": WIRES, **arguments})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jb.Wires(word=-1.0), "Wires.word = -1.0 ohm"),
        (lambda: jb.Wires(sense=float("nan")), "Wires.sense = nan ohm"),
        (lambda: jb.Wires(np.float32(-1)), "Wires.source = -1.0 ohm"),
        (lambda: jb.Wires(word=[1.0, -2.0]), r"Wires.word\[1\] = -2.0 ohm"),
        (lambda: jb.Wires(bit=float("inf")), "Wires.bit = inf ohm"),
        (lambda: jb.Solver("gc"), "Solver.method = 'gc'.*did you mean 'cg'"),
        (lambda: jb.Solver(tolerance=0.0), "Solver.tolerance = 0.0"),
        (lambda: jb.Solver(max_iterations=0), "Solver.max_iterations = 0"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_integers_and_lists_are_taken_as_numbers():
    s = jb.solve([[1, 2], [3, 4]], [1, 1], jb.Wires())
    np.testing.assert_allclose(s.currents, [4.0, 6.0], rtol=1e-6)


def test_cell_law():
    np.testing.assert_array_equal(jb.Ohmic().current(2.0, np.array([1.0, -3.0])), [2.0, -6.0])
    s = jb.solve(G, V, WIRES, cell=jb.Ohmic())
    np.testing.assert_allclose(s.device_currents, G * s.cell_voltages, rtol=1e-5)
