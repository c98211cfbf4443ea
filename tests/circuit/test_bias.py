"""Biases and lines that nobody drives, against a nodal analysis where they have no driver."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import Bias, Sinh

from .test_wires import (
    assert_solves,
    differences,
    first,
    make_wires,
    network,
    resistors,
    weighted,
)
from .tiles import random_tile


def floating_of(bias):
    """Which of the M + N lines float."""
    parts = zip((bias.word_floating, bias.bit_floating), (bias.word, bias.bit), strict=True)
    return np.concatenate(
        [np.zeros(np.shape(v)[-1], bool) if f is None else np.asarray(f) for f, v in parts]
    )


def reference(g, bias, wires, k=0.0):
    word, bit = np.asarray(bias.word, float), np.asarray(bias.bit, float)
    return network(g, wires, word, bit, floating_of(bias), k)


def biases(rng, shape):
    """Some with floating lines, of one input each."""
    m, n = shape
    word, bit = rng.uniform(-1, 1, m), rng.uniform(-0.3, 0.3, n)
    return {
        "read": Bias.read(shape, 0.3, m - 1, 0, "floating"),
        "read row": Bias.read(shape, 0.3, m // 2, None, "floating"),
        "read column": Bias.read(shape, 0.3 * word, None, n - 1, "floating"),
        "write": Bias.write(shape, 0, n - 1, 1.0, "floating"),
        "random": Bias(word, bit, rng.random(m) < 0.5, rng.random(n) < 0.5),
        "words": Bias(word, bit, rng.random(m) < 0.7, None),
        "bits": Bias(word, bit, None, rng.random(n) < 0.7),
    }


NAMES = ["read", "read row", "read column", "write", "random", "words", "bits"]
WIRES = {
    "scalars": lambda rng, shape: jb.Wires(3.0, 2.0, 1.6, 4.0),
    "none": lambda rng, shape: jb.Wires(),
    "perfect words": lambda rng, shape: jb.Wires(bit=2.0, sense=1.0),
    "both far": lambda rng, shape: make_wires(rng, shape, "both far"),
    "some far": lambda rng, shape: make_wires(rng, shape, "some far"),
    "far, zeros": lambda rng, shape: make_wires(rng, shape, "far, zeros"),
}


# The voltages of each scheme.


def check_bias(bias, word, bit, word_floating=None, bit_floating=None):
    np.testing.assert_allclose(bias.word, word, rtol=1e-7)
    np.testing.assert_allclose(bias.bit, bit, rtol=1e-7)
    for found, expected in (
        (bias.word_floating, word_floating),
        (bias.bit_floating, bit_floating),
    ):
        if expected is None:
            assert found is None
        else:
            np.testing.assert_array_equal(found, np.array(expected, bool))


def test_read():
    check_bias(Bias.read((2, 3), 0.2), [0.2, 0.2], [0, 0, 0])
    check_bias(Bias.read((2, 3), [0.2, -0.1]), [0.2, -0.1], [0, 0, 0])
    check_bias(Bias.read((2, 3), 0.2, 1), [0, 0.2], [0, 0, 0])
    check_bias(Bias.read((2, 3), 0.2, 1, 2), [0, 0.2], [0, 0, 0])
    check_bias(Bias.read((2, 3), -1, 0, unselected="floating"), [-1, 0], [0, 0, 0], [0, 1], [0] * 3)
    check_bias(Bias.read((2, 3), 1, 0, 2, "floating"), [1, 0], [0, 0, 0], [0, 1], [1, 1, 0])
    check_bias(Bias.read((2, 3), 1, None, 0, "floating"), [1, 1], [0] * 3, [0, 0], [0, 1, 1])


@pytest.mark.parametrize("volt", [1.2, -1.2, 0.0, 3])
def test_write(volt):
    half, third = volt / 2, volt / 3
    of = lambda *scheme: Bias.write((3, 2), 1, 0, volt, *scheme)
    check_bias(of(), [half, volt, half], [0, half])
    check_bias(of("V/2"), [half, volt, half], [0, half])
    check_bias(of("V/3"), [third, volt, third], [0, 2 * third])
    check_bias(of("grounded"), [0, volt, 0], [0, 0])
    check_bias(of("floating"), [0, volt, 0], [0, 0], [1, 0, 1], [0, 1])


def test_rows_and_columns_may_be_traced():
    rows, columns = jnp.array([0, 2]), jnp.array([1, 0])
    make = lambda row, column: Bias.write((3, 2), row, column, 1.0, "floating")
    mapped = jax.jit(jax.vmap(make))(rows, columns)
    for k in range(2):
        alone = make(int(rows[k]), int(columns[k]))
        for a, b in zip(jax.tree.leaves(mapped), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(a[k], b)


# Without floating lines.


def test_a_bias_that_drives_every_line_is_the_drives(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (5, 7), inputs=1)
    expected = jb.solve(g, v, wires, v_bit, solver=jb.Solver("cg"))
    s = jb.solve(g, Bias(v, v_bit), wires, solver=jb.Solver("cg"))
    jax.tree.map(np.testing.assert_array_equal, s, expected)
    for cell, k in ((None, 0.0), (Sinh(6.0), 6.0)):
        masks = (np.zeros(5, bool), np.zeros(7, bool))
        s = jb.solve(g, Bias(v, v_bit, *masks), wires, cell=cell)
        assert_solves(first(s), network(g, wires, v[0], v_bit[0], k=k), 1e-11)


@pytest.mark.parametrize("scheme", ["V/2", "V/3", "grounded"])
def test_driven_schemes_against_nodal_analysis(x64, rng, scheme):
    g, _, _, wires = random_tile(rng, (5, 7), "extreme")
    bias = Bias.write((5, 7), 3, 2, 1.5, scheme)
    assert_solves(
        jb.solve(g, bias, wires, solver=jb.Solver("cg")), reference(g, bias, wires), 1e-11
    )


# Floating lines.


def check_floating(g, bias, wires, k, rtol):
    s = jb.solve(g, bias, wires, cell=Sinh(k) if k else None)
    assert s.converged.all()
    # Where nothing can flow, rounding is left of what the drivers might drive.
    least = 1e-3 * g.max() * max(np.abs(bias.word).max(), np.abs(bias.bit).max())
    assert_solves(s, reference(g, bias, wires, k), rtol, least)
    return s


CASES = [((5, 7), wires) for wires in WIRES]
CASES += [(shape, "scalars") for shape in [(4, 1), (1, 1)]]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "wires"), CASES, ids=str)
def test_ohmic_cells_against_nodal_analysis(x64, rng, shape, wires, name):
    wires, bias = WIRES[wires](rng, shape), biases(rng, shape)[name]
    for severity in ("mild", "harsh", "extreme"):
        g, *_ = random_tile(rng, shape, severity)
        check_floating(g, bias, wires, 0.0, 1e-11)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wires", WIRES)
def test_sinh_cells_against_nodal_analysis(x64, rng, wires, name):
    shape = (5, 7)
    wires, bias = WIRES[wires](rng, shape), biases(rng, shape)[name]
    for severity in ("mild", "extreme"):
        g, *_ = random_tile(rng, shape, severity)
        for k in (1.0, 6.0):
            check_floating(g, bias, wires, k, 1e-11)


@pytest.mark.parametrize("k", [0.0, 6.0], ids=["ohmic", "sinh"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("severity", ["mild", "extreme"])
def test_kirchhoff_and_passivity(x64, rng, severity, name, k):
    shape = (5, 7)
    g, *_ = random_tile(rng, shape, severity)
    bias, wires = biases(rng, shape)[name], jb.Wires(3.0, 2.0, 1.6, 4.0)
    s = jb.solve(g, bias, wires, cell=Sinh(k) if k else None)
    word, bit, current = map(np.asarray, (s.word_voltages, s.bit_voltages, s.device_currents))
    floating = floating_of(bias)
    largest = max(np.abs(current).max(), 1e-3 * g.max())

    # The net current of a floating line, beside that of its cells.
    net = np.concatenate([current.sum(1), current.sum(0)])
    np.testing.assert_allclose(net[floating], 0.0, atol=1e-13 * largest)
    np.testing.assert_allclose(s.currents, current.sum(0), rtol=0, atol=1e-15 * largest)

    # The law of each cell, then the sum of the currents into each node.
    u = np.asarray(s.cell_voltages)
    law = g * np.sinh(k * u) / k if k else g * u
    np.testing.assert_allclose(current, law, rtol=0, atol=1e-11 * largest)
    a, b, ohm = resistors(shape, wires, floating)
    volt = np.concatenate([bias.word, bias.bit, word.ravel(), bit.ravel()])
    flow = ((volt[a] - volt[b]) / ohm).astype(float)
    into = np.zeros(volt.size)
    np.add.at(into, a, -flow)
    np.add.at(into, b, flow)
    into[12 : 12 + g.size] -= current.ravel()
    into[12 + g.size :] += current.ravel()
    # Voltages are rounded, too.
    rounding = 1e-15 / float(ohm.min())
    np.testing.assert_allclose(into[12:], 0.0, atol=1e-11 * largest + rounding)

    drivers = np.concatenate([bias.word, bias.bit])[~floating]
    low, high = (drivers.min(), drivers.max()) if drivers.size else (0.0, 0.0)
    for nodes in (word, bit):
        assert nodes.min() >= low - 1e-12 and nodes.max() <= high + 1e-12
    assert np.abs(u).max() <= high - low + 1e-12


def test_what_is_given_for_a_floating_line_is_not_used(x64, rng):
    g, v, v_bit, wires = random_tile(rng, (5, 7), inputs=1)
    masks = rng.random(5) < 0.5, rng.random(7) < 0.5
    one = jb.solve(g, Bias(v[0], v_bit[0], *masks), wires)
    others = (np.where(masks[0], 1e9, v[0]), np.where(masks[1], np.nan, v_bit[0]))
    other = jb.solve(g, Bias(*others, *masks), wires)
    jax.tree.map(np.testing.assert_array_equal, other, one)


@pytest.mark.parametrize("k", [0.0, 6.0], ids=["ohmic", "sinh"])
def test_lines_joined_to_no_driver_are_at_0_volt(x64, rng, k):
    cell = Sinh(k) if k else None
    g, v, v_bit, wires = random_tile(rng, (5, 7), inputs=1)
    every = Bias(v[0], v_bit[0], np.ones(5, bool), np.ones(7, bool))
    for tile in (g, 0 * g):
        s = jb.solve(tile, every, wires, cell=cell)
        assert s.converged
        for x in (s.currents, s.device_currents, s.word_voltages, s.bit_voltages):
            np.testing.assert_array_equal(x, 0.0)

    # Word line 1 has no cells; 3 and bit line 4 are joined to each other alone.
    bias = Bias(v[0], v_bit[0], np.arange(5) % 2 == 1, np.arange(7) == 4)
    g[1], g[3], g[:, 4] = 0.0, 0.0, 0.0
    g[3, 4] = 1e-3
    s = check_floating(g, bias, wires, k, 1e-11)
    np.testing.assert_allclose(s.word_voltages[jnp.array([1, 3])], 0.0, atol=1e-15)
    np.testing.assert_allclose(s.bit_voltages[:, 4], 0.0, atol=1e-15)
    assert np.abs(s.currents).max() > 1e-5


@pytest.mark.parametrize("k", [0.0, 6.0], ids=["ohmic", "sinh"])
def test_open_cells_on_floating_lines(x64, rng, k):
    g, *_ = random_tile(rng, (5, 7), "extreme")
    g[rng.random(g.shape) < 0.4] = 0.0
    for name in NAMES:
        check_floating(g, biases(rng, (5, 7))[name], jb.Wires(3.0, 2.0, 1.6, 4.0), k, 1e-11)


def test_a_divider(x64):
    """A bit line between two drivers, with and without wires, by hand."""
    g = np.array([[1e-3], [3e-3]])
    bias = Bias([1.0, 0.0], [5.0], None, [True])
    s = jb.solve(g, bias, jb.Wires())
    np.testing.assert_allclose(s.bit_voltages, [[0.25], [0.25]], rtol=1e-14)
    np.testing.assert_allclose(s.device_currents, [[0.75e-3], [-0.75e-3]], rtol=1e-14)
    s = jb.solve(g, bias, jb.Wires(source=100.0, bit=50.0, sense=70.0))
    current = 1.0 / (1e3 + 1e3 / 3 + 200 + 50)
    np.testing.assert_allclose(s.device_currents, [[current], [-current]], rtol=1e-13)
    np.testing.assert_allclose(s.bit_voltages[0] - s.bit_voltages[1], 50 * current, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_weak_sneak_path_is_right(dtype):
    """Two floating lines joined by a cell that is on, and to the drivers by cells that are off."""
    accuracy = 1e-6 if dtype == np.float32 else 1e-14
    with jax.enable_x64(dtype == np.float64):
        bias = Bias.read((2, 2), dtype(0.3), 0, 1, "floating")
        for ratio in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10):
            g = (np.array([[ratio, ratio], [1.0, ratio]]) * 1e-3).astype(dtype)
            s = jb.solve(g, bias, jb.Wires())
            off = g[0, 1].astype(float)
            sneak = 1 / (2 / off + 1 / g[1, 0].astype(float))
            expected = np.float64(dtype(0.3)) * (off + sneak)
            error = abs(float(s.currents[1]) - expected) / expected
            assert error < accuracy, ratio
            # The residual cannot be evaluated better where float32 rounds the drop of 0.3 V.
            assert s.converged or (dtype == np.float32 and ratio == 1e-5)


# Batches, transformations and precision.


def batch_of(rng, shape, count):
    m, n = shape
    masks = rng.random((count, m)) < 0.4, rng.random((count, n)) < 0.4
    return Bias(rng.uniform(-1, 1, (count, m)), rng.uniform(-0.3, 0.3, (count, n)), *masks)


def test_a_batch_is_its_inputs(x64, rng):
    cell, k = Sinh(6.0), 6.0
    g, _, _, wires = random_tile(rng, (5, 7))
    batch = batch_of(rng, (5, 7), 4)
    s = jb.solve(g, batch, wires, cell=cell)
    assert s.currents.shape == (4, 7) and s.word_voltages.shape == (4, 5, 7)
    for i in range(4):
        at = jax.tree.map(lambda x, i=i: x[i], (s, batch))
        assert_solves(at[0], reference(g, at[1], wires, k), 1e-11)
    for count in (0, 1):
        few = jax.tree.map(lambda x, count=count: x[:count], batch)
        found = jb.solve(g, few, wires, cell=cell)
        assert found.currents.shape == (count, 7) and found.converged.shape == (count,)
        np.testing.assert_allclose(found.currents, s.currents[:count], rtol=0, atol=1e-14)

    # Only one of the four has a batch axis.
    for name in ("word", "bit", "word_floating", "bit_floating"):
        one = jax.tree.map(lambda x: x[0], batch)
        one = dataclasses.replace(one, **{name: getattr(batch, name)})
        found = jb.solve(g, one, wires, cell=cell)
        for i in range(4):
            alone = dataclasses.replace(one, **{name: getattr(batch, name)[i]})
            expected = reference(g, alone, wires, k)
            assert_solves(jax.tree.map(lambda x, i=i: x[i], found), expected, 1e-11)


def test_jit_and_vmap(x64, rng):
    cell, k = Sinh(6.0), 6.0
    g, *_ = random_tile(rng, (5, 7))
    tiles = jnp.stack([g, 2 * g, 0.1 * g])
    batch = batch_of(rng, (5, 7), 3)
    far = jb.Wires(3.0, 2.0, 1.6, 4.0, source_far=2.0, sense_far=rng.uniform(1, 9, 7))
    one = lambda g, bias, wires: jb.solve(g, bias, wires, cell=cell)
    mapped = jax.jit(jax.vmap(one, (0, 0, None)))(tiles, batch, far)
    for i in range(3):
        s, bias, tile = jax.tree.map(lambda x, i=i: x[i], (mapped, batch, tiles))
        assert_solves(s, reference(tile, bias, far, k), 1e-11)


@pytest.mark.parametrize("k", [0.0, 6.0], ids=["ohmic", "sinh"])
@pytest.mark.parametrize("severity", ["mild", "harsh", "extreme"])
def test_float32(rng, severity, k):
    for name in NAMES:
        bias = jax.tree.map(jnp.asarray, biases(rng, (12, 9))[name])
        g, *_ = random_tile(rng, (12, 9), severity, dtype=np.float32)
        wires = jb.Wires(3.0, 2.0, 1.6, 4.0)
        s = jb.solve(g, bias, wires, cell=Sinh(np.float32(k)) if k else None)
        assert s.currents.dtype == jnp.float32 and s.converged
        assert_solves(s, reference(g, bias, wires, k), 5e-6)


# Derivatives.


def arguments(rng, form):
    g, v, v_bit, wires = random_tile(rng, (4, 5), "extreme", inputs=1)
    wires = WIRES[form](rng, g.shape)
    masks = np.array([1, 0, 1, 0], bool), np.array([0, 1, 1, 0, 1], bool)
    args = {
        "g": g,
        "word": v[0] / 0.3,
        "bit": v_bit[0],
        "k": np.asarray(5.0),
        **{f"wires.{name}": r for name, r in dataclasses.asdict(wires).items() if r is not None},
    }
    return jax.tree.map(jnp.asarray, args), masks


def wires_of(args):
    return jb.Wires(**{k[6:]: r for k, r in args.items() if k.startswith("wires.")})


@pytest.mark.parametrize(("form", "law"), [("scalars", "sinh"), ("both far", "ohmic")])
def test_gradients_of_every_entry(x64, rng, form, law):
    args, masks = arguments(rng, form)

    def loss(args):
        cell = Sinh(args["k"]) if law == "sinh" else None
        bias = Bias(args["word"], args["bit"], *masks)
        return weighted(jb.solve(args["g"], bias, wires_of(args), cell=cell))

    slope = jax.jit(jax.grad(loss))(args)
    for name, value in args.items():

        def at(x, name=name):
            a = {**args, name: x}
            k = float(a["k"]) if law == "sinh" else 0.0
            bias = Bias(np.asarray(a["word"]), np.asarray(a["bit"]), *masks)
            return weighted(reference(a["g"], bias, wires_of(a), k))

        expected = differences(at, value)
        atol = 1e-7 * np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(slope[name], expected, rtol=1e-7, atol=atol, err_msg=name)
    np.testing.assert_array_equal(slope["word"][masks[0]], 0.0)
    np.testing.assert_array_equal(slope["bit"][masks[1]], 0.0)


def test_second_order(x64, rng):
    """The Hessian times a direction, against differences of the gradient."""
    args, masks = arguments(rng, "scalars")

    def loss(args):
        bias = Bias(args["word"], args["bit"], *masks)
        return weighted(jb.solve(args["g"], bias, wires_of(args), cell=Sinh(args["k"])))

    towards = jax.tree.map(lambda x: jnp.asarray(rng.uniform(-1, 1, x.shape)) * x, args)
    both = jax.jit(lambda args: jax.jvp(jax.grad(loss), (args,), (towards,)))
    moved = lambda t: both(jax.tree.map(lambda a, d: a + t * d, args, towards))[0]
    h = 1e-4
    near = jax.tree.map(lambda a, b: (a - b) / (2 * h), moved(h), moved(-h))
    wide = jax.tree.map(lambda a, b: (a - b) / (4 * h), moved(2 * h), moved(-2 * h))
    expected = jax.tree.map(lambda a, b: (4 * a - b) / 3, near, wide)
    for name, found in both(args)[1].items():
        atol = 1e-6 * float(jnp.abs(expected[name]).max())
        np.testing.assert_allclose(found, expected[name], rtol=1e-6, atol=atol, err_msg=name)


def test_gradients_through_open_cells_and_loose_lines(x64, rng):
    """At cells of g = 0 from above; a line without any cell has finite derivatives."""
    args, masks = arguments(rng, "scalars")
    g = args["g"].at[0].set(0.0).at[1, 1].set(0.0).at[2, 2].set(0.0)
    bias, wires = Bias(args["word"], args["bit"], *masks), wires_of(args)
    slope = jax.jit(jax.grad(lambda g: weighted(jb.solve(g, bias, wires))))(g)
    assert jnp.isfinite(slope).all()
    h = 1e-6
    for at in ((1, 1), (2, 2), (3, 3)):
        values = [weighted(reference(g.at[at].add(i * h), bias, wires)) for i in range(5)]
        expected = np.dot([-25.0, 48, -36, 16, -3], values) / (12 * h)
        np.testing.assert_allclose(slope[at], expected, rtol=1e-5)


# Mistakes.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bias(1.0, [0.0]), r"Bias.word has shape \(\): must hold one voltage for each"),
        (lambda: Bias([1.0], np.ones((1, 1, 2))), r"Bias.bit has shape \(1, 1, 2\)"),
        (
            lambda: Bias([1.0, 2.0], [0.0], [1, 0]),
            r"Bias.word_floating of shape \(2,\) and type int.*: must be bools, one for each",
        ),
        (lambda: Bias([1.0, 2.0], [0.0], [True]), r"Bias.word_floating of shape \(1,\)"),
        (lambda: Bias([1.0], [0.0], None, [True] * 2), r"Bias.bit_floating of shape \(2,\)"),
        (lambda: Bias.read((2, 3), np.nan), "voltage = nan V: must be finite"),
        (lambda: Bias.read((2, 3), np.inf), "voltage = inf V: must be finite"),
        (lambda: Bias.read((2, 3), "1 V"), "voltage = '1 V': must be a number"),
        (lambda: Bias.read((2, 3), 1.0, 2), r"row = 2: must be an int in \[0, 1\]"),
        (lambda: Bias.read((2, 3), 1.0, -1), r"row = -1: must be an int in \[0, 1\]"),
        (lambda: Bias.read((2, 3), 1.0, 1.0), r"row = 1.0: must be an int"),
        (lambda: Bias.read((2, 3), 1.0, [0, 1]), r"row = \[0, 1\]: must be an int"),
        (lambda: Bias.read((2, 3), 1.0, 0, 3), r"column = 3: must be an int in \[0, 2\]"),
        (lambda: Bias.read((2, 3), 1.0, True), "row = True: must be an int"),
        (
            lambda: Bias.read((2, 3), 1.0, unselected="float"),
            "unselected = 'float': must be one of .*did you mean 'floating'",
        ),
        (lambda: Bias.read((2, 3), 1.0, unselected="V/2"), "unselected = 'V/2': must be one of"),
        (lambda: Bias.write((2, 3), 0, 3, 1.0), r"column = 3: must be an int in \[0, 2\]"),
        (lambda: Bias.write((2, 3), -1, 0, 1.0), r"row = -1: must be an int"),
        (lambda: Bias.write((2, 3), 0, 0, np.nan), "voltage = nan V: must be finite"),
        (lambda: Bias.write((2, 3), 0, 0, 1.0, "V/4"), "scheme = 'V/4': must be one of 'V/2', "),
    ],
)
def test_wrong_biases(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        (Bias(np.ones(3), np.ones(3)), r"v has shape \(3,\): a tile g \(2, 3\) takes \(2,\)"),
        (Bias(np.ones(2), np.ones(2)), r"v_bit has shape \(2,\): a tile g \(2, 3\) takes \(3,\)"),
        (Bias(np.ones((2, 2)), np.ones((4, 3))), "v holds 2 inputs and v_bit 4"),
        (
            Bias(np.ones((2, 2)), np.ones(3), None, np.zeros((4, 3), bool)),
            "v holds 2 inputs and floating bit lines 4: they must agree",
        ),
        (
            Bias(np.ones(2), np.ones(3), np.zeros((5, 2), bool), np.zeros((4, 3), bool)),
            "floating word lines holds 5 inputs and floating bit lines 4",
        ),
    ],
)
def test_biases_that_do_not_fit(bias, message):
    with pytest.raises(ValueError, match=message):
        jb.solve(np.full((2, 3), 1e-4), bias, jb.Wires(1.0, 1.0, 1.0, 1.0))


def test_wrong_solves():
    g, wires = np.full((2, 3), 1e-4), jb.Wires(1.0, 1.0, 1.0, 1.0)
    bias = Bias.read((2, 3), 1.0, 0, 0, "floating")
    with pytest.raises(ValueError, match="v_bit is given beside a Bias"):
        jb.solve(g, bias, wires, np.zeros(3))
    for method in ("direct", "dense", "fused", "cg_library"):
        message = f"Solver.method = '{method}' with floating lines.*use 'auto' or 'cg'"
        with pytest.raises(ValueError, match=message):
            jb.solve(g, bias, wires, solver=jb.Solver(method))
    differ = Bias(np.ones(2), np.ones(3), None, np.zeros((4, 3), bool))
    message = "wires.sense_far with floating lines that differ by input.*use jax.vmap"
    with pytest.raises(ValueError, match=message):
        jb.solve(g, differ, dataclasses.replace(wires, sense_far=1.0))
