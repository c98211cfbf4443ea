"""Layers whose cells are not ohmic, whose lines are source lines, or whose pairs share a tile."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar import planning
from jaxbar.parse import from_dict, to_dict

WIRES = jb.Wires(4.0, 3.0, 2.0, 5.0)
LINES = jb.SourceLines(4.0, 3.0, 2.0, 5.0)
BASE = jb.CrossbarConfig(tile_shape=(4, 6), r_on=2e3, r_off=2e4)
# name: (changes, whether the tiles are matrices)
KINDS = {
    "sinh": ({"wires": WIRES, "cell": jb.Sinh(4.0)}, False),
    "interleaved sinh": ({"wires": WIRES, "mapping": "interleaved", "cell": jb.Sinh(4.0)}, False),
    "gates": ({"wires": WIRES, "cell": jb.Transistor(np.linspace(1, 2, 4))}, False),
    "source lines": ({"wires": LINES}, False),
    "sinh on source lines": ({"wires": LINES, "cell": jb.Sinh(4.0)}, False),
    "polynomial without wires": ({"cell": jb.Polynomial(0.1, 0.3)}, False),
    "interleaved": ({"wires": WIRES, "mapping": "interleaved"}, True),
    "offset transistor": ({"wires": WIRES, "mapping": "offset", "cell": jb.Transistor(3.0)}, False),
}


# What takes longest to compile, and is much like the others.
LONG = {"offset transistor", "interleaved sinh", "sinh on source lines"}


def kinds(*names, long=LONG):
    return [pytest.param(n, marks=pytest.mark.slow) if n in long else n for n in names]


def layer(config, dtype=jnp.float64):
    digital = nnx.Linear(10, 5, rngs=nnx.Rngs(0), use_bias=False)
    digital.kernel.set_value(digital.kernel[...].astype(dtype))
    return jb.patch_model(digital, config)


def config_of(name, **changes):
    return BASE.replace(**KINDS[name][0], **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"wires": jb.Wires(), "cell": jb.Sinh(0.0)},
        {"cell": jb.Sinh(0.0)},
        {"wires": jb.Wires(), "cell": jb.Polynomial(0.0, 0.0)},
        {"wires": jb.Wires(), "cell": jb.Transistor(1e9, kp=1.0)},
        {"cell": jb.Transistor(1e9, kp=1.0), "mapping": "offset"},
        {"wires": jb.SourceLines()},
        {"wires": jb.SourceLines(), "mapping": "offset"},
        {"wires": jb.SourceLines(driver="bottom"), "mapping": "interleaved"},
        {"wires": jb.Wires(), "mapping": "interleaved"},
        {"mapping": "interleaved", "scale": "column", "unused": "open"},
    ],
    ids=str,
)
def test_ideal_cells_and_wires_are_digital(x64, rng, changes):
    digital = nnx.Linear(10, 5, rngs=nnx.Rngs(0), param_dtype=jnp.float64)
    analog = jb.patch_model(digital, BASE.replace(**changes))
    x = rng.uniform(-1, 1, (7, 10))
    np.testing.assert_allclose(analog(x), digital(x), atol=1e-9)


def by_hand(layer, config, x):
    """The layer's product, tile by tile by `jb.solve`."""
    w, (m, n) = np.asarray(layer.kernel[...]), config.tile_shape
    unit, span = w / np.abs(w).max(), config.g_on - config.g_off
    parts = [np.maximum(unit, 0), np.maximum(-unit, 0)]
    if config.mapping == "interleaved":
        parts = [np.stack(parts, -1).reshape(len(w), -1)]
    elif config.mapping == "offset":
        parts = [0.5 + 0.5 * unit]
    volts, found = config.v_max * x, []
    for part in parts:
        g = config.g_off + span * part
        current = np.zeros((len(x), g.shape[1]))
        for top in range(0, len(w), m):
            for left in range(0, g.shape[1], n):
                tile, v = np.full((m, n), config.g_off), np.zeros((len(x), m))
                of = g[top : top + m, left : left + n]
                tile[: of.shape[0], : of.shape[1]] = of
                v[:, : of.shape[0]] = volts[:, top : top + m]
                out = np.asarray(line_currents(tile, v, config))
                current[:, left : left + n] += out[:, : of.shape[1]]
        found.append(current)
    if config.mapping == "interleaved":
        signed = found[0][:, 0::2] - found[0][:, 1::2]
    elif config.mapping == "offset":
        middle = np.full((len(w), 1), 0.5 * (config.g_on + config.g_off))
        signed = found[0] - np.asarray(line_currents(middle, volts, config.replace(wires=None)))
    else:
        signed = found[0] - found[1]
    share = 0.5 if config.mapping == "offset" else 1.0
    return signed / (config.v_max * share * span / np.abs(w).max())


