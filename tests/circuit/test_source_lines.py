"""Tiles with source lines against a nodal analysis and differences; the power of any tile."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import Sinh, SourceLines, Transistor, solve_source_lines

from .test_transistor import add_between, node_voltages, quick
from .test_wires import Nodal, assert_solves, differences, make_wires, resistors, weighted
from .tiles import random_tile

DRIVERS = ["top", "bottom"]
OHM = {"source": 3.0, "line": 1.6, "bit": 2.0, "sense": 4.0}
every_driver = pytest.mark.parametrize("driver", DRIVERS)
quick_solve = quick(solve_source_lines)
quick_solve_word_lines = quick(jb.solve)


def solve(g, gate, wires, v_source, k=0.0):
    """One program for each shape and law: all parameters are arrays."""
    cell = Sinh(jnp.asarray(k, float)) if k else None
    args = jax.tree.map(lambda x: jnp.asarray(x, float), (g, gate, wires, v_source))
    return quick_solve(*args, cell=cell)


def wires_between(shape, wires):
    """Resistors (node, node, ohm): drivers (N,), sense nodes (N,), source and bit lines (M, N)."""
    m, n = shape
    source, bit = 2 * n + np.arange(2 * m * n).reshape(2, m, n)
    parts = [
        (np.arange(n), source[0 if wires.driver == "top" else -1], wires.source),
        (n + np.arange(n), bit[-1], wires.sense),
        (source[:-1], source[1:], wires.line),
        (bit[:-1], bit[1:], wires.bit),
    ]
    flat = [[np.ravel(x) for x in np.broadcast_arrays(*part)] for part in parts]
    a, b, ohm = (np.concatenate(x) for x in zip(*flat, strict=True))
    return a, b, ohm.astype(np.longdouble)


def law(on, u, k):
    """The current of a cell and its slope."""
    if not k:
        return on * u, on + 0 * u
    return on * np.sinh(k * u) / k, on * np.cosh(k * u)


def reference(g, gate, wires, v_source, k=0.0):
    """One input of a tile, on all its nodes."""
    g, gate = np.asarray(g, np.longdouble), np.asarray(gate, np.longdouble)
    m, n = g.shape
    on = (gate[:, None] * g).ravel()
    source, bit = 2 * n + np.arange(2 * m * n).reshape(2, m * n)

    def elements(volt):
        into = np.zeros(volt.size, np.longdouble)
        slope = np.zeros((volt.size, volt.size), np.longdouble)
        current, by = law(on, volt[source] - volt[bit], k)
        add_between(into, slope, source, bit, current, [(source, by), (bit, -by)])
        return into, slope

    driven = np.concatenate([np.broadcast_to(v_source, n), np.zeros(n)])
    wires = wires_between(g.shape, wires)
    volt = node_voltages(2 * n + 2 * m * n, wires, driven, elements)
    u = volt[source] - volt[bit]
    current = law(on, u, k)[0].reshape(m, n)
    return Nodal(current.sum(0), current, *volt[2 * n :].reshape(2, m, n))


def at_input(s, i):
    return jax.tree.map(lambda x: x[i], s)


def check(g, gate, wires, v_source, k=0.0):
    """A batch against the nodal analysis of each input."""
    s = solve(g, gate, wires, v_source, k)
    assert s.converged.all() and s.currents.shape == (len(gate), g.shape[1])
    least = 1e-12 * g.max() * np.abs(v_source).max()
    for i, one in enumerate(gate):
        expected = reference(g, one, wires, v_source, k)
        assert_solves(at_input(s, i), expected, 1e-11, least)
        if not k:  # certified
            error = np.abs(np.asarray(s.currents[i]) - expected.currents)
            assert (error <= np.asarray(s.error_bound[i])).all()


def random_gates(rng, inputs, m):
    """Rows that are on or off, and after the first input shares in between."""
    gate = rng.uniform(0, 1, (inputs, m))
    gate[:1] = rng.random(m) < 0.7
    return gate


def random_volts(rng, n):
    return rng.uniform(0.1, 0.4, n) * np.where(np.arange(n) % 3 == 1, -1, 1)


SHAPES = {(5, 7): 3, (1, 4): 1, (4, 1): 3, (1, 1): 1}


# Against nodal analysis.


@every_driver
@pytest.mark.parametrize(("shape", "inputs"), SHAPES.items(), ids=str)
def test_against_nodal_analysis(x64, rng, shape, inputs, driver):
    wires = SourceLines(**OHM, driver=driver)
    for severity in ("mild", "harsh", "extreme"):
        g, *_ = random_tile(rng, shape, severity)
        check(g, random_gates(rng, inputs, shape[0]), wires, random_volts(rng, shape[1]))


ZERO = [*[(name,) for name in OHM], ("source", "line"), ("bit", "sense"), ("line", "bit"), (*OHM,)]


@every_driver
@pytest.mark.parametrize("zero", ZERO, ids=str)
def test_perfect_lines(x64, rng, zero, driver):
    wires = SourceLines(**OHM | dict.fromkeys(zero, 0.0), driver=driver)
    g, *_ = random_tile(rng, (5, 7), "extreme")
    gate, v_source = random_gates(rng, 3, 5), random_volts(rng, 7)
    for k in (0.0, 5.0):
        check(g, gate, wires, v_source, k)
    if len(zero) == 4:
        s = solve(g, gate, wires, v_source)
        np.testing.assert_allclose(s.currents, gate @ g * v_source, rtol=1e-12, atol=1e-17)


@every_driver
@pytest.mark.parametrize("severity", ["mild", "harsh", "extreme"])
def test_sinh_cells(x64, rng, severity, driver):
    """The nodal analysis, and the sum of the currents into every node."""
    wires = SourceLines(**OHM, driver=driver)
    g, *_ = random_tile(rng, (5, 7), severity)
    gate, v_source = random_gates(rng, 3, 5), 3 * random_volts(rng, 7)
    for k in (1.0, 5.0):
        check(g, gate, wires, v_source, k)
        s = solve(g, gate, wires, v_source, k)
        current = law(gate[:, :, None] * g, np.asarray(s.cell_voltages), k)[0]
        np.testing.assert_allclose(s.device_currents, current, rtol=1e-8, atol=1e-14)
        a, b, ohm = wires_between(g.shape, wires)
        for i in range(3):
            nodes = [np.ravel(x[i]) for x in (s.word_voltages, s.bit_voltages)]
            volt = np.concatenate([v_source, 0 * v_source, *nodes])
            flow = (volt[a] - volt[b]) / ohm.astype(float)
            into = np.zeros(volt.size)
            np.add.at(into, a, -flow)
            np.add.at(into, b, flow)
            into[14:] += np.concatenate([-current[i].ravel(), current[i].ravel()])
            assert np.abs(into[14:]).max() < 1e-10 * np.abs(flow).max()
            # What the sense nodes take is what the drivers give.
            np.testing.assert_allclose(s.currents[i], into[7:14], rtol=1e-9)
            np.testing.assert_allclose(-into[:7], into[7:14], rtol=1e-9)


# What the topology promises.


def test_one_row_at_a_time_by_hand(x64, rng):
    """A cell alone has in series what lies between it and the two ends of its column."""
    g, *_ = random_tile(rng, (5, 7), "extreme")
    row = np.arange(5)[:, None]
    for driver, along in (("top", row), ("bottom", 4 - row)):
        series = 3.0 + 1.6 * along + 2.0 * (4 - row) + 4.0
        s = solve(g, np.eye(5), SourceLines(**OHM, driver=driver), np.full(7, 0.3))
        np.testing.assert_allclose(s.currents, 0.3 / (1 / g + series), rtol=1e-11)


def test_lines_driven_at_the_top_treat_all_rows_alike(x64):
    """Where both lines have the same segments, unlike lines driven at the bottom."""
    g = np.full((5, 7), 1e-2)
    of = lambda driver: np.asarray(
        solve(g, np.eye(5), SourceLines(3.0, 2.0, 2.0, 4.0, driver), np.full(7, 0.3)).currents
    )
    np.testing.assert_allclose(of("top"), np.full((5, 7), 0.3 / (100 + 15.0)), rtol=1e-11)
    bottom = of("bottom")
    assert (np.diff(bottom[:, 0]) > 1e-5).all()


@every_driver
def test_a_column_knows_nothing_of_the_others(x64, rng, driver):
    g, *_ = random_tile(rng, (5, 7), "extreme")
    gate, v_source = random_gates(rng, 3, 5), random_volts(rng, 7)
    wires = SourceLines(**OHM, driver=driver)
    s = solve(g, gate, wires, v_source)
    g[:, 1:], v_source[1:] = 0.2 * g[:, 1:], 2 * v_source[1:]
    other = solve(g, gate, wires, v_source)
    np.testing.assert_allclose(other.currents[:, 0], s.currents[:, 0], rtol=1e-11)
    assert (np.abs(other.currents[:, 1:] / s.currents[:, 1:] - 1) > 1e-2).all()


def test_a_gate_is_a_share_of_the_conductance(x64, rng):
    g, *_ = random_tile(rng, (5, 7), "harsh")
    gate, v_source = np.array([0.0, 1.0, 0.25, 1.5, 0.0]), random_volts(rng, 7)
    gates = np.stack([gate, gate, 0 * gate])  # of the shape that is compiled anyway
    for k in (0.0, 5.0):
        s = solve(g, gates, SourceLines(**OHM), v_source, k)
        whole = solve(gate[:, None] * g, np.ones((3, 5)), SourceLines(**OHM), v_source, k)
        np.testing.assert_allclose(s.currents[:2], whole.currents[:2], rtol=1e-12)
        np.testing.assert_array_equal(s.device_currents[:, gate == 0], 0.0)
        assert s.converged.all() and not np.any(s.currents[2])
        np.testing.assert_array_equal(s.word_voltages[2], np.tile(v_source, (5, 1)))
        off = solve(g, gates, SourceLines(**OHM), 0 * v_source, k)
        assert off.converged.all() and not np.any(off.currents) and not np.any(off.word_voltages)


def test_open_cells(x64, rng):
    g, *_ = random_tile(rng, (5, 7), "extreme")
    g[rng.random(g.shape) < 0.4], g[:, 3] = 0.0, 0.0
    gate, v_source = random_gates(rng, 3, 5), random_volts(rng, 7)
    for k in (0.0, 5.0):
        check(g, gate, SourceLines(**OHM), v_source, k)


# Batches, precision and transformations.


def test_batches_and_defaults(rng):
    g, *_ = random_tile(rng, (5, 7), dtype=np.float32)
    gate = random_gates(rng, 3, 5).astype(np.float32)
    wires = SourceLines(**OHM)
    expected = solve_source_lines(g, gate, wires, 0.3)
    alone = solve_source_lines(g, gate[1], wires)
    assert alone.currents.shape == (7,) and alone.word_voltages.shape == (5, 7)
    assert alone.converged.shape == alone.power.shape == ()
    for x, y in zip(jax.tree.leaves(alone), jax.tree.leaves(at_input(expected, 1)), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-7)
    none = solve_source_lines(g, gate[:0], wires)
    assert none.currents.shape == (0, 7) and none.power.shape == (0,)
    assert none.bit_voltages.shape == (0, 5, 7)
    lists = solve_source_lines(g.tolist(), gate.tolist(), wires, [0.3] * 7, jb.Ohmic())
    np.testing.assert_allclose(lists.currents, expected.currents, rtol=1e-6)
    # The driver is the first row's unless said otherwise.
    top = solve_source_lines(g, gate, dataclasses.replace(wires, driver="top"))
    np.testing.assert_array_equal(top.currents, expected.currents)


@pytest.mark.parametrize(("driver", "k"), [("top", 0.0), ("bottom", 5.0)])
def test_float32(rng, driver, k):
    wires = SourceLines(**OHM, driver=driver)
    for severity in ("mild", "harsh", "extreme"):
        g, *_ = random_tile(rng, (12, 4), severity, dtype=np.float32)
        gate, v_source = random_gates(rng, 2, 12), random_volts(rng, 4).astype(np.float32)
        s = solve(g, gate, wires, v_source, k)
        assert s.currents.dtype == jnp.float32 and s.converged.all()
        for i in range(2):
            expected = reference(g, gate[i].astype(np.float32), wires, v_source, k)
            assert_solves(at_input(s, i), expected, 2e-6)


@every_driver
def test_long_lines(x64, rng, driver):
    """Longer than one block, and of a length that needs padding."""
    g, *_ = random_tile(rng, (67, 2), "harsh")
    check(g, random_gates(rng, 2, 67), SourceLines(**OHM, driver=driver), random_volts(rng, 2))


@every_driver
def test_jit_and_vmap(x64, rng, driver):
    """Tiles, wires, inputs and laws of their own."""
    g = np.stack([random_tile(rng, (5, 7), x)[0] for x in ("mild", "harsh", "extreme")])
    gate, v_source = random_gates(rng, 3, 5), rng.uniform(0.1, 0.4, (3, 7))
    scale, k = np.array([1.0, 0.0, 2.5]), np.array([1.0, 3.0, 5.0])
    wires = SourceLines(**{name: ohm * scale for name, ohm in OHM.items()}, driver=driver)
    one = lambda g, gate, wires, v, k: solve_source_lines(g, gate, wires, v, Sinh(k))
    mapped = quick(jax.vmap(one))(g, gate, wires, v_source, k)
    assert mapped.currents.shape == (3, 7) and mapped.converged.all()
    for i in range(3):
        wire = at_input(wires, i)
        expected = reference(g[i], gate[i], wire, v_source[i], k[i])
        assert_solves(at_input(mapped, i), expected, 1e-11)


# Derivatives.


def arguments(rng):
    g, *_ = random_tile(rng, (4, 3), "extreme")
    g[1, 2] = 0.0
    gate = np.array([1.0, 0.3, 0.0, 0.8])
    args = {"g": g, "gate": gate, "v_source": 2 * random_volts(rng, 3), "k": 4.0, **OHM}
    return jax.tree.map(lambda x: jnp.asarray(x, float), args)


def wires_of(args, driver):
    return SourceLines(**{name: args[name] for name in OHM}, driver=driver)


@pytest.mark.parametrize(("kind", "driver"), [("ohmic", "top"), ("sinh", "bottom")])
def test_derivatives_of_every_entry(x64, rng, kind, driver):
    """The gradient, and the Hessian times a direction; a gate that is off and an open cell."""
    args = arguments(rng)
    if kind == "ohmic":
        del args["k"]

    def loss(args):
        cell = Sinh(args["k"]) if "k" in args else None
        wires = wires_of(args, driver)
        return weighted(solve_source_lines(args["g"], args["gate"], wires, args["v_source"], cell))

    def loss_by_nodes(args):
        args = {name: np.asarray(x, np.longdouble) for name, x in args.items()}
        wires, k = wires_of(args, driver), args.get("k", 0.0)
        return weighted(reference(args["g"], args["gate"], wires, args["v_source"], k))

    @quick
    def derivatives(args, towards):
        return jax.jvp(jax.value_and_grad(loss), (args,), (towards,))

    towards = jax.tree.map(lambda x: jnp.asarray(rng.uniform(-1, 1, x.shape)) * x, args)
    (_, slope), (forward, second) = derivatives(args, towards)
    along = sum(jnp.vdot(slope[name], towards[name]) for name in args)
    np.testing.assert_allclose(forward, along, rtol=1e-10)
    moved = lambda t: derivatives(jax.tree.map(lambda a, d: a + t * d, args, towards), towards)[0][
        1
    ]
    h = 1e-4
    samples = [moved(t * h) for t in (-2, -1, 1, 2)]
    for name, value in args.items():
        expected = differences(lambda x, n=name: loss_by_nodes({**args, n: x}), value)
        assert np.abs(expected).max() > 0
        atol = 1e-7 * float(np.abs(expected).max())
        np.testing.assert_allclose(
            slope[name], expected.astype(float), rtol=1e-7, atol=atol, err_msg=name
        )
        weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12 * h)
        expected = sum(w * x[name] for w, x in zip(weights, samples, strict=True))
        atol = 1e-6 * float(jnp.abs(expected).max())
        np.testing.assert_allclose(second[name], expected, rtol=1e-6, atol=atol, err_msg=name)


# Mistakes.


@pytest.mark.parametrize("name", OHM)
@pytest.mark.parametrize("ohm", [-1.0, np.nan, np.inf])
def test_resistances_out_of_range(name, ohm):
    with pytest.raises(ValueError, match=rf"SourceLines.{name} = {ohm} ohm: .*finite and ≥ 0"):
        SourceLines(**{name: ohm})


def test_mistakes(rng):
    g, v, *_ = random_tile(rng, (3, 4), dtype=np.float32)
    gate, wires = np.ones(3, np.float32), SourceLines(**OHM)
    with pytest.raises(ValueError, match=r"SourceLines.driver = 'left': .*'top', 'bottom'"):
        SourceLines(driver="left")
    for wrong in (np.ones(4), np.ones((2, 4)), np.ones((1, 1, 3)), 1.0):
        with pytest.raises(ValueError, match=r"gate has shape .*takes \(3,\) or \(B, 3\)"):
            solve_source_lines(g, wrong, wires)
    for wrong in (-0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"gate\[1\] = {wrong}: must be ≥ 0 and finite"):
            solve_source_lines(g, [1.0, wrong, 1.0], wires)
    for wrong in (np.ones(3), np.ones((1, 4)), np.ones(1)):
        with pytest.raises(ValueError, match=r"v_source has shape .*a scalar or \(4,\)"):
            solve_source_lines(g, gate, wires, wrong)
    with pytest.raises(ValueError, match=r"g\[0, 0\] = -"):
        solve_source_lines(-g, gate, wires)
    with pytest.raises(ValueError, match=r"g has shape \(4,\)"):
        solve_source_lines(g[0], gate, wires)
    with pytest.raises(ValueError, match=r"must be a jaxbar.SourceLines"):
        solve_source_lines(g, gate, jb.Wires(1.0, 1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match=r"takes jaxbar.solve_source_lines"):
        jb.solve(g, v, wires)
    with pytest.raises(ValueError, match=r"SourceLines.line has shape \(2,\): .*jax.vmap"):
        solve_source_lines(g, gate, SourceLines(line=np.ones(2)))
    with pytest.raises(ValueError, match=r"cell = Transistor with SourceLines"):
        solve_source_lines(g, gate, wires, cell=Transistor(1.0))
    with pytest.raises(ValueError, match=r"cell = 3: a cell law has a method current"):
        solve_source_lines(g, gate, wires, cell=3)
    for method in ("direct", "dense", "fused", "cg_library"):
        with pytest.raises(ValueError, match=f"'{method}' with source lines.*'auto' or 'cg'"):
            solve_source_lines(g, gate, wires, solver=jb.Solver(method))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_voltages_that_are_no_number(rng, wrong):
    """They are not refused, but nothing that comes of them passes for solved."""
    g, *_ = random_tile(rng, (3, 4), dtype=np.float32)
    s = solve_source_lines(g, np.ones(3, np.float32), SourceLines(**OHM), np.float32(wrong))
    assert not s.converged


# The power of a read, of these tiles and of all others.


def dissipated(volt, wires):
    """In the resistors (node, node, ohm > 0) between nodes at `volt`."""
    a, b, ohm = wires
    return np.sum((volt[a] - volt[b]) ** 2 / ohm)


def assert_power(s, delivered, in_wires):
    """What the drivers deliver, what the cells and what the lines dissipate; one input."""
    power = float(delivered)
    assert power > 0 and s.power.shape == s.cell_power.shape == s.wire_power.shape == ()
    cells = np.sum(np.asarray(s.cell_voltages) * np.asarray(s.device_currents))
    np.testing.assert_allclose(s.power, power, rtol=1e-10)
    np.testing.assert_allclose(s.wire_power, float(in_wires), rtol=1e-9, atol=1e-15 * power)
    np.testing.assert_allclose(s.cell_power, cells, rtol=1e-12)
    np.testing.assert_allclose(s.power, s.cell_power + s.wire_power, rtol=1e-15)


@every_driver
@pytest.mark.parametrize("k", [0.0, 5.0], ids=["ohmic", "sinh"])
def test_power_of_source_lines(x64, rng, k, driver):
    wires = SourceLines(**OHM, driver=driver)
    g, *_ = random_tile(rng, (5, 7), "extreme")
    gate, v_source = random_gates(rng, 3, 5), random_volts(rng, 7)
    s = solve(g, gate, wires, v_source, k)
    for i in range(3):
        at = at_input(s, i)
        nodes = [np.ravel(x) for x in (at.word_voltages, at.bit_voltages)]
        volt = np.concatenate([v_source, 0 * v_source, *nodes])
        in_wires = dissipated(volt, wires_between(g.shape, wires))
        assert_power(at, v_source @ np.asarray(at.currents), in_wires)
    perfect = solve(g, gate, SourceLines(driver=driver), v_source, k)
    np.testing.assert_array_equal(perfect.wire_power, 0.0)
    current = law(gate[:, :, None] * g, v_source, k)[0]
    np.testing.assert_allclose(perfect.power, (current @ v_source).sum(-1), rtol=1e-12)


CELLS = {"ohmic": None, "sinh": Sinh(5.0), "transistor": Transistor(1.2, lam=0.1)}


@pytest.mark.parametrize(
    ("cell", "far"), [("ohmic", "both far"), ("sinh", None), ("transistor", "both far")]
)
def test_power_of_word_lines(x64, rng, cell, far):
    """Σ v·i over both ends of all lines, with drivers on the bit lines too."""
    g, v, v_bit, wires = random_tile(rng, (4, 5), "extreme")
    wires = make_wires(rng, (4, 5), far) if far else wires
    s = quick_solve_word_lines(g, v, wires, v_bit, cell=CELLS[cell])
    a, b, ohm = resistors(g.shape, wires)
    for i in range(2):
        at = at_input(s, i)
        nodes = [np.ravel(x) for x in (at.word_voltages, at.bit_voltages)]
        volt = np.concatenate([v[i], v_bit[i], *nodes])
        # Every resistor of an end is (driver, node, ohm).
        end = a < 9
        delivered = np.sum(volt[a[end]] * (volt[a[end]] - volt[b[end]]) / ohm[end])
        assert_power(at, delivered, dissipated(volt, (a, b, ohm)))
        by_hand = v[i] @ np.sum(at.device_currents, 1) - v_bit[i] @ np.asarray(at.currents)
        np.testing.assert_allclose(at.power, by_hand, rtol=1e-10)


def test_power_of_floating_lines(x64, rng):
    """Lines that nobody drives deliver nothing."""
    g, v, v_bit, wires = random_tile(rng, (4, 5), "extreme", inputs=1)
    masks = np.array([0, 1, 0, 1], bool), np.array([0, 0, 1, 0, 0], bool)
    s = quick_solve_word_lines(g, jb.Bias(v[0], v_bit[0], *masks), wires)
    a, b, ohm = resistors(g.shape, wires, np.concatenate(masks))
    nodes = [np.ravel(x) for x in (s.word_voltages, s.bit_voltages)]
    volt = np.concatenate([v[0], v_bit[0], *nodes])
    end = a < 9
    delivered = np.sum(volt[a[end]] * (volt[a[end]] - volt[b[end]]) / ohm[end])
    assert_power(s, delivered, dissipated(volt, (a, b, ohm)))


def test_gradients_of_the_power(x64, rng):
    """With perfect lines by hand: ∂P/∂g = v² and ∂P/∂v = 2·I; then against differences."""
    g, v, _, wires = random_tile(rng, (4, 5), "extreme", inputs=1)
    power = lambda g, v, wires: jb.solve(g, v, wires, solver=jb.Solver("cg")).power
    slope = quick(jax.grad(power, (0, 1, 2)))
    by_g, by_v, _ = slope(g, v[0], jax.tree.map(jnp.zeros_like, wires))
    np.testing.assert_allclose(by_g, np.tile(v[0][:, None] ** 2, 5), rtol=1e-10)
    np.testing.assert_allclose(by_v, 2 * v[0] * g.sum(1), rtol=1e-10)
    # At fixed drives the network is linear: ∂P/∂R = −i² of the resistors, ∂P/∂g = u² of the cells.
    s = quick_solve_word_lines(g, v[0], wires)
    by_g, _, by_wires = slope(g, v[0], wires)
    np.testing.assert_allclose(by_g, np.asarray(s.cell_voltages) ** 2, rtol=1e-9)
    row = np.asarray(s.device_currents).sum(1)
    np.testing.assert_allclose(by_wires.source, -np.sum(row**2), rtol=1e-9)
    np.testing.assert_allclose(by_wires.sense, -np.sum(np.asarray(s.currents) ** 2), rtol=1e-9)
