"""1T1R cells in their wires: against ngspice, Kirchhoff, a nodal analysis and differences."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

import jaxbar as jb
from jaxbar import Transistor

from .test_newton import kirchhoff
from .test_wires import Nodal, assert_solves, components, differences, resistors, weighted
from .tiles import TRUTH, load, random_tile

CASE = "t1r_soft_N16"


def numpy_channel(z, b, beta, lam):
    """The current at z from drain to source, and its derivatives in z and in the overdrive b.

    Shichman & Hodges by region; at z < 0 the drain is the source.
    """
    swap = z < 0
    over, across = np.where(swap, b - z, b), np.abs(z)
    on, triode = over > 0, across < over
    long = 1 + lam * across
    low, high = (over - across / 2) * across, over * over / 2
    product = np.where(on, np.where(triode, low, high), 0.0)
    by_over = np.where(on, np.where(triode, across, over), 0.0)
    by_across = np.where(on & triode, over - across, 0.0) * long + lam * product
    sign = np.where(swap, -1.0, 1.0)
    by_z = by_across + np.where(swap, by_over * long, 0.0)
    return beta * sign * product * long, beta * by_z, beta * sign * by_over * long


def beta_of(cell):
    return cell.kp * cell.w_over_l


def node_voltages(size, wires, driven, elements):
    """Newton's method on the nodal equations of `size` nodes, the first of them driven.

    Args:
        wires: resistors (node, node, ohm); nodes joined by 0 ohm are one node.
        driven: the voltages of the first nodes.
        elements: of the voltages of all nodes, the currents (size,) that everything else
            delivers into each, and their derivatives (size, size).
    """
    a, b, ohm = wires
    name = components(size, a[ohm == 0], b[ohm == 0])
    real = ohm > 0
    laplacian = np.zeros((size, size), np.longdouble)
    for one, other in ((a[real], b[real]), (b[real], a[real])):
        np.add.at(laplacian, (one, one), 1 / ohm[real])
        np.add.at(laplacian, (one, other), -1 / ohm[real])
    count = len(driven)
    volt = np.zeros(name.max() + 1, np.longdouble)
    volt[name[:count]] = driven
    free = np.ones(volt.size, bool)
    free[name[:count]] = False
    to_free = np.eye(volt.size)[name][:, free]

    def at(volt):
        into, slope = elements(volt[name])
        return to_free.T @ (into - laplacian @ volt[name]), slope

    # Sums are extended in precision, so that the last step refines a solution.
    into, slope = at(volt)
    for _ in range(200):
        matrix = to_free.T @ (laplacian - slope).astype(float) @ to_free
        alone = ~matrix.any(1)
        matrix[alone, alone] = 1.0
        step = np.zeros_like(volt)
        step[free] = np.linalg.solve(matrix, into.astype(float))
        if np.abs(step).max() <= 1e-13:
            return (volt + step)[name]
        for length in 0.5 ** np.arange(30):
            new_into, new_slope = at(volt + length * step)
            if np.abs(new_into).sum() < np.abs(into).sum():
                break
        else:
            raise AssertionError("the reference is stuck")
        volt, into, slope = volt + length * step, new_into, new_slope
    raise AssertionError("the reference has not converged")


def add_between(into, slope, one, other, current, derivatives):
    """Adds elements from nodes `one` to `other`; derivatives are (node, dI/dV of it)."""
    np.add.at(into, one, -current)
    np.add.at(into, other, current)
    for node, by in derivatives:
        np.add.at(slope, (one, node), -by)
        np.add.at(slope, (other, node), by)


def reference(g, v, wires, v_bit, cell):
    """One input, (its solution, the middle voltages), on the nodes of lines and cells."""
    g = np.asarray(g, np.longdouble)
    m, n = g.shape
    ends = m + n
    word, bit, middle = ends + np.arange(3 * m * n).reshape(3, m * n)
    vg = np.broadcast_to(np.asarray(cell.vg, np.longdouble), m)[:, None] + 0 * g
    over, beta, lam = (vg - cell.vto).ravel(), beta_of(cell), cell.lam
    through = g.ravel()

    def elements(volt):
        into = np.zeros(volt.size, np.longdouble)
        slope = np.zeros((volt.size, volt.size), np.longdouble)
        memristor = through * (volt[word] - volt[middle])
        add_between(into, slope, word, middle, memristor, [(word, through), (middle, -through)])
        i, by_z, by_b = numpy_channel(volt[middle] - volt[bit], over - volt[bit], beta, lam)
        add_between(into, slope, middle, bit, i, [(middle, by_z), (bit, -by_z - by_b)])
        return into, slope

    volt = node_voltages(
        ends + 3 * m * n, resistors(g.shape, wires), np.concatenate([v, v_bit]), elements
    )
    at = [volt[x].reshape(m, n) for x in (word, bit, middle)]
    current = g * (at[0] - at[2])
    return Nodal(current.sum(0), current, *at[:2]), at[2]


# A small tile takes no time once compiled, and is compiled in half the time like this.
quick = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
quick_solve = quick(jb.solve, static_argnames="solver")

NAMES = [field.name for field in dataclasses.fields(Transistor)]


def solve(g, v, wires, v_bit, cell):
    """One program for each shape: all parameters are arrays."""
    return quick_solve(*jax.tree.map(jnp.asarray, (g, v, wires, v_bit)), cell=as_arrays(cell))


def as_arrays(cell):
    return jax.tree.map(lambda x: jnp.asarray(x, float), cell)


def cell_of(args):
    return Transistor(**{name: args[name] for name in NAMES})


# Gates row by row: strong, weak, cut off unless reversed, cut off, …
GATES = np.array([1.2, 0.55, 0.35, -5.0, 3.0, 0.41])


def gates(m):
    return np.resize(GATES, m)


def nodal_error(g, v, wires, v_bit, cell, s):
    """The largest error of Kirchhoff's law and of both devices' laws, relative to the currents.

    `s` holds a batch; all four resistances > 0.
    """
    word, bit = np.asarray(s.word_voltages), np.asarray(s.bit_voltages)
    middle = np.asarray(cell.middle_voltage(g, word, bit))
    memristor = g * (word - middle)
    over = np.reshape(cell.vg, (-1, 1)) - cell.vto - bit
    channel, *_ = numpy_channel(middle - bit, over, beta_of(cell), cell.lam)
    largest = np.abs(memristor).max()
    laws = np.abs(memristor - channel).max(), np.abs(memristor - s.device_currents).max()
    return max(*laws / largest, kirchhoff(g, v, v_bit, wires, s, memristor))


# Against ngspice.


def truth():
    """The arguments of `jb.solve`, then currents, word, bit and middle voltages."""
    g, v, _, wires, currents, word, bit = load(CASE)
    d = np.load(TRUTH / f"{CASE}.npz")
    names = {"vg": "vg", "vto": "vto", "kp": "kp", "w_over_l": "W_over_L", "lam": "lam"}
    cell = Transistor(**{ours: d[theirs] for ours, theirs in names.items()})
    return (g, v, wires), cell, currents, word, bit, d["V_mid"][None]


def test_truth_float64(x64):
    args, cell, currents, word, bit, middle = truth()
    s = quick_solve(*args, cell=cell)
    assert s.converged.all()
    np.testing.assert_allclose(s.currents, currents, rtol=1e-8)
    np.testing.assert_allclose(s.word_voltages, word, rtol=0, atol=1e-8)
    np.testing.assert_allclose(s.bit_voltages, bit, rtol=0, atol=1e-8)
    found = cell.middle_voltage(args[0], s.word_voltages, s.bit_voltages)
    np.testing.assert_allclose(found, middle, rtol=0, atol=1e-8)


def test_truth_float32():
    (g, v, wires), cell, currents, word, bit, _ = truth()
    s = quick_solve(g.astype(np.float32), v.astype(np.float32), wires, cell=cell)
    assert s.converged.all() and s.currents.dtype == jnp.float32
    np.testing.assert_allclose(s.currents, currents, rtol=1e-6)
    np.testing.assert_allclose(s.word_voltages, word, rtol=0, atol=1e-7)
    np.testing.assert_allclose(s.bit_voltages, bit, rtol=0, atol=1e-7)


# The law of one cell.

G = np.array([1e-9, 1e-6, 1e-4, 1e-2, 10.0])


@pytest.mark.parametrize("lam", [0.0, 0.1, 1.0])
def test_the_law_is_the_root_of_memristor_and_channel(x64, lam):
    cell = Transistor(0.9, lam=lam)
    beta = beta_of(cell)
    current = jax.jit(cell.current)
    u, bit = np.meshgrid(np.linspace(-1.5, 1.5, 13), [-0.3, 0.0, 0.45, 0.6, 1.1], indexing="ij")
    for g in G:
        found = np.asarray(current(g, u, bit))
        for at in np.ndindex(u.shape):
            b = 0.9 - 0.4 - bit[at]
            left = lambda w, g=g, at=at, b=b: g * w - numpy_channel(u[at] - w, b, beta, lam)[0]
            exact = g * brentq(left, 0.0, u[at], xtol=1e-18, rtol=1e-15)
            scale = min(g * abs(u[at]), abs(numpy_channel(u[at], b, beta, lam)[0]))
            np.testing.assert_allclose(found[at], exact, rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize("lam", [0.0, 0.3])
def test_derivatives_of_the_law(x64, rng, lam):
    """In both voltages, g and all parameters, in every region; and those of the middle voltage."""
    g = 10 ** rng.uniform(-7, -1, (6, 40))
    u, bit = rng.uniform(-1.5, 1.5, (2, 6, 40))
    args = {"g": g, "u": u, "bit": bit, **dataclasses.asdict(Transistor(gates(6), lam=lam))}
    args = jax.tree.map(lambda x: jnp.asarray(x, float), args)

    def law(args):
        g, u, bit = (args[name] for name in ("g", "u", "bit"))
        cell = cell_of(args)
        return cell.current(g, u, bit) * 1e3, cell.middle_voltage(g, u + bit, bit)

    law = quick(law)
    for name, value in args.items():
        # λ is never negative: a difference of one side.
        step = jnp.where(name == "lam", 1e-4, 1e-6 * value)
        moved = lambda t, name=name, step=step: law({**args, name: args[name] + t * step})
        derivative = jax.jvp(law, (args,), ({**jax.tree.map(jnp.zeros_like, args), name: step},))[1]
        if name == "lam" and not lam:
            weights = {0: -25 / 12, 1: 4, 2: -3, 3: 4 / 3, 4: -1 / 4}
        else:
            weights = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
        expected = [sum(w * moved(t)[k] for t, w in weights.items()) for k in range(2)]
        for found, exact in zip(derivative, expected, strict=True):
            off = jnp.abs(found - exact) / jnp.abs(exact).max()
            assert jnp.sort(off.ravel())[-3] < 1e-7, name


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_of_the_memristor(dtype):
    """Open: no current. Short: that of the transistor alone."""
    with jax.enable_x64(dtype == np.float64):
        cell = Transistor(gates(6), lam=0.1)
        u, bit = np.linspace(-1.5, 1.5, 31, dtype=dtype), dtype(0.1)
        channel, *_ = numpy_channel(u, gates(6)[:, None] - 0.4 - 0.1, beta_of(cell), 0.1)
        current = jax.jit(cell.current)
        shape = np.ones((6, 31), dtype)
        np.testing.assert_array_equal(current(0 * shape, u, bit), 0.0)
        slopes = jax.jit(jax.grad(lambda *x: jnp.sum(cell.current(*x)), (0, 1, 2)))
        for g in (0.0, 1e-30, 1e12):
            for slope in slopes(dtype(g) * shape, u * shape, bit * shape):
                assert jnp.isfinite(slope).all()
        short = current(dtype(1e9) * shape, u, bit)
        rtol = 1e-10 if dtype == np.float64 else 2e-6
        np.testing.assert_allclose(short, channel, rtol=rtol, atol=rtol * 1e-4)


def test_a_strong_gate_is_its_on_resistance(x64):
    """In series, I = U/(1/g + 1/(β·b)); the next order of both is known."""
    g, u = np.geomspace(1e-6, 1e-2, 5)[None], 0.3
    for b in (1e2, 1e3, 1e4):
        cell = Transistor(b + 0.4)
        on = beta_of(cell) * b
        series = g * on / (g + on)
        # The channel's g_on·(1 − z/2b) lowers the current by g/(g + g_on) of that share.
        z = series * u / on
        off = np.asarray(cell.current(g, u)) / (series * u) - 1
        np.testing.assert_allclose(off, -g / (g + on) * z / (2 * b), rtol=2e-3, atol=2e-15)


def test_float32_of_the_law_agrees_with_float64(x64, rng):
    cell = Transistor(gates(6), lam=0.1)
    g = (10 ** rng.uniform(-9, 0, (6, 200))).astype(np.float32)
    u, bit = rng.uniform(-1, 1, (2, 6, 200)).astype(np.float32)
    wide = [x.astype(np.float64) for x in (g, u, bit)]
    exact, by_bit = jax.jit(
        lambda *x: jax.jvp(lambda b: cell.current(*x[:2], b), x[2:], (1.0 + 0 * x[2],))
    )(*wide)
    found = jax.jit(cell.current)(g, u, bit)
    assert found.dtype == jnp.float32
    # An overdrive of 2e-7 V is lost in rounding voltages of 3 V.
    limit = 2e-6 * np.abs(exact) + 2e-7 * np.abs(by_bit)
    assert (np.abs(np.asarray(found, float) - exact) <= limit).all()


# The tile.


def middle_is_right(cell, g, s, middle):
    """The potential of an open cell's inner node is not asked for where no channel ties it."""
    found = np.asarray(cell.middle_voltage(g, s.word_voltages, s.bit_voltages))
    return np.abs(found - middle)[g > 0].max() < 1e-11


