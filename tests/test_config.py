"""Configurations say what is wrong with them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: jb.DAC(bits=0), "dac.bits = 0: must be an int ≥ 1, or None"),
        (lambda: jb.ADC(bits=True), "adc.bits = True"),
        (lambda: jb.ADC(bits=2.0), "adc.bits = 2.0"),
        (lambda: jb.ADC(range=0.0), "adc.range = 0.0 A"),
        (lambda: jb.ADC(overflow=1.0), "adc.overflow = 1.0"),
        (lambda: jb.CrossbarConfig(r_on=1e6, r_off=1e5), "r_off = 100000.0 ohm: must be > r_on"),
        (lambda: jb.CrossbarConfig(r_on=0.0), "r_on = 0.0"),
        (lambda: jb.CrossbarConfig(v_max=-1.0), "v_max = -1.0"),
        (lambda: jb.CrossbarConfig(tile_shape=(0, 4)), r"tile_shape = \(0, 4\)"),
        (lambda: jb.CrossbarConfig(tile_shape=64), "tile_shape = 64"),
        (lambda: jb.CrossbarConfig(mapping="diferential"), "did you mean 'differential'"),
        (lambda: jb.CrossbarConfig(scale="tile"), "scale = 'tile': must be one of 'layer'"),
        (lambda: jb.CrossbarConfig(unused="none"), "unused = 'none'"),
        (lambda: jb.CrossbarConfig(clip_percentile=0.0), "clip_percentile = 0.0"),
        (lambda: jb.CrossbarConfig(input_scale=0.0), "input_scale = 0.0"),
        (lambda: jb.CrossbarConfig(tile_chunk=0), "tile_chunk = 0"),
        (lambda: jb.CrossbarConfig(adc=8), "adc = 8: must be a jaxbar.ADC"),
        (lambda: jb.CrossbarConfig(solver="cg"), "solver = 'cg'"),
        (lambda: jb.CrossbarConfig(wires=5.0), "wires = 5.0"),
    ],
)
def test_errors_name_the_field(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_none_is_ideal():
    config = jb.CrossbarConfig(dac=None, adc=None)
    assert (config.dac, config.adc, config.wires) == (jb.DAC(), jb.ADC(), None)
    assert config == jb.CrossbarConfig()


def test_the_leaves_are_physical():
    config = jb.CrossbarConfig(wires=jb.Wires(1.0, 2.0, 3.0, 4.0))
    assert sorted(jax.tree.leaves(config)) == [0.3, 1.0, 2.0, 3.0, 4.0, 1e5, 1e6]
    doubled = jax.vmap(lambda r: config.replace(r_on=r).g_on)(jnp.array([1.0, 2.0]))
    assert doubled.tolist() == [1.0, 0.5]
    assert jax.grad(lambda c: c.g_off * 1e12)(config).r_off == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("make", "name", "value", "remedy"),
    [
        (lambda: jb.DAC(bits=True), "dac.bits", "True", "an int ≥ 1, or None for an ideal"),
        (lambda: jb.DAC(bits=-1), "dac.bits", "-1", "an int ≥ 1, or None for an ideal"),
        (lambda: jb.ADC(bits=0), "adc.bits", "0", "an int ≥ 1, or None for an ideal"),
        (lambda: jb.ADC(range=-1e-6), "adc.range", "-1e-06", "> 0, or None to have `tune`"),
        (lambda: jb.ADC(range=float("inf")), "adc.range", "inf", "> 0, or None to have `tune`"),
        (lambda: jb.ADC(range=float("nan")), "adc.range", "nan", "> 0, or None to have `tune`"),
        (lambda: jb.ADC(overflow=-0.1), "adc.overflow", "-0.1", "a fraction in [0, 1)"),
        (lambda: jb.CrossbarConfig(r_on=5.0, r_off=5.0), "r_off", "5.0", "> r_on = 5.0 ohm"),
        (lambda: jb.CrossbarConfig(r_on=5, r_off=-1), "r_off", "-1", "> r_on = 5 ohm"),
        (lambda: jb.CrossbarConfig(r_on=float("inf")), "r_on", "inf", "> 0 and finite"),
        (lambda: jb.CrossbarConfig(r_off=float("nan")), "r_off", "nan", "inf is allowed"),
        (lambda: jb.CrossbarConfig(v_max=0.0), "v_max", "0.0", "> 0 and finite"),
        (lambda: jb.CrossbarConfig(v_max=float("nan")), "v_max", "nan", "> 0 and finite"),
        (lambda: jb.CrossbarConfig(tile_shape=(4,)), "tile_shape", "(4,)", "two ints ≥ 1"),
        (lambda: jb.CrossbarConfig(tile_shape=(4, 2.0)), "tile_shape", "(4, 2.0)", "two ints ≥ 1"),
        (lambda: jb.CrossbarConfig(mapping="ofset"), "mapping", "'ofset'", "'offset'?"),
        (lambda: jb.CrossbarConfig(scale="colum"), "scale", "'colum'", "mean 'column'?"),
        (lambda: jb.CrossbarConfig(unused="opn"), "unused", "'opn'", "mean 'open'?"),
        (lambda: jb.CrossbarConfig(clip_percentile=101.0), "clip_percentile", "101.0", "(0, 100]"),
        (lambda: jb.CrossbarConfig(input_scale=-2.0), "input_scale", "-2.0", "> 0 and finite"),
        (lambda: jb.CrossbarConfig(tile_chunk=1.5), "tile_chunk", "1.5", "an int ≥ 1, or None"),
        (lambda: jb.CrossbarConfig(dac=8), "dac", "8", "a jaxbar.DAC"),
        (lambda: jb.CrossbarConfig(solver=None), "solver", "None", "a jaxbar.Solver"),
        (
            lambda: jb.CrossbarConfig(wires=[1.0]),
            "wires",
            "[1.0]",
            "a jaxbar.Wires, a jaxbar.SourceLines, or None",
        ),
    ],
)
def test_errors_name_argument_value_and_remedy(make, name, value, remedy):
    with pytest.raises(ValueError) as error:
        make()
    message = str(error.value)
    assert message.startswith(f"{name} = {value}")
    assert remedy in message


@pytest.mark.parametrize("changes", [{"tile_shape": (True, 4)}, {"tile_chunk": True}])
def test_a_bool_is_no_count(changes):
    with pytest.raises(ValueError, match=f"{next(iter(changes))} = "):
        jb.CrossbarConfig(**changes)


@pytest.mark.parametrize("number", [np.float32, jnp.float32], ids=["numpy", "jax"])
@pytest.mark.parametrize(("name", "value"), [("r_on", -1.0), ("v_max", 0.0), ("r_on", 1e7)])
def test_known_arrays_are_checked_too(number, name, value):
    with pytest.raises(ValueError, match=name):
        jb.CrossbarConfig(**{name: number(value)})


def test_replacing_validates_again_and_copies():
    config = jb.CrossbarConfig()
    assert config.replace(tile_shape=[3, 4]).tile_shape == (3, 4)
    assert config.tile_shape == (128, 128)
    with pytest.raises(ValueError, match="v_max = -1"):
        config.replace(v_max=-1)


def test_all_but_the_leaves_is_static():
    config = jb.CrossbarConfig(tile_shape=(2, 3), mapping="offset", adc=jb.ADC(bits=4))
    treedef = jax.tree.structure(config)
    for changes in ({"tile_shape": (3, 3)}, {"mapping": "differential"}, {"adc": None}):
        assert jax.tree.structure(config.replace(**changes)) != treedef
    assert jax.tree.structure(config.replace(r_on=7.0, r_off=9.0, v_max=1.0)) == treedef
    out = jax.jit(lambda c: c)(config)
    assert (out.tile_shape, out.mapping, out.adc) == ((2, 3), "offset", jb.ADC(bits=4))


def test_vmap_and_grad_over_a_whole_configuration():
    config = jb.CrossbarConfig(wires=jb.Wires(1.0, 2.0, 3.0, 4.0), r_on=2.0, r_off=4.0)
    many = jax.tree.map(lambda x: jnp.array([x, 2 * x]), config)
    out = jax.vmap(lambda c: c.g_on - c.g_off + 0 * c.wires.word)(many)
    np.testing.assert_allclose(out, [0.25, 0.125])
    slope = jax.grad(lambda c: c.v_max * c.g_on + c.wires.bit**2)(config)
    assert (slope.v_max, slope.wires.bit, slope.wires.word) == (0.5, 6.0, 0.0)
    assert slope.r_on == pytest.approx(-0.3 / 4)


def test_unused_cells():
    config = jb.CrossbarConfig(r_on=2.0, r_off=4.0)
    assert (config.g_on, config.g_off, config.g_unused) == (0.5, 0.25, 0.25)
    assert config.replace(unused="open").g_unused == 0.0
    assert config.replace(r_off=float("inf")).g_off == 0.0
