"""Configurations say what is wrong with them."""

import jax
import jax.numpy as jnp
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