def test_tiles_under_vmap_against_nodal_analysis(x64, rng):
    """Tiles of every severity, each with wires and cells of its own."""
    tiles = [random_tile(rng, (4, 5), severity) for severity in ("mild", "harsh", "extreme")]
    cells = [Transistor(np.roll(gates(4), k), 0.4, 1e-4 * 2**k, 10.0, 0.1 * k) for k in range(3)]
    for g, v, *_ in tiles:
        v *= 4  # up to 1.2 V, of both signs: into saturation
        g[0, 1], g[1, 2], g[2, 3] = 0.0, 0.0, 1e3
    many = lambda trees: jax.tree.map(lambda *x: jnp.stack(jnp.broadcast_arrays(*x)), *trees)
    one = lambda tile, cell: jb.solve(tile[0], tile[1], tile[3], tile[2], cell=cell)
    mapped = quick(jax.vmap(one))(many(tiles), many([as_arrays(cell) for cell in cells]))
    assert mapped.converged.shape == (3, 2) and mapped.converged.all()
    for k, ((g, v, v_bit, wires), cell) in enumerate(zip(tiles, cells, strict=True)):
        for i in range(2):
            s = jax.tree.map(lambda x, k=k, i=i: x[k, i], mapped)
            expected, middle = reference(g, v[i], wires, v_bit[i], cell)
            assert_solves(s, expected, 1e-11)
            assert middle_is_right(cell, g, s, middle)


