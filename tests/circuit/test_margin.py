"""Read margins and half-select stress against plain loops and against circuits by hand."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import Bias, half_select, read_margin

from .test_wires import differences, network
from .tiles import random_tile

ON, OFF = 2e-4, 5e-6
WIRES = jb.Wires(3.0, 2.0, 1.6, 4.0)


def sensed(tile, bias, wires, column):
    floating = np.zeros(sum(tile.shape), bool)
    if bias.word_floating is not None:
        floating = np.concatenate([bias.word_floating, bias.bit_floating])
    drives = np.asarray(bias.word, float), np.asarray(bias.bit, float)
    return abs(network(tile, wires, *drives, floating).currents[column])


def brute_force(g_on, g_off, shape, wires, voltage, row, column, unselected, patterns=None):
    """(on, off) by one nodal analysis for each state and pattern."""
    bias = Bias.read(shape, voltage, row, column, unselected)
    patterns = [np.full(shape, g) for g in (g_on, g_off)] if patterns is None else patterns
    found = []
    for g, worst in ((g_on, min), (g_off, max)):
        currents = []
        for pattern in patterns:
            tile = np.array(pattern, float)
            tile[row, column] = g
            currents.append(sensed(tile, bias, wires, column))
        found.append(worst(currents))
    return found


@pytest.mark.parametrize(
    ("shape", "unselected"),
    [((5, 7), "floating"), ((5, 7), "grounded"), ((1, 1), "grounded")],
    ids=str,
)
def test_against_a_loop_over_patterns(x64, shape, unselected):
    m, n = shape
    for row, column in {(0, n - 1), (m - 1, 0), (m // 2, n // 2)}:
        margin = read_margin(ON, OFF, shape, WIRES, 0.4, row, column, unselected)
        expected = brute_force(ON, OFF, shape, WIRES, 0.4, row, column, unselected)
        np.testing.assert_allclose([margin.on, margin.off], expected, rtol=1e-10)
        assert margin.on.shape == margin.off.shape == ()


@pytest.mark.parametrize("unselected", ["floating", "grounded"])
def test_background_patterns(x64, rng, unselected):
    shape = (5, 7)
    patterns = rng.choice([ON, OFF, 0.0], (2, *shape), p=[0.5, 0.4, 0.1])
    arguments = (ON, OFF, shape, WIRES, 0.3, 3, 2, unselected)
    # One pattern alone is (M, N).
    for background in (patterns,) if unselected == "floating" else (patterns, patterns[0]):
        margin = read_margin(*arguments, background=background)
        expected = brute_force(*arguments, patterns=np.reshape(background, (-1, *shape)))
        np.testing.assert_allclose([margin.on, margin.off], expected, rtol=1e-10)


def test_the_two_patterns_are_the_worst_of_all_without_wires(x64):
    """All 2³ patterns of the other cells of a 2×2 tile, floating, two at a time."""
    others = np.array(list(itertools.product([ON, OFF], repeat=3)))
    patterns = np.insert(others, 1, 0.0, 1).reshape(4, 2, 2, 2)
    every = [read_margin(ON, OFF, (2, 2), jb.Wires(), background=p) for p in patterns]
    two = read_margin(ON, OFF, (2, 2), jb.Wires())
    worst = [min(p.on for p in every), max(p.off for p in every)]
    np.testing.assert_allclose(worst, [two.on, two.off], rtol=1e-12)


@pytest.mark.parametrize("voltage", [0.3, -0.3, 1.0])
def test_the_sneak_path_of_a_2x2_tile(x64, voltage):
    """Three cells in series, in parallel to the one that is read; wires by hand as well."""
    margin = read_margin(ON, OFF, (2, 2), jb.Wires(), voltage)
    on, off = abs(voltage) * (ON + OFF / 3), abs(voltage) * (OFF + ON / 3)
    np.testing.assert_allclose([margin.on, margin.off], [on, off], rtol=1e-12)
    np.testing.assert_allclose(margin.ratio, on / off, rtol=1e-12)
    np.testing.assert_allclose(margin.window, 1 - off / on, rtol=1e-12)
    assert margin.ratio < 3.0  # whatever on/off: a third of the current goes around

    # Only source and sense: they carry all of the current.
    margin = read_margin(ON, OFF, (2, 2), jb.Wires(source=100.0, sense=50.0), voltage)
    expected = [abs(voltage) / (abs(voltage) / i + 150.0) for i in (on, off)]
    np.testing.assert_allclose([margin.on, margin.off], expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (2, 2)], ids=str)
def test_the_sneak_path_of_any_tile_without_wires(x64, shape):
    """All cells alike but one: N-1, (M-1)(N-1) and M-1 of them in parallel, in series."""
    m, n = shape
    margin = read_margin(ON, OFF, shape, jb.Wires(), 1.0, m // 2, n // 2)
    parallel = [n - 1, (m - 1) * (n - 1), m - 1]
    path = lambda g: g / sum(1 / cells for cells in parallel) if all(parallel) else 0.0
    np.testing.assert_allclose(margin.on, ON + path(OFF), rtol=1e-12)
    np.testing.assert_allclose(margin.off, OFF + path(ON), rtol=1e-12)


def test_grounded_lines_without_wires_hide_nothing(x64):
    margin = read_margin(ON, OFF, (5, 7), jb.Wires(), 0.3, 2, 3, "grounded")
    np.testing.assert_allclose([margin.on, margin.off], [0.3 * ON, 0.3 * OFF], rtol=1e-14)
    np.testing.assert_allclose(margin.ratio, ON / OFF, rtol=1e-14)
    np.testing.assert_allclose(margin.window, 1 - OFF / ON, rtol=1e-14)


def test_negative_indices_count_from_the_end(x64):
    for row, column in ((-1, -7), (-5, -1), (-2, 3)):
        one = read_margin(ON, OFF, (5, 7), WIRES, row=row, column=column)
        other = read_margin(ON, OFF, (5, 7), WIRES, row=row % 5, column=column % 7)
        np.testing.assert_array_equal([one.on, one.off], [other.on, other.off])
    default = read_margin(ON, OFF, (5, 7), WIRES)
    far = read_margin(ON, OFF, (5, 7), WIRES, 0.3, 0, 6, "floating")
    np.testing.assert_array_equal([default.on, default.off], [far.on, far.off])


def test_cells_of_another_law(x64):
    margin = read_margin(ON, OFF, (5, 7), WIRES, 0.8, cell=jb.Sinh(4.0))
    bias = Bias.read((5, 7), 0.8, 0, 6, "floating")
    floating = np.concatenate([bias.word_floating, bias.bit_floating])
    currents = []
    for g, other in ((ON, OFF), (OFF, ON), (ON, ON), (OFF, OFF)):
        tile = np.full((5, 7), other)
        tile[0, 6] = g
        s = network(tile, WIRES, np.asarray(bias.word), np.asarray(bias.bit), floating, 4.0)
        currents.append(abs(s.currents[6]))
    expected = [min(currents[0], currents[2]), max(currents[1], currents[3])]
    np.testing.assert_allclose([margin.on, margin.off], expected, rtol=1e-10)


def test_derivatives(x64):
    """Of the ratio, in both conductances, the voltage and the wires."""
    args = {
        "g_on": ON,
        "g_off": OFF,
        "voltage": 0.3,
        **{f"wires.{f.name}": getattr(WIRES, f.name) for f in dataclasses.fields(WIRES)[:4]},
    }

    def split(args):
        wires = jb.Wires(**{k[6:]: r for k, r in args.items() if k.startswith("wires.")})
        return args["g_on"], args["g_off"], wires, args["voltage"]

    def loss(args):
        g_on, g_off, wires, voltage = split(args)
        margin = read_margin(g_on, g_off, (4, 5), wires, voltage, 1, 3)
        return margin.ratio + 1e4 * margin.on + margin.window

    slope = jax.jit(jax.grad(loss))(args)
    for name, value in args.items():

        def at(x, name=name):
            g_on, g_off, wires, voltage = split({**args, name: float(x)})
            on, off = brute_force(g_on, g_off, (4, 5), wires, voltage, 1, 3, "floating")
            return on / off + 1e4 * on + (on - off) / on

        np.testing.assert_allclose(slope[name], differences(at, value), rtol=1e-6, err_msg=name)


def test_float32():
    margin = read_margin(ON, OFF, (5, 7), WIRES)
    assert margin.on.dtype == margin.off.dtype == jnp.float32
    expected = brute_force(ON, OFF, (5, 7), WIRES, 0.3, 0, 6, "floating")
    np.testing.assert_allclose([margin.on, margin.off], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(g_off=-1e-6), "g_off = -1e-06: must be ≥ 0, in siemens"),
        (dict(g_off=np.nan), "g_off = nan: must be ≥ 0"),
        (dict(g_on=OFF), "g_on = 5e-06: must be > g_off = 5e-06 "),
        (dict(g_on=np.nan), "g_on = nan: must be > g_off"),
        (dict(g_on=np.inf), "g_on = inf: must be > g_off = 5e-06 and finite"),
        (dict(voltage=np.ones(5)), r"voltage has shape \(5,\): must be a scalar"),
        (dict(background=np.ones((0, 5, 7))), r"background has shape \(0, 5, 7\)"),
        (dict(background=np.ones((2, 2, 5, 7))), r"background has shape \(2, 2, 5, 7\)"),
        (dict(g_on="on"), "g_on = 'on': must be a number"),
        (dict(row=1.5), "row = 1.5: must be an int"),
        (dict(row=5), r"row = 5: must be an int in \[-5, 4\]"),
        (dict(row=-6), r"row = -6: must be an int in \[-5, 4\]"),
        (dict(column=7), r"column = 7: must be an int in \[-7, 6\]"),
        (dict(column=-8), r"column = -8: must be an int in \[-7, 6\]"),
        (dict(unselected="V/2"), "unselected = 'V/2': must be one of 'grounded', 'floating'"),
        (dict(voltage=np.nan), "voltage = nan V: must be finite"),
        (dict(background=np.ones((7, 5))), r"background has shape \(7, 5\): must be \(5, 7\) or"),
        (dict(background=np.ones(7)), r"background has shape \(7,\): must be .* or \(P, 5, 7\)"),
        (dict(background=-np.ones((5, 7))), r"background\[0, 0\] = -1.0 S"),
        (dict(background=np.full((2, 5, 7), np.inf)), r"background\[0, 0\] = inf S"),
        (dict(wires=1.0), "wires = 1.0: must be a jaxbar.Wires"),
        (dict(solver=jb.Solver("direct")), "Solver.method = 'direct' with floating lines"),
    ],
)
def test_wrong_margins(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_margin(**{"g_on": ON, "g_off": OFF, "shape": (5, 7), "wires": WIRES, **arguments})


# Half-select stress.

SCHEMES = ["V/2", "V/3", "grounded", "floating"]


@pytest.mark.parametrize(
    ("scheme", "cell"), [*((scheme, None) for scheme in SCHEMES), ("V/3", jb.Sinh(3.0))], ids=str
)
def test_half_select_is_a_solve(x64, rng, scheme, cell):
    g, *_ = random_tile(rng, (5, 7))
    s = half_select(g, 3, 2, 1.2, WIRES, scheme, cell)
    expected = jb.solve(g, Bias.write((5, 7), 3, 2, 1.2, scheme), WIRES, cell=cell)
    jax.tree.map(np.testing.assert_array_equal, s, expected)
    assert s.converged and s.cell_voltages.shape == (5, 7)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_cells_at_once_are_each_alone(x64, rng, scheme):
    g, *_ = random_tile(rng, (5, 7))
    rows, columns, volts = np.array([0, 4, 2]), np.array([6, 1, 3]), np.array([1.0, -0.7, 2.0])
    s = half_select(g, rows, columns, volts, WIRES, scheme)
    assert s.converged.all() and s.cell_voltages.shape == (3, 5, 7)
    for k, at in enumerate(zip(rows, columns, volts, strict=True)):
        alone = half_select(g, *at, WIRES, scheme)
        np.testing.assert_allclose(s.cell_voltages[k], alone.cell_voltages, rtol=0, atol=1e-12)
        np.testing.assert_allclose(s.currents[k], alone.currents, rtol=0, atol=1e-14)
    # One row and voltage for all.
    same = half_select(g, 4, columns, 1.0, WIRES, scheme)
    alone = half_select(g, 4, 3, 1.0, WIRES, scheme)
    np.testing.assert_allclose(same.cell_voltages[2], alone.cell_voltages, rtol=0, atol=1e-12)


def test_lists_are_numbers(x64):
    g = np.full((5, 7), 1e-4)
    given = [0, 4, 2], [6, 1, 3], [1.0, -0.7, 2.0]
    one = half_select(g, *given, WIRES)
    other = half_select(g, *map(np.array, given), WIRES)
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize("volt", [1.2, -1.2])
def test_patterns_without_wires(x64, rng, volt):
    g, *_ = random_tile(rng, (5, 7))
    row, column = np.arange(5)[:, None] == 3, np.arange(7) == 2
    both, one = row & column, row ^ column
    neither = ~(row | column)
    stress = lambda scheme: half_select(g, 3, 2, volt, jb.Wires(), scheme).cell_voltages
    expected = np.select([both, one], [volt, volt / 2], 0.0)
    np.testing.assert_allclose(stress("V/2"), expected, rtol=1e-15)
    np.testing.assert_allclose(
        stress("V/3"), np.select([both, one, neither], np.array([3, 1, -1]) * volt / 3), rtol=1e-14
    )
    # The others at 0 V: only the selected row sees anything.
    np.testing.assert_allclose(stress("grounded"), np.where(row, volt, 0.0 * g), rtol=1e-15)
    floating = np.asarray(stress("floating"))
    np.testing.assert_allclose(floating[3, 2], volt, rtol=1e-13)
    assert np.abs(floating).max() <= abs(volt) * (1 + 1e-13)


def test_the_floating_pattern_of_equal_cells(x64):
    """All nodes of a group are alike: the voltage divides as 1/(number of cells)."""
    m, n = 5, 7
    stress = half_select(np.full((m, n), 1e-4), 3, 2, 1.0, jb.Wires(), "floating").cell_voltages
    ohm = np.array([1 / (n - 1), 1 / ((m - 1) * (n - 1)), 1 / (m - 1)])
    row, rest, column = ohm / ohm.sum()
    at_row, at_column = np.arange(m)[:, None] == 3, np.arange(n) == 2
    expected = np.select([at_row & at_column, at_row, at_column], [1.0, row, column], -rest)
    np.testing.assert_allclose(stress, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(row=5), r"row = 5: must be an int in \[0, 4\]"),
        (dict(row=-1), r"row = -1: must be an int in \[0, 4\]"),
        (dict(column=1.0), r"column = 1.0: must be an int in \[0, 6\]"),
        (dict(row=np.array([0, 5])), r"row\[1\] = 5: must be in \[0, 4\]"),
        (dict(row=np.array([0, -1])), r"row\[1\] = -1: must be in \[0, 4\]"),
        (dict(column=np.array([7, 0])), r"column\[0\] = 7: must be in \[0, 6\]"),
        (dict(row=np.array([0.5])), "row = .*0.5"),
        (dict(voltage=np.nan), "voltage = nan V: must be finite"),
        (dict(row=np.array([[0, 1]])), r"row, column and voltage have shapes \(1, 2\)"),
        (dict(row=np.arange(2), column=np.arange(3)), r"have shapes \(2,\), \(3,\), \(\)"),
        (dict(voltage=np.array([1.0, np.inf])), r"voltage\[1\] = inf V: must be finite"),
        (dict(scheme="V/4"), "scheme = 'V/4': must be one of 'V/2', 'V/3'"),
        (dict(row=np.arange(2), scheme="V/4"), "scheme = 'V/4': must be one of 'V/2', 'V/3'"),
        (dict(g=-np.ones((5, 7))), r"g\[0, 0\] = -1.0 S"),
        (dict(g=np.ones(7)), r"g has shape \(7,\)"),
        (dict(wires=1.0), "wires = 1.0: must be a jaxbar.Wires"),
        (
            dict(scheme="floating", solver=jb.Solver("direct")),
            "Solver.method = 'direct' with floating lines",
        ),
    ],
)
def test_wrong_writes(arguments, message):
    given = {"g": np.full((5, 7), 1e-4), "row": 0, "column": 0, "voltage": 1.0, "wires": WIRES}
    with pytest.raises(ValueError, match=message):
        half_select(**{**given, **arguments})
