"""Flax layers on tiles: conversion, calibration, programming, training."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar import crossbar

HARSH = jb.CrossbarConfig(
    tile_shape=(8, 8),
    wires=jb.Wires(5.0, 5.0, 5.0, 5.0),
    r_on=1.8e3,
    r_off=2.5e3,
    solver=jb.Solver("cg"),
)
IDEAL = [
    jb.CrossbarConfig(),
    jb.CrossbarConfig(mapping="offset", tile_shape=(5, 3)),
    jb.CrossbarConfig(scale="column", r_off=float("inf"), tile_shape=(1, 2), unused="open"),
]


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 6, rngs=rngs)
        self.again = self.first
        self.blocks = nnx.List([nnx.Dict(inner=nnx.Linear(6, 6, use_bias=False, rngs=rngs))])
        self.last = nnx.Sequential(nnx.Linear(6, 4, rngs=rngs), nnx.relu)

    def __call__(self, x):
        x = nnx.relu(self.again(nnx.relu(self.first(x))))
        for block in self.blocks:
            x = nnx.relu(block["inner"](x))
        return self.last(x)


@pytest.fixture
def model():
    return Model(nnx.Rngs(0))


@pytest.fixture
def x(rng):
    return jnp.asarray(rng.uniform(-1, 1, (20, 6)), jnp.float32)


def leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(nnx.state(model))]


@pytest.mark.parametrize("config", IDEAL)
@pytest.mark.parametrize("shape", [(6,), (0, 6), (1, 6), (2, 3, 6)], ids=str)
@pytest.mark.parametrize("use_bias", [True, False])
def test_an_ideal_layer_is_digital(rng, config, shape, use_bias):
    digital = nnx.Linear(6, 4, use_bias=use_bias, rngs=nnx.Rngs(0))
    analog = jb.patch_model(digital, config)
    assert isinstance(analog, jb.nn.Linear)
    inputs = jnp.asarray(rng.uniform(-1, 1, shape), jnp.float32)
    np.testing.assert_allclose(analog(inputs), digital(inputs), rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(jb.program(analog)(inputs), digital(inputs), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("config", IDEAL)
def test_the_literal_case(config):
    kernel = jnp.array([[8.0, 3, -2], [-4, 7, 5], [3, 4, -12]])
    x = jnp.array([9.0, 15, 35])
    layer = jb.nn.Linear(3, 3, config, use_bias=False, rngs=nnx.Rngs(0))
    for w, expected in ((kernel, [117.0, 272, -363]), (kernel.T, [47.0, 244, -333])):
        layer.kernel[...] = w
        np.testing.assert_allclose(layer(x), expected, rtol=1e-5)


def test_patching_reaches_every_depth_and_keeps_sharing(model, x):
    before = leaves(model)
    analog = jb.patch_model(model, IDEAL[0])
    layers = [node for _, node in nnx.iter_graph(analog) if isinstance(node, jb.nn.Linear)]
    assert sorted(layer.path for layer in layers) == [
        "again",
        "blocks.0.inner",
        "last.layers.0",
    ]
    assert analog.first is analog.again
    assert not any(type(node) is nnx.Linear for _, node in nnx.iter_graph(analog))
    np.testing.assert_allclose(analog(x), model(x), atol=5e-6)
    analog.first.kernel[...] += 1.0
    assert isinstance(model.first, nnx.Linear)
    assert all((a == b).all() for a, b in zip(before, leaves(model), strict=True))


def test_patching_again_replaces_the_configuration(model, x):
    analog = jb.patch_model(jb.patch_model(model, HARSH), IDEAL[0])
    np.testing.assert_allclose(analog(x), model(x), atol=5e-6)


def test_an_optimizer_step_takes_effect_at_once(model, x):
    analog = jb.patch_model(model, HARSH)
    optimizer = nnx.Optimizer(analog, optax.sgd(0.1), wrt=nnx.Param)
    y = jnp.sin(x[:, :4])

    @nnx.jit
    def step(analog, optimizer):
        loss, gradients = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(analog)
        optimizer.update(analog, gradients)
        return loss

    deployed = jb.program(analog)
    frozen = deployed(x)
    losses = [step(analog, optimizer) for _ in range(4)]
    assert losses[0] > losses[1] > losses[2] > losses[3]
    np.testing.assert_array_equal(deployed(x), frozen)  # written conductances stay


def test_tune_is_idempotent_and_leaves_the_weights(model, x):
    config = HARSH.replace(dac=jb.DAC(bits=8), adc=jb.ADC(bits=8, overflow=0.001))
    analog = jb.patch_model(model, config)
    weights = jax.tree.leaves(nnx.state(analog, nnx.Param))
    error = lambda: float(jnp.mean((analog(x) - model(x)) ** 2))
    raw = error()
    assert jb.tune(analog, x) is analog
    tuned, once = error(), leaves(analog)
    jb.tune(analog, x)
    assert all((a == b).all() for a, b in zip(once, leaves(analog), strict=True))
    assert tuned < 0.5 * raw
    after = jax.tree.leaves(nnx.state(analog, nnx.Param))
    assert all((a == b).all() for a, b in zip(weights, after, strict=True))


def test_tune_stores_the_input_scale_of_each_layer(x):
    digital = nnx.Sequential(nnx.Linear(6, 6, rngs=nnx.Rngs(0)), nnx.Linear(6, 2, rngs=nnx.Rngs(1)))
    analog = jb.tune(jb.patch_model(digital, HARSH), x)
    first, second = analog.layers
    assert first.calibration.input_scale == jnp.abs(x).max()
    # The second sees what the calibrated first makes of x.
    np.testing.assert_allclose(second.calibration.input_scale, jnp.abs(first(x)).max(), rtol=1e-5)


@pytest.mark.parametrize("bits", [1, 8])
def test_converters(model, x, bits):
    ideal = jb.patch_model(model, HARSH)
    coarse = jb.patch_model(model, HARSH.replace(dac=jb.DAC(bits=bits), adc=jb.ADC(bits=bits)))
    jb.tune(ideal, x), jb.tune(coarse, x)
    difference = float(jnp.abs(coarse(x) - ideal(x)).max())
    assert jnp.isfinite(coarse(x)).all()
    assert difference > 0
    assert bits == 1 or difference < 0.1 * float(jnp.abs(ideal(x)).max())


def test_programming_keeps_the_outputs(model, x):
    analog = jb.tune(jb.patch_model(model, HARSH), x)
    deployed = jb.program(analog, jax.random.key(0))
    assert deployed.first is deployed.again
    np.testing.assert_allclose(nnx.jit(lambda m, x: m(x))(deployed, x), analog(x), atol=1e-5)
    assert deployed.first.conductance[...].shape == (2, 1, 1, 8, 8)


def test_reconfigure_sweeps_in_one_vmap(model, x):
    analog = jb.patch_model(model, HARSH)
    at = lambda r: jb.reconfigure(analog, wires=jb.Wires(r, r, r, r))(x)
    resistances = jnp.array([0.1, 1.0, 10.0])
    for r, y in zip(resistances, jax.jit(jax.vmap(at))(resistances), strict=True):
        np.testing.assert_allclose(y, at(r), atol=1e-5)
    np.testing.assert_allclose(analog(x), at(5.0), atol=1e-6)


def test_split_and_merge(model, x):
    analog = jb.tune(jb.patch_model(model, HARSH), x)
    graph, state = nnx.split(analog)
    y = jax.jit(lambda state, x: nnx.merge(graph, state)(x))(state, x)
    np.testing.assert_allclose(y, analog(x), atol=1e-6)


def test_half_precision_layers(x):
    digital = nnx.Linear(6, 4, dtype=jnp.bfloat16, param_dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
    y = jb.patch_model(digital, IDEAL[0])(x)
    assert y.dtype == jnp.bfloat16
    np.testing.assert_allclose(y.astype(jnp.float32), digital(x).astype(jnp.float32), atol=0.03)


@pytest.mark.parametrize("wrap", [lambda f: f, nnx.jit], ids=["eager", "jit"])
def test_an_unconverged_layer_warns(x, wrap):
    config = HARSH.replace(solver=jb.Solver("cg", max_iterations=1))
    analog = jb.patch_model(nnx.Linear(6, 4, rngs=nnx.Rngs(0)), config)
    with pytest.warns(jb.nn.ConvergenceWarning, match=r"Linear: a tile was not solved"):
        wrap(lambda m, x: m(x))(analog, x).block_until_ready()
        jax.effects_barrier()


def test_errors(model, x):
    analog = jb.patch_model(model, IDEAL[0])
    with pytest.raises(ValueError, match=r"again: x has shape \(5,\), the layer takes \(…, 6\)"):
        analog(jnp.zeros(5))
    with pytest.raises(ValueError, match=r"holds no nnx.Linear"):
        jb.patch_model(nnx.LayerNorm(3, rngs=nnx.Rngs(0)), IDEAL[0])
    with pytest.raises(ValueError, match=r"must be a jaxbar.CrossbarConfig"):
        jb.patch_model(model, {"r_on": 1e3})
    with pytest.raises(ValueError, match="use patch_model before tune"):
        jb.tune(model, x)
    with pytest.raises(ValueError, match="outside jit"):
        nnx.jit(lambda m, x: jb.tune(m, x)(x))(analog, x)
    with pytest.raises(ValueError, match="use patch_model first"):
        jb.program(model)
    with pytest.raises(ValueError, match="unknown configuration field wire:"):
        jb.reconfigure(analog, wire=None)
    with pytest.raises(ValueError, match="is programmed"):
        jb.reconfigure(jb.program(analog), wires=None)
    with pytest.raises(ValueError, match="new weights need keys"):
        jb.nn.Linear(3, 3, IDEAL[0])


@pytest.mark.parametrize("scheme", ["differential", "offset"])
@pytest.mark.parametrize("tile", [(1, 1), (2, 2), (2, 3), (64, 64)], ids=str)
def test_the_literal_case_on_tiles_of_any_shape(scheme, tile):
    digital = nnx.Linear(3, 3, use_bias=False, rngs=nnx.Rngs(0))
    x = jnp.array([9.0, 15, 35])
    config = jb.CrossbarConfig(tile_shape=tile, mapping=scheme)
    for turn, expected in ((False, [117.0, 272, -363]), (True, [47.0, 244, -333])):
        kernel = jnp.array([[8.0, 3, -2], [-4, 7, 5], [3, 4, -12]])
        digital.kernel[...] = kernel.T if turn else kernel
        np.testing.assert_allclose(jb.patch_model(digital, config)(x), expected, rtol=1e-5)


def test_a_root_sequential():
    digital = nnx.Sequential(nnx.Linear(6, 3, rngs=nnx.Rngs(0)), nnx.relu)
    analog = jb.patch_model(digital, IDEAL[1])
    assert type(digital.layers[0]) is nnx.Linear
    assert type(analog.layers[0]) is jb.nn.Linear
    np.testing.assert_allclose(analog(jnp.ones(6)), digital(jnp.ones(6)), rtol=1e-5, atol=1e-6)


def test_training_the_patched_model_leaves_the_original(x):
    digital = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    before, y = leaves(digital), digital(x)
    analog = jb.patch_model(digital, HARSH)
    raw = analog(x)
    optimizer = nnx.Optimizer(analog, optax.sgd(0.5), wrt=nnx.Param)
    gradients = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(analog)
    optimizer.update(analog, gradients)
    assert all((a == b).all() for a, b in zip(before, leaves(digital), strict=True))
    np.testing.assert_array_equal(digital(x), y)
    # The step shows in the next forward pass, as if the new weights had been patched.
    stepped = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    stepped.kernel[...], stepped.bias[...] = analog.kernel[...], analog.bias[...]
    np.testing.assert_array_equal(analog(x), jb.patch_model(stepped, HARSH)(x))
    assert jnp.abs(analog(x) - raw).max() > 1e-3


def test_tied_weights_stay_tied():
    digital = nnx.List([nnx.Linear(3, 3, rngs=nnx.Rngs(k)) for k in (0, 1)])
    digital[1].kernel = digital[0].kernel
    analog = jb.patch_model(digital, IDEAL[0])
    assert analog[1].kernel is analog[0].kernel
    assert analog[1].kernel is not digital[0].kernel
    assert analog[1].bias is not analog[0].bias


class Twice(nnx.Module):
    def __init__(self):
        self.layer = nnx.Linear(6, 6, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.layer(4.0 * self.layer(x))


def test_a_layer_used_twice_is_calibrated_on_all_it_sees(x):
    analog = jb.patch_model(Twice(), HARSH)
    layer = analog.layer
    jb.tune(analog, x)
    once = leaves(analog)
    first = jb.tune(jb.patch_model(Twice().layer, HARSH), x)
    seen = jnp.concatenate([x, 4.0 * first(x)])
    expected, *_ = crossbar.calibrate(seen, layer.weights(), layer.config)
    for found, value in zip(
        jax.tree.leaves(layer.calibration), jax.tree.leaves(expected), strict=True
    ):
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-6)
    assert expected.input_scale > jnp.abs(x).max()
    assert jnp.abs(expected.gain - first.calibration.gain).max() > 1e-3  # both uses count
    jb.tune(analog, x)
    assert all((a == b).all() for a, b in zip(once, leaves(analog), strict=True))


def test_a_programmed_model_does_not_follow(x):
    analog = jb.patch_model(nnx.Linear(6, 4, rngs=nnx.Rngs(0)), HARSH)
    deployed = jb.program(analog)
    y = deployed(x)
    np.testing.assert_allclose(y, analog(x), atol=1e-5)
    analog.kernel[...] += 1.0
    analog.bias[...] += 1.0
    jb.tune(analog, x)
    np.testing.assert_array_equal(deployed(x), y)
    assert jnp.abs(analog(x) - y).max() > 0.5


def test_reconfiguring_equals_patching_and_copies(x):
    digital = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    analog = jb.patch_model(digital, HARSH)
    y = analog(x)
    at = lambda r: jb.reconfigure(analog, wires=jb.Wires(r, r, r, r))(x)
    swept = jax.vmap(at)(jnp.array([1.0, 20.0]))
    for k, r in enumerate((1.0, 20.0)):
        separate = jb.patch_model(digital, HARSH.replace(wires=jb.Wires(r, r, r, r)))
        np.testing.assert_allclose(swept[k], separate(x), atol=1e-5)
    np.testing.assert_array_equal(analog(x), y)


def test_reconfiguring_validates_against_what_stays(x):
    analog = jb.patch_model(nnx.Linear(6, 4, rngs=nnx.Rngs(0)), HARSH)
    with pytest.raises(ValueError, match="v_max = -1"):
        jb.reconfigure(analog, v_max=-1.0)
    with pytest.raises(ValueError, match="r_off"):
        jb.reconfigure(analog, r_on=1e5)  # above the r_off of 2.5e3 that stays


@pytest.mark.parametrize(
    "changes",
    [{"adc": jb.ADC(bits=6, range=2e-5)}, {"input_scale": 3.0, "dac": jb.DAC(bits=6)}],
    ids=["adc.range", "input_scale"],
)
def test_a_reconfigured_range_is_used(x, changes):
    digital = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    expected = jb.patch_model(digital, HARSH.replace(**changes))(x)
    found = jb.reconfigure(jb.patch_model(digital, HARSH), **changes)(x)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_eight_bits_are_close_to_digital_and_one_is_not(x):
    digital = nnx.Linear(6, 4, rngs=nnx.Rngs(0))
    error = {}
    for bits in (1, 8):
        config = IDEAL[0].replace(dac=jb.DAC(bits=bits), adc=jb.ADC(bits=bits))
        analog = jb.tune(jb.patch_model(digital, config), x)
        error[bits] = float(jnp.abs(analog(x) - digital(x)).max() / jnp.abs(digital(x)).max())
    assert 0 < error[8] < 0.03 < error[1]


def test_calibrating_and_programming_warn_too(x):
    config = HARSH.replace(solver=jb.Solver("cg", max_iterations=1))
    digital = nnx.Dict(hidden=nnx.List([nnx.Linear(6, 4, rngs=nnx.Rngs(0))]))
    analog = jb.patch_model(digital, config)
    with pytest.warns(RuntimeWarning, match=r"^hidden.0: .* raise Solver.max_iterations"):
        jb.program(analog)
    with pytest.warns(RuntimeWarning, match=r"^hidden.0: a tile was not solved"):
        analog["hidden"][0].calibrate(x)


@pytest.mark.parametrize("bad", [(5,), (2, 7), ()], ids=str)
def test_a_wrong_shape_names_the_layer(bad):
    analog = jb.patch_model(nnx.Dict(deep=nnx.List([nnx.Linear(6, 4, rngs=nnx.Rngs(0))])), IDEAL[0])
    for some in (analog, jb.program(analog)):
        with pytest.raises(ValueError, match=r"^deep.0: x has shape \(") as error:
            some["deep"][0](jnp.zeros(bad))
        assert str(bad) in str(error.value)


@pytest.mark.parametrize("dtype", [None, jnp.bfloat16], ids=str)
@pytest.mark.parametrize("param_dtype", [jnp.float32, jnp.bfloat16])
@pytest.mark.parametrize("x_dtype", [jnp.float32, jnp.bfloat16])
def test_the_dtype_is_that_of_the_digital_layer(x, dtype, param_dtype, x_dtype):
    digital = nnx.Linear(6, 4, dtype=dtype, param_dtype=param_dtype, rngs=nnx.Rngs(0))
    analog, some = jb.patch_model(digital, IDEAL[0]), x.astype(x_dtype)
    for layer in (analog, jb.program(analog)):
        assert layer(some).dtype == digital(some).dtype
        exact = digital(some).astype(jnp.float32)
        np.testing.assert_allclose(layer(some).astype(jnp.float32), exact, atol=0.03)


def test_float64_inputs(x64, rng):
    digital = nnx.Linear(6, 4, rngs=nnx.Rngs(0))  # float32 weights
    x = jnp.asarray(rng.uniform(-1, 1, (1, 6)))
    y = jb.patch_model(digital, HARSH.replace(wires=jb.Wires(1e-6, 1e-6, 1e-6, 1e-6)))(x)
    assert y.dtype == digital(x).dtype == jnp.float64
    np.testing.assert_allclose(y, digital(x), atol=1e-5)