def line_currents(g, v, config):
    how = {"cell": config.cell}
    if isinstance(config.wires, jb.SourceLines):
        on, off = (
            jb.solve_source_lines(
                g, np.maximum(s * v / config.v_max, 0), LINES, config.v_max, **how
            )
            for s in (1, -1)
        )
        return on.currents - off.currents
    return jb.solve(g, v, jb.Wires() if config.wires is None else config.wires, **how).currents


@pytest.mark.parametrize("name", kinds(*KINDS))
def test_a_layer_is_its_tiles(x64, rng, name):
    config = config_of(name)
    analog, x = layer(config), rng.uniform(-1, 1, (3, 10))
    expected = by_hand(analog, config, x)
    np.testing.assert_allclose(analog(x), expected, rtol=1e-9, atol=1e-11)
    # What is written gives the same; a matrix if and only if there is one.
    programmed = jb.program(analog)
    np.testing.assert_allclose(programmed(x), expected, rtol=1e-9, atol=1e-11)
    assert (programmed.effective is not None) == KINDS[name][1]
    assert analog(x[:0]).shape == (0, 5) and programmed(x[:0]).shape == (0, 5)
    np.testing.assert_allclose(programmed(x[0]), expected[0], rtol=1e-9, atol=1e-11)
    single = layer(config, jnp.float32)(x.astype(np.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", kinds("sinh", "gates", "sinh on source lines", "interleaved"))
def test_gradients(x64, rng, name):
    """Along a random direction of the weights, the inputs and the physics."""
    config = config_of(name)
    analog, x = layer(config), jnp.asarray(rng.uniform(-1, 1, (3, 10)))
    graph, params, rest = nnx.split(analog, nnx.Param, ...)
    weight = jnp.asarray(rng.normal(size=(3, 5)))

    @jax.jit
    def loss(params, x, wires, cell):
        moved = jb.reconfigure(nnx.merge(graph, params, rest), wires=wires, cell=cell)
        return jnp.sum(weight * moved(x))

    floats = lambda tree: jax.tree.map(lambda x: jnp.asarray(x, float), tree)
    at = (params, x, floats(config.wires), floats(config.cell))
    slope = jax.grad(loss, (0, 1, 2, 3))(*at)
    h = 1e-5
    for part in range(4):
        # In proportion to each entry: they are volts, ohms and A/V².
        ways = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=jnp.shape(x))) * x, at[part])
        found = sum(
            jnp.vdot(a, b)
            for a, b in zip(jax.tree.leaves(slope[part]), jax.tree.leaves(ways), strict=True)
        )

        def there(t, part=part, ways=ways):
            moved = jax.tree.map(lambda x, d: x + t * d, at[part], ways)
            return loss(*at[:part], moved, *at[part + 1 :])

        expected = (there(h) - there(-h)) / (2 * h)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", kinds("sinh", "offset transistor", "source lines", "interleaved"))
def test_tune_comes_closer(rng, name):
    digital = nnx.Linear(10, 5, rngs=nnx.Rngs(0))
    x = jnp.asarray(rng.uniform(-3, 3, (30, 10)), jnp.float32)
    config = config_of(name, adc=jb.ADC(bits=9), dac=jb.DAC(bits=9))
    analog = jb.patch_model(digital, config)
    error = lambda: float(jnp.sqrt(jnp.mean((analog(x) - digital(x)) ** 2)))
    before = error()
    jb.tune(analog, x)
    assert error() < 0.1 * float(jnp.std(digital(x)))
    assert error() < before
    np.testing.assert_allclose(jb.program(analog)(x), analog(x), atol=1e-5)


@pytest.mark.parametrize(
    "name", kinds("sinh", "gates", "source lines", "interleaved", long={"gates", "source lines"})
)
def test_a_budget_changes_nothing(x64, rng, name):
    config, x = config_of(name), rng.uniform(-1, 1, (9, 10))
    tiles = 3 * (2 if name == "interleaved" else 1) * (1 if name == "interleaved" else 2)
    how = lambda budget: planning.plan(
        (4, 6),
        tiles,
        9,
        dtype=jnp.float64,
        solver=config.solver,
        memory_budget=budget,
        wires=config.wires,
        cell=config.cell,
    )
    full = how(None)
    budget = how(None).fixed * 3 + 3 * (full.peak - full.fixed) // 4
    few = layer(config.replace(memory_budget=budget, tile_chunk=2))
    np.testing.assert_allclose(few(x), layer(config)(x), rtol=1e-12, atol=1e-14)