SHAPES = {(1, 6): 1, (6, 1): 3, (1, 1): None, (4, 5): 2}


@pytest.mark.parametrize(("shape", "inputs"), SHAPES.items(), ids=str)
def test_no_current_is_lost_in_a_node(x64, rng, shape, inputs):
    for severity, scale in (("mild", 1.0), ("harsh", 0.1), ("extreme", 5.0)):
        g, v, v_bit, wires = random_tile(rng, shape, severity, inputs=inputs or 1)
        v = scale * v
        for lam in (0.0, 0.2):
            cell = Transistor(gates(shape[0]), lam=lam)
            drives = (v, v_bit) if inputs else (v[0], v_bit[0])
            s = solve(g, drives[0], wires, drives[1], cell)
            assert s.converged.all() and s.currents.shape == (*drives[0].shape[:-1], shape[1])
            s = s if inputs else jax.tree.map(lambda x: x[None], s)
            assert nodal_error(g, v, wires, v_bit, cell, s) < 1e-10


def test_a_large_harsh_tile(x64):
    g, v, v_bit, wires = random_tile(np.random.default_rng(1), (64, 64), "harsh", dtype=np.float32)
    v, cell = 3 * v, Transistor(gates(64), lam=0.05)
    exact = solve(*(x.astype(float) for x in (g, v)), wires, v_bit.astype(float), cell)
    assert exact.converged.all() and (exact.iterations < 12).all()
    assert nodal_error(g.astype(float), v, wires, v_bit, cell, exact) < 1e-10
    with jax.enable_x64(False):
        single = jax.tree.map(np.float32, (wires, cell))
        s = quick_solve(g, v, single[0], v_bit, single[1])
        lame = quick_solve(g, v, single[0], v_bit, single[1], solver=jb.Solver(max_iterations=1))
    assert s.converged.all() and (s.iterations < 12).all() and s.currents.dtype == jnp.float32
    largest = np.abs(exact.currents).max()
    np.testing.assert_allclose(s.currents, exact.currents, rtol=0, atol=2e-6 * largest)
    np.testing.assert_allclose(s.word_voltages, exact.word_voltages, rtol=0, atol=2e-6)
    np.testing.assert_allclose(s.bit_voltages, exact.bit_voltages, rtol=0, atol=2e-6)
    # One step is not enough, and says so.
    assert not lame.converged.any() and (lame.residual > 1e-3).all()
    assert (np.abs(lame.currents - exact.currents) <= lame.error_bound).all()


