"""Lines whose segments differ, or that are connected at both ends, against nodal analysis."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp

import jaxbar as jb
from jaxbar.circuit import nodal_drive

from .tiles import random_tile

SHAPES = [(5, 7), (7, 5), (1, 4), (4, 1), (1, 1), (12, 9)]


class Nodal(NamedTuple):
    """What a network is solved to, by the names of a `jb.Solution`; one input."""

    currents: np.ndarray
    device_currents: np.ndarray
    word_voltages: np.ndarray
    bit_voltages: np.ndarray


def resistors(shape, wires, floating=None):
    """All wires as (node, node, ohm); written apart from jaxbar's equations.

    Nodes 0 … M-1 are the drivers of word lines, M … M+N-1 the sense nodes, then the word-line
    nodes and the bit-line nodes. A floating line, of bools (M + N,), has no driver at all.
    """
    m, n = shape
    word, bit = m + n + np.arange(2 * m * n).reshape(2, m, n)
    drivers, senses = np.split(np.arange(m + n), [m])
    by_row = np.asarray(wires.bit, float)
    far = [np.inf if r is None else r for r in (wires.source_far, wires.sense_far)]
    parts = [
        (drivers, word[:, 0], wires.source),
        (senses, bit[-1], wires.sense),
        (drivers, word[:, -1], far[0]),
        (senses, bit[0], far[1]),
        (word[:, :-1], word[:, 1:], wires.word),
        (bit[:-1], bit[1:], by_row[:, None] if by_row.ndim == 1 else by_row),
    ]
    flat = [[np.ravel(x) for x in np.broadcast_arrays(*part)] for part in parts]
    a, b, ohm = (np.concatenate(x) for x in zip(*flat, strict=True))
    attached = np.isfinite(ohm)
    if floating is not None:
        attached &= ~np.isin(a, np.flatnonzero(floating))
    return a[attached], b[attached], ohm[attached].astype(np.longdouble)


def network(g, wires, word, bit, floating=None, k=0.0):
    """One input of a tile of cells g·sinh(k·U)/k by Newton's method on the nodal equations.

    Nodes joined by 0 ohm are one node, and what is joined to no driver is at 0 V. The sums of
    currents are extended in precision, so that the steps also refine a linear solution.
    """
    g = np.asarray(g)
    m, n = g.shape
    a, b, ohm = resistors(g.shape, wires, floating)
    size = m + n + 2 * m * n
    nodes = np.arange(m + n, size).reshape(2, m * n)
    name = components(size, a[ohm == 0], b[ohm == 0])
    s, conducts = 1 / ohm[ohm > 0], g.ravel() > 0
    one = name[np.concatenate([a[ohm > 0], nodes[0]])]
    other = name[np.concatenate([b[ohm > 0], nodes[1]])]
    count = name.max() + 1
    incidence = np.zeros((one.size, count), np.longdouble)
    np.add.at(incidence, (np.arange(one.size), one), 1.0)
    np.add.at(incidence, (np.arange(one.size), other), -1.0)

    driven = np.ones(m + n, bool) if floating is None else ~np.asarray(floating)
    used = np.concatenate([np.ones(s.size, bool), conducts])
    part = components(count, one[used], other[used])
    free = np.isin(part, part[name[: m + n][driven]])
    free[name[: m + n]] = False
    volt = np.zeros(count, np.longdouble)
    volt[name[: m + n][driven]] = np.concatenate([word, bit])[driven]

    for _ in range(60):
        across = incidence @ volt
        u = across[s.size :]
        current, slope = g.ravel() * u, g.ravel() * np.ones_like(u)
        if k:
            current, slope = g.ravel() * np.sinh(k * u) / k, g.ravel() * np.cosh(k * u)
        into = -incidence.T @ np.concatenate([s * across[: s.size], current])
        rows = incidence[:, free].astype(float)
        matrix = rows.T @ (np.concatenate([s, slope]).astype(float)[:, None] * rows)
        step = np.linalg.solve(matrix, into[free].astype(float)) if free.any() else np.zeros(1)
        volt[free] += step if free.any() else 0.0
        if np.abs(step).max() <= 1e-18:
            break
    else:
        raise AssertionError("the reference has not converged")
    at = volt[name]
    current = current.reshape(m, n)
    return Nodal(current.sum(0), current, *at[m + n :].reshape(2, m, n))


def components(size, a, b):
    """The number of the connected part of each of `size` nodes, joined by edges a-b."""
    graph = sp.coo_matrix((np.ones(a.size), (a, b)), (size, size))
    return sp.csgraph.connected_components(graph, directed=False)[1]


def assert_solves(s, expected, rtol, least=0.0):
    """Every array within rtol of the largest entry of its kind, currents of `least` at least."""
    for name, exact in expected._asdict().items():
        found = np.asarray(getattr(s, name), np.longdouble)
        largest = max(np.abs(exact).max(), least)
        if "voltages" in name:
            largest = np.abs(expected.word_voltages).max()
        np.testing.assert_allclose(found, exact, rtol=0, atol=rtol * largest, err_msg=name)


def weighted(s):
    """A scalar of all of a solution, for jax and NumPy."""
    total = 0.0
    for k, x in enumerate(
        (s.currents * 1e3, s.device_currents * 1e3, s.word_voltages, s.bit_voltages)
    ):
        weight = np.cos(np.arange(x.size) + k).reshape(x.shape)
        total = total + (weight * x).sum() + (weight * x**2).sum()
    return total


def differences(f, x, h=1e-5):
    """The gradient of f at x by central differences, 0 at infinite entries; h relative."""
    x = np.asarray(x, np.longdouble)
    slope = np.zeros(x.shape, np.longdouble)
    for at in np.ndindex(x.shape):
        if np.isinf(x[at]):
            continue
        step = np.zeros_like(x)
        step[at] = h * (abs(x[at]) if x[at] else np.abs(x).max())
        slope[at] = (f(x + step) - f(x - step)) / (2 * step[at])
    return slope


def ohms(rng, *shape):
    return rng.uniform(0.5, 8.0, shape)


def make_wires(rng, shape, form):
    m, n = shape
    short = jb.Wires(ohms(rng, m), ohms(rng, n - 1), ohms(rng, m - 1), ohms(rng, n))
    full = jb.Wires(ohms(rng, m), ohms(rng, m, n - 1), ohms(rng, m - 1, n), ohms(rng, n))
    scalar = jb.Wires(3.0, 1.0, 0.8, 4.0)
    with_some = lambda value, x: np.where(rng.random(x.shape) < 0.4, value, x)
    far = {"source_far": ohms(rng, m), "sense_far": ohms(rng, n)}
    replace = dataclasses.replace
    return {
        "short": lambda: short,
        "full": lambda: full,
        "mixed": lambda: replace(scalar, word=full.word, bit=short.bit),
        "zeros": lambda: jax.tree.map(lambda x: with_some(0.0, x), full),
        "source zero": lambda: replace(full, source=0.0, bit=0.0),
        "all but one zero": lambda: replace(jb.Wires(), sense=short.sense),
        "source_far": lambda: replace(scalar, source_far=2.5),
        "sense_far": lambda: replace(scalar, sense_far=far["sense_far"]),
        "both far": lambda: replace(full, **far),
        "some far": lambda: replace(short, **{k: with_some(np.inf, x) for k, x in far.items()}),
        "far open": lambda: replace(full, source_far=np.inf, sense_far=np.full(n, np.inf)),
        "far zero": lambda: replace(full, source_far=0.0, sense_far=with_some(0.0, ohms(rng, n))),
        "far, zeros": lambda: replace(
            jax.tree.map(lambda x: with_some(0.0, x), full), source_far=0.0, sense_far=1.5
        ),
    }[form]()


FORMS = [
    *("short", "full", "mixed", "zeros", "source zero", "all but one zero"),
    *("source_far", "sense_far", "both far", "some far", "far open", "far zero", "far, zeros"),
]


# As good as rounding allows.
FINE = jb.Solver(tolerance=1e-15)


def first(s):
    return jax.tree.map(lambda x: x[0], s)


CASES = [((5, 7), form) for form in FORMS]
CASES += [
    (shape, form)
    for shape in SHAPES[1:]
    for form in ("short", "full", "zeros", "both far", "some far", "far zero", "far, zeros")
]


@pytest.mark.parametrize(("shape", "form"), CASES, ids=str)
def test_against_nodal_analysis(x64, rng, shape, form):
    wires = make_wires(rng, shape, form)
    for severity in ("mild", "extreme"):
        g, v, v_bit, _ = random_tile(rng, shape, severity, inputs=1)
        s = jb.solve(g, v, wires, v_bit, solver=FINE)
        assert s.converged.all()
        assert_solves(first(s), network(g, wires, v[0], v_bit[0]), 1e-12)


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form not in ("source_far", "sense_far")]
)
def test_float32(rng, form):
    for severity in ("mild", "extreme"):
        g, v, v_bit, _ = random_tile(rng, (12, 9), severity, inputs=1, dtype=np.float32)
        wires = make_wires(rng, g.shape, form)
        s = jb.solve(g, v, wires, v_bit)
        assert s.currents.dtype == jnp.float32 and s.converged.all()
        assert_solves(first(s), network(g, wires, v[0], v_bit[0]), 5e-6)


@pytest.mark.parametrize("shape", [(5, 7), (4, 1)], ids=str)
def test_the_nodal_matrix(x64, rng, shape):
    """Matrix and drive, entry by entry, also with far ends."""
    g, v, v_bit, _ = random_tile(rng, shape, inputs=1)
    for form in ("full", "both far"):
        wires = make_wires(rng, shape, form)
        a, b, ohm = resistors(shape, wires)
        ends, cells = sum(shape), g.size
        a = np.concatenate([a, ends + np.arange(cells)])
        b = np.concatenate([b, ends + cells + np.arange(cells)])
        s = np.concatenate([1 / ohm, g.ravel()])
        laplacian = np.zeros((ends + 2 * cells,) * 2)
        for one, other, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            np.add.at(laplacian, (one, other), sign * s)
        matrix = jb.nodal_matrix(g, wires)
        np.testing.assert_allclose(matrix, laplacian[ends:, ends:], rtol=1e-14)
        drive = -laplacian[ends:, :ends] @ np.concatenate([v[0], v_bit[0]])
        np.testing.assert_allclose(nodal_drive(v[0], v_bit[0], wires), drive, rtol=1e-14)


def test_arrays_of_equal_values_are_the_scalars(x64, rng):
    g, v, v_bit, scalar = random_tile(rng, (5, 7), "extreme", inputs=1)
    expected = jb.solve(g, v, scalar, v_bit, solver=jb.Solver("cg", 1e-15))
    full = lambda ohm, *shape: np.full(shape, ohm)
    for wires in (
        dataclasses.replace(scalar, source=full(scalar.source, 5)),
        dataclasses.replace(scalar, word=full(scalar.word, 6)),
        dataclasses.replace(scalar, word=full(scalar.word, 5, 6)),
        dataclasses.replace(scalar, bit=full(scalar.bit, 4)),
        dataclasses.replace(scalar, bit=full(scalar.bit, 4, 7), sense=full(scalar.sense, 7)),
        dataclasses.replace(scalar, source_far=np.inf, sense_far=full(np.inf, 7)),
    ):
        s = jb.solve(g, v, wires, v_bit, solver=FINE)
        np.testing.assert_allclose(s.currents, expected.currents, rtol=1e-12)
        np.testing.assert_allclose(s.word_voltages, expected.word_voltages, rtol=0, atol=1e-13)
        np.testing.assert_allclose(s.bit_voltages, expected.bit_voltages, rtol=0, atol=1e-13)


def test_a_tile_between_two_drivers_is_symmetric(x64, rng):
    """Turned by 180°, near and far ends change places."""
    g, v, v_bit, _ = random_tile(rng, (5, 7), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, "both far")
    turned = jb.Wires(
        source=wires.source_far[::-1],
        word=wires.word[::-1, ::-1],
        bit=wires.bit[::-1, ::-1],
        sense=wires.sense_far[::-1],
        source_far=wires.source[::-1],
        sense_far=wires.sense[::-1],
    )
    one = jb.solve(g, v, wires, v_bit, solver=FINE)
    other = jb.solve(g[::-1, ::-1], v[:, ::-1], turned, v_bit[:, ::-1], solver=FINE)
    np.testing.assert_allclose(other.currents[:, ::-1], one.currents, rtol=1e-12)
    back = np.asarray(other.word_voltages)[:, ::-1, ::-1]
    np.testing.assert_allclose(back, one.word_voltages, rtol=0, atol=1e-14)


@pytest.mark.parametrize("form", ["full", "zeros", "some far", "far, zeros"])
@pytest.mark.parametrize("k", [2.0, 8.0])
def test_cells_of_another_law(x64, rng, form, k):
    g, v, v_bit, _ = random_tile(rng, (5, 7), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, form)
    s = jb.solve(g, v, wires, v_bit, jb.Sinh(k), FINE)
    assert s.converged.all()
    assert_solves(first(s), network(g, wires, v[0], v_bit[0], k=k), 1e-12)


GRADIENTS = [("short", 0.0), ("full", 5.0), ("source_far", 0.0), ("some far", 0.0)]
GRADIENTS += [("some far", 5.0)]


@pytest.mark.parametrize(("form", "k"), GRADIENTS)
def test_gradients_of_every_entry(x64, rng, form, k):
    g, v, v_bit, _ = random_tile(rng, (4, 5), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, form)
    cell = jb.Sinh(k) if k else None

    def loss(wires):
        return weighted(jb.solve(g, v[0], wires, v_bit[0], cell, FINE))

    slope = jax.jit(jax.grad(loss))(jax.tree.map(jnp.asarray, wires))
    for field in dataclasses.fields(wires):
        value = getattr(wires, field.name)
        if value is None:
            continue

        def at(x, name=field.name):
            moved = dataclasses.replace(wires, **{name: x})
            return weighted(network(g, moved, v[0], v_bit[0], k=k))

        expected = differences(at, value)
        found = getattr(slope, field.name)
        assert found.shape == np.shape(value)
        # An open far end has no derivative, exactly.
        np.testing.assert_array_equal(np.where(np.isinf(value), found, 0.0), 0.0)
        atol = 1e-9 * np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol, err_msg=field.name)


def test_gradients_of_zeros(x64, rng):
    """Where a wire is perfect, the derivative from above."""
    g, v, v_bit, _ = random_tile(rng, (4, 5), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, "far, zeros")
    loss = lambda wires: weighted(jb.solve(g, v[0], wires, v_bit[0], solver=FINE))
    slope = jax.jit(jax.grad(loss))(jax.tree.map(jnp.asarray, wires))
    h, entries = 1e-3, 0
    for name in ("word", "bit", "sense", "source"):
        for at in np.argwhere(getattr(wires, name) == 0.0):
            values = []
            for k in range(5):
                moved = getattr(wires, name).copy()
                moved[tuple(at)] = k * h
                network_ = network(g, dataclasses.replace(wires, **{name: moved}), v[0], v_bit[0])
                values.append(weighted(network_))
            expected = np.dot([-25.0, 48, -36, 16, -3], values) / (12 * h)
            found = getattr(slope, name)[tuple(at)]
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=f"{name}{at}")
            entries += 1
    assert entries > 5


def test_jit_and_vmap_over_wires(x64, rng):
    g, v, v_bit, _ = random_tile(rng, (5, 7), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, "some far")
    wires = dataclasses.replace(wires, word=ohms(rng, 3, 5, 6), sense=ohms(rng, 3, 7))
    axes = jb.Wires(None, 0, None, 0)
    one = lambda wires: jb.solve(g, v[0], wires, v_bit[0], solver=FINE)
    mapped = jax.jit(jax.vmap(one, (axes,)))(wires)
    for k in range(3):
        alone = dataclasses.replace(wires, word=wires.word[k], sense=wires.sense[k])
        s = jax.tree.map(lambda x, k=k: x[k], mapped)
        assert_solves(s, network(g, alone, v[0], v_bit[0]), 1e-12)


@pytest.mark.parametrize("form", ["zeros", "some far"])
@pytest.mark.parametrize("shape", [(5, 7), (4, 1)], ids=str)
def test_effective_conductance_column_by_column(x64, rng, shape, form):
    g, *_ = random_tile(rng, shape, "extreme")
    wires = make_wires(rng, shape, form)
    w = jb.effective_conductance(g, wires, FINE)
    assert w.shape == shape
    for row, v in enumerate(np.eye(shape[0])):
        expected = network(g, wires, v, np.zeros(shape[1])).currents
        np.testing.assert_allclose(w[row], expected, rtol=0, atol=1e-12 * np.abs(w).max())


def test_the_library_loop_takes_them(x64, rng):
    g, v, v_bit, _ = random_tile(rng, (5, 7), "extreme", inputs=1)
    wires = make_wires(rng, g.shape, "some far")
    s = jb.solve(g, v, wires, v_bit, solver=jb.Solver("cg_library", 1e-15))
    assert_solves(first(s), network(g, wires, v[0], v_bit[0]), 1e-12)


@pytest.mark.parametrize(
    ("name", "shape", "choices"),
    [
        ("source", (4,), r"a scalar or \(3,\)"),
        ("source", (1,), r"a scalar or \(3,\)"),
        ("source", (3, 1), r"a scalar or \(3,\)"),
        ("word", (4,), r"a scalar or \(3, 3\) or \(3,\)"),
        ("word", (2, 3), r"a scalar or \(3, 3\) or \(3,\)"),
        ("word", (1, 3, 3), r"a scalar or \(3, 3\) or \(3,\)"),
        ("bit", (3,), r"a scalar or \(2, 4\) or \(2,\)"),
        ("bit", (3, 4), r"a scalar or \(2, 4\) or \(2,\)"),
        ("sense", (3,), r"a scalar or \(4,\)"),
        ("source_far", (4,), r"a scalar or \(3,\)"),
        ("sense_far", (3,), r"a scalar or \(4,\)"),
    ],
)
def test_wrong_shapes(name, shape, choices):
    g, v = np.full((3, 4), 1e-4), np.ones(3)
    wires = jb.Wires(**{name: np.ones(shape)})
    given = str(shape).replace("(", r"\(").replace(")", r"\)")
    message = rf"wires.{name} has shape {given}: a tile of 3×4 takes {choices}, in ohm"
    with pytest.raises(ValueError, match=message):
        jb.solve(g, v, wires)
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda wires: jb.solve(g, v, wires).currents)(wires)
    with pytest.raises(ValueError, match=message):
        jb.effective_conductance(g, wires)


@pytest.mark.parametrize(
    ("wires", "message"),
    [
        (dict(source=[1.0, -2.0]), r"Wires.source\[1\] = -2.0 ohm: a line resistance must be"),
        (dict(word=np.array([[1, 1], [1, -3.0]])), r"Wires.word\[1, 1\] = -3.0 ohm"),
        (dict(bit=[np.nan, 1.0]), r"Wires.bit\[0\] = nan ohm"),
        (dict(sense=[1.0, np.inf]), r"Wires.sense\[1\] = inf ohm: .*finite and ≥ 0"),
        (dict(word=np.inf), "Wires.word = inf ohm"),
        (dict(source_far=-1.0), "Wires.source_far = -1.0 ohm.*an open far end None"),
        (dict(source_far=[np.inf, -np.inf]), r"Wires.source_far\[1\] = -inf ohm"),
        (dict(sense_far=[1.0, np.nan]), r"Wires.sense_far\[1\] = nan ohm"),
    ],
)
def test_wrong_values(wires, message):
    with pytest.raises(ValueError, match=message):
        jb.Wires(**wires)


@pytest.mark.parametrize("method", ["direct", "dense", "fused"])
@pytest.mark.parametrize("form", ["short", "source_far", "far open"])
def test_methods_that_do_not_take_them(rng, method, form):
    wires, g = make_wires(rng, (3, 4), form), np.full((3, 4), 1e-4)
    message = f"Solver.method = '{method}' with wires given by segment or with far ends.*'cg'"
    with pytest.raises(ValueError, match=message):
        jb.solve(g, np.ones(3), wires, solver=jb.Solver(method))
    with pytest.raises(ValueError, match=message):
        jb.effective_conductance(g, wires, jb.Solver(method))


def test_plain():
    assert jb.Wires().plain and jb.Wires(np.float64(1.0), jnp.ones(())).plain
    assert not jb.Wires(word=[1.0]).plain
    assert not jb.Wires(source_far=np.inf).plain
    assert not jb.Wires(sense_far=1.0).plain