def test_batch_mates_do_not_change_an_input(x64, rng):
    analog, x = layer(config_of("sinh")), rng.uniform(-1, 1, (6, 10))
    together = analog(x)
    for k in range(6):
        np.testing.assert_allclose(analog(x[k]), together[k], rtol=1e-10)


def test_a_sweep_of_a_law_is_one_vmap(x64, rng):
    analog, x = layer(config_of("sinh")), rng.uniform(-1, 1, (3, 10))
    at = lambda k: jb.reconfigure(analog, cell=jb.Sinh(k))(x)
    ks = jnp.asarray([0.0, 2.0, 6.0])
    swept = jax.jit(jax.vmap(at))(ks)
    for k, y in zip(ks, swept, strict=True):
        np.testing.assert_allclose(y, at(k), rtol=1e-10)


# Files.


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"cell": {"law": "Sinh", "k": 4.0}}, {"cell": jb.Sinh(4.0)}),
        (
            {"cell": {"law": "Transistor", "vg": [1.0, 2.0]}, "tile_shape": [2, 4]},
            {"cell": jb.Transistor([1.0, 2.0]), "tile_shape": (2, 4)},
        ),
        ({"wires": {"kind": "SourceLines", "source": 2.0}}, {"wires": jb.SourceLines(2.0)}),
        ({"wires": {"word": 2.0}}, {"wires": jb.Wires(word=2.0)}),
        ({"wires": {"kind": "Wires", "word": 2.0}}, {"wires": jb.Wires(word=2.0)}),
        ({"mapping": "interleaved"}, {"mapping": "interleaved"}),
        (
            {"cell": {"law": "Tabulated", "voltage": [0, 1], "shape": [0, 2]}},
            {"cell": jb.Tabulated([0, 1], [0, 2])},
        ),
    ],
    ids=str,
)
def test_files(values, expected):
    made, wanted = from_dict(jb.CrossbarConfig, values), jb.CrossbarConfig(**expected)
    assert jax.tree.structure(made) == jax.tree.structure(wanted)
    jax.tree.map(np.testing.assert_array_equal, made, wanted)
    written = to_dict(made)
    for section, keys in values.items():
        for key, value in keys.items() if isinstance(keys, dict) else ():
            assert written[section][key] == value


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cell": {"k": 4.0}}, r"\[cell\] lacks the key law: must be one of Ohmic, Sinh"),
        ({"cell": {"law": "Sin", "k": 4.0}}, r"cell.law = 'Sin'.*did you mean 'Sinh'"),
        ({"cell": {"law": "Sinh"}}, r"\[cell\] lacks the key k \("),
        ({"cell": {"law": "Sinh", "kk": 4.0}}, "unknown key cell.kk"),
        ({"cell": {"law": "Sinh", "k": -4.0}}, "cell.k = -4.0"),
        ({"wires": {"kind": "SourceLines", "word": 1.0}}, "unknown key wires.word"),
        ({"wires": {"kind": "Source"}}, r"wires.kind = 'Source'"),
        ({"cell": 3.0}, "cell = 3.0: is a section, with a key law"),
    ],
    ids=str,
)
def test_wrong_files(values, message):
    with pytest.raises(ValueError, match=message):
        from_dict(jb.CrossbarConfig, values)


# Mistakes.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BASE.replace(cell=jb.Sinh), "cell = <class .*a cell law has a method"),
        (lambda: BASE.replace(cell=3.0), "cell = 3.0: a cell law has a method"),
        (
            lambda: BASE.replace(cell=jb.Sinh(1.0), solver=jb.Solver("direct")),
            "Solver.method = 'direct' with cells that are not ohmic",
        ),
        (
            lambda: BASE.replace(wires=LINES, solver=jb.Solver("dense")),
            "Solver.method = 'dense' with .*source lines",
        ),
        (lambda: BASE.replace(wires=LINES, cell=jb.Transistor(1.0)), "Transistor"),
        (
            lambda: BASE.replace(tile_shape=(4, 5), mapping="interleaved"),
            r"tile_shape = \(4, 5\): mapping = 'interleaved' takes an even number",
        ),
        (
            lambda: layer(
                BASE.replace(wires=WIRES, cell=jb.Transistor([1.0, 2.0, 3.0])), jnp.float32
            )(jnp.ones(10)),
            r"Transistor.vg has shape \(3,\)",
        ),
    ],
    ids=range(7),
)
def test_wrong_configurations(make, message):
    with pytest.raises(ValueError, match=message):
        make()