def small(rng, severity="harsh"):
    """A tile of the one shape and batch that is compiled anyway."""
    return random_tile(rng, (4, 5), severity)


def test_perfect_wires_leave_the_law(x64, rng):
    g, v, v_bit, _ = small(rng)
    cell = Transistor(gates(4), lam=0.1)
    s = solve(g, 3 * v, jb.Wires(), v_bit, cell)
    bit = np.broadcast_to(v_bit[:, None], (2, 4, 5))
    law = np.asarray(cell.current(g, 3 * v[:, :, None] - bit, bit))
    np.testing.assert_allclose(s.device_currents, law, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(s.currents, law.sum(1), rtol=1e-12)
    np.testing.assert_allclose(s.bit_voltages, bit, rtol=0, atol=1e-15)


def test_perfect_lines_of_one_kind_against_nodal_analysis(x64, rng):
    g, v, v_bit, wires = small(rng, "extreme")
    cell = Transistor(gates(4))
    for zero in ({"word": 0.0, "source": 0.0}, {"bit": 0.0, "sense": 0.0}, {"source": 0.0}):
        perfect = dataclasses.replace(wires, **zero)
        s = solve(g, 3 * v, perfect, v_bit, cell)
        for i in range(2):
            expected, middle = reference(g, 3 * v[i], perfect, v_bit[i], cell)
            at = jax.tree.map(lambda x, i=i: x[i], s)
            assert_solves(at, expected, 1e-11)
            assert middle_is_right(cell, g, at, middle)


def test_rows_in_cut_off_carry_nothing(x64, rng):
    g, v, v_bit, wires = small(rng)
    vg = np.array([1.2, 0.2, 1.0, -3.0])  # at most 0.4 V above every line in rows 1 and 3
    v, v_bit = np.abs(v), np.abs(v_bit)
    s = solve(g, v, wires, v_bit, Transistor(vg))
    np.testing.assert_array_equal(s.device_currents[:, 1::2], 0.0)
    np.testing.assert_array_equal(s.word_voltages[:, 1::2], np.repeat(v[:, 1::2, None], 5, 2))
    assert (np.abs(s.device_currents[:, ::2]).max((1, 2)) > 1e-6).all()
    # As if these rows had no cells.
    without = solve(g * (vg > 0.4)[:, None], v, wires, v_bit, Transistor(vg))
    np.testing.assert_allclose(s.currents, without.currents, rtol=1e-11)
    # With every gate off nothing flows anywhere.
    off = solve(g, v, wires, v_bit, Transistor(np.full(4, -1.0)))
    assert off.converged.all() and not np.any(off.currents) and not np.any(off.residual)


def test_no_drive(x64, rng):
    g, v, v_bit, wires = small(rng)
    v[0], v_bit[0] = 0.0, 0.0
    v[1], v_bit[1] = 0.1, 0.1
    s = solve(g, v, wires, v_bit, Transistor(gates(4), lam=0.1))
    assert s.converged.all()
    for current in (s.currents, s.device_currents):
        np.testing.assert_array_equal(current, 0.0)
    nothing = solve(0 * g, v + 1, wires, v_bit, Transistor(gates(4)))
    assert nothing.converged.all() and not np.any(nothing.device_currents)


def test_drain_and_source_change_places(x64, rng):
    """The two ends of a cell are alike beside a short memristor, and not beside another."""
    cell = Transistor(np.array([0.9, 0.5, 0.45, 3.0]), lam=0.2)
    g = np.full((4, 5), 1e9)
    v, zero = np.full((2, 4), [[0.7], [-0.2]]), np.zeros((2, 5))
    forward = solve(g, v, jb.Wires(), zero, cell)
    backward = solve(g, 0 * v, jb.Wires(), zero + v[:, :1], cell)
    assert (np.abs(forward.device_currents) > 1e-6).all()
    np.testing.assert_allclose(
        backward.device_currents, -np.asarray(forward.device_currents), rtol=1e-6
    )
    # With the memristor at the source, its drop is taken from the overdrive.
    one = solve(g * 1e-12, v, jb.Wires(), zero, cell).device_currents
    other = solve(g * 1e-12, 0 * v, jb.Wires(), zero + v[:, :1], cell).device_currents
    assert (np.abs(one + other) > 1e-3 * np.abs(one)).all()


def test_small_signals_see_the_on_resistance(x64, rng):
    """A tile at 0 V is one of ohmic cells 1/(1/g + 1/(β·(vg − vto))), to second order."""
    g, v, v_bit, wires = small(rng)
    vg = np.array([1.2, 0.6, 3.0, 0.9])
    cell = Transistor(vg)
    on = beta_of(cell) * (vg - cell.vto)[:, None]
    ohmic = jb.solve(g * on / (g + on), v, wires, v_bit, solver=jb.Solver("cg"))
    largest = np.abs(ohmic.currents).max()
    off = {
        t: np.asarray(solve(g, t * v, wires, t * v_bit, cell).currents) / t - ohmic.currents
        for t in (1e-2, 1e-3, 1e-4)
    }
    assert np.abs(off[1e-4]).max() < 1e-4 * largest
    assert np.abs(off[1e-2]).max() > 1e-4 * largest
    np.testing.assert_allclose(off[1e-3], 0.1 * off[1e-2], rtol=0, atol=1e-5 * largest)
    np.testing.assert_allclose(off[1e-4], 0.1 * off[1e-3], rtol=0, atol=1e-7 * largest)


def test_a_strong_gate_leaves_the_memristors(x64, rng):
    g, v, v_bit, wires = small(rng)
    ohmic = jb.solve(g, v, wires, v_bit, solver=jb.Solver("cg"))
    s = solve(g, v, wires, v_bit, Transistor(np.full(4, 1e9)))
    np.testing.assert_allclose(s.currents, ohmic.currents, rtol=1e-8)


def test_no_inputs(rng):
    g, v, v_bit, wires = random_tile(rng, (4, 5), inputs=0, dtype=np.float32)
    s = quick_solve(g, v, wires, v_bit, Transistor(gates(4)))
    assert s.currents.shape == (0, 5) and s.device_currents.shape == (0, 4, 5)
    assert s.converged.shape == (0,)


# Derivatives.

OHMS = ("source", "word", "bit", "sense")


def arguments(rng):
    """Of one input: cells in all regions, one of them open."""
    g, v, v_bit, wires = random_tile(rng, (4, 5), "extreme", inputs=1)
    g[0, 1] = 0.0
    cell = Transistor(gates(4), 0.4, 3e-3, 4.0, 0.1)
    v = 3 * v[0]
    v[1], v[2] = 1.2, -0.8  # saturated, the latter as its drain is the source
    args = {"g": g, "v": v, "v_bit": v_bit[0], **dataclasses.asdict(cell)}
    args |= {name: getattr(wires, name) for name in OHMS}
    return jax.tree.map(lambda x: jnp.asarray(x, float), args)


def wires_of(args):
    return jb.Wires(**{name: args[name] for name in OHMS})


def loss(args):
    cell = cell_of(args)
    return weighted(jb.solve(args["g"], args["v"], wires_of(args), args["v_bit"], cell=cell))


@quick
def derivatives(args, towards):
    """The derivative in a direction, the gradient and the Hessian times the direction."""
    both = jax.jvp(jax.value_and_grad(loss), (args,), (towards,))
    (_, slope), (forward, moved) = both
    return forward, slope, moved


def loss_by_nodes(args):
    cell = cell_of({name: np.asarray(args[name], np.longdouble) for name in NAMES})
    wires = jb.Wires(**{name: np.asarray(args[name], np.longdouble) for name in OHMS})
    return weighted(reference(args["g"], args["v"], wires, args["v_bit"], cell)[0])


def direction(rng, args):
    return jax.tree.map(lambda x: jnp.asarray(rng.uniform(-1, 1, x.shape)) * x, args)


def test_gradients_of_every_entry(x64, rng):
    args = arguments(rng)
    towards = direction(rng, args)
    forward, slope, _ = derivatives(args, towards)
    for name, value in args.items():
        at = lambda x, name=name: loss_by_nodes({**args, name: x})
        expected = differences(at, value).astype(float)
        assert np.abs(expected).max() > 0
        atol = 1e-7 * np.abs(expected).max()
        np.testing.assert_allclose(slope[name], expected, rtol=1e-7, atol=atol, err_msg=name)
    along = sum(jnp.vdot(slope[name], towards[name]) for name in args)
    np.testing.assert_allclose(forward, along, rtol=1e-10)


def test_gradients_at_perfect_wires(x64, rng):
    args = arguments(rng) | dict.fromkeys(OHMS, jnp.zeros(()))
    _, slope, _ = derivatives(args, direction(rng, args))
    for name in OHMS:
        h = 1e-3
        values = [float(loss_by_nodes({**args, name: i * h})) for i in range(5)]
        expected = np.dot([-25.0, 48, -36, 16, -3], values) / (12 * h)
        np.testing.assert_allclose(slope[name], expected, rtol=1e-6, err_msg=name)


def test_second_order(x64, rng):
    """The Hessian times a direction, against differences of the gradient."""
    args = arguments(rng)
    towards = direction(rng, args)
    moved = lambda t: derivatives(jax.tree.map(lambda a, d: a + t * d, args, towards), towards)[1]
    h = 1e-5
    near = jax.tree.map(lambda a, b: (a - b) / (2 * h), moved(h), moved(-h))
    wide = jax.tree.map(lambda a, b: (a - b) / (4 * h), moved(2 * h), moved(-2 * h))
    expected = jax.tree.map(lambda a, b: (4 * a - b) / 3, near, wide)
    for name, found in derivatives(args, towards)[2].items():
        atol = 1e-6 * float(jnp.abs(expected[name]).max())
        np.testing.assert_allclose(found, expected[name], rtol=1e-6, atol=atol, err_msg=name)


# Mistakes.


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kp": 0.0}, r"Transistor.kp = 0.0: must be finite and > 0, in A/V²"),
        ({"kp": -2e-4}, r"Transistor.kp = -0.0002: must be finite and > 0"),
        ({"kp": np.nan}, r"Transistor.kp = nan"),
        ({"w_over_l": 0}, r"Transistor.w_over_l = 0: must be finite and > 0"),
        ({"w_over_l": np.inf}, r"Transistor.w_over_l = inf"),
        ({"lam": -0.1}, r"Transistor.lam = -0.1: must be finite and ≥ 0, in 1/V"),
        ({"lam": np.nan}, r"Transistor.lam = nan"),
        ({"vto": np.nan}, r"Transistor.vto = nan: must be finite, in V"),
        ({"vg": [1.0, np.nan, 2.0]}, r"Transistor.vg\[1\] = nan: must be finite, in V"),
        ({"vg": -np.inf}, r"Transistor.vg = -inf"),
        ({"vg": "high"}, r"Transistor.vg = 'high': must be a number"),
    ],
    ids=str,
)
def test_parameters_out_of_range(parameters, match):
    with pytest.raises(ValueError, match=match):
        Transistor(**{"vg": 1.0, **parameters})


def test_mistakes(rng):
    g, v, v_bit, wires = random_tile(rng, (3, 4), dtype=np.float32)
    for vg in (np.ones(2), np.ones(4), np.ones(1), np.ones((3, 1)), np.ones((2, 3))):
        with pytest.raises(ValueError, match=r"Transistor.vg has shape .* a scalar or \(3,\)"):
            jb.solve(g, v, wires, cell=Transistor(vg))
    for method in ("direct", "dense", "fused", "cg_library"):
        with pytest.raises(ValueError, match=f"'{method}' with Transistor cells.*'auto' or 'cg'"):
            jb.solve(g, v, wires, v_bit, cell=Transistor(1.0), solver=jb.Solver(method))
    floating = jb.Bias(v[0], v_bit[0], np.array([True, False, False]))
    with pytest.raises(ValueError, match=r"floating lines, with Transistor.*drive every line"):
        jb.solve(g, floating, wires, cell=Transistor(1.0))
    with pytest.raises(ValueError, match=r"g\[0, 0\] = nan S"):
        jb.solve(g * np.float32(np.nan), v, wires, cell=Transistor(1.0))


@pytest.mark.parametrize("name", ["vto", "kp", "w_over_l", "lam"])
def test_only_gates_differ_by_row(name):
    """A vector of another parameter is not taken for one by column."""
    g = np.full((3, 4), 1e-4)
    with pytest.raises(ValueError, match=f"Transistor.{name}"):
        Transistor(1.0, **{name: np.full(4, 0.1)}).current(g, 0.1 * np.ones((3, 4)))
