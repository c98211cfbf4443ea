"""A matrix on tiles against a loop over tiles, one array at a time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import crossbar

WIRES = jb.Wires(source=7.0, word=5.0, bit=4.0, sense=6.0)


def harsh(**more):
    given = {"tile_shape": (4, 3), "wires": WIRES, "r_on": 1.8e3, "r_off": 2.5e3}
    return jb.CrossbarConfig(**{**given, "solver": jb.Solver("cg"), **more})


def weights(rng, shape=(10, 7), inputs=5):
    w, x = rng.standard_normal(shape), rng.uniform(-1, 1, (inputs, shape[0]))
    return jnp.asarray(w, jnp.float32), jnp.asarray(x, jnp.float32)


def run(x, w, config, **changes):
    calibration = crossbar.default_calibration(w.shape, config, w.dtype)
    for name, value in changes.items():
        calibration = type(calibration)(**{**vars(calibration), name: value})
    return crossbar.matmul(x, w, calibration, config)


def by_hand(x, w, config, adc=lambda i: i):
    """Every array of every tile solved for itself, in numpy."""
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    (k, l), (m, n) = w.shape, config.tile_shape
    g_on, g_off = 1 / config.r_on, 1 / config.r_off
    size = np.abs(w).max() if config.scale == "layer" else np.abs(w).max(0)
    unit = w / size
    if config.mapping == "differential":
        arrays = [g_off + (g_on - g_off) * np.maximum(s * unit, 0) for s in (1, -1)]
        per_weight = (g_on - g_off) / size
    else:
        arrays = [(g_on + g_off) / 2 + (g_on - g_off) / 2 * unit]
        per_weight = (g_on - g_off) / 2 / size
    y = np.zeros((len(x), l))
    for i in range(0, k, m):
        for j in range(0, l, n):
            v = np.zeros((len(x), m))
            v[:, : len(w[i : i + m])] = config.v_max * x[:, i : i + m]
            currents = []
            for array in arrays:
                tile = np.full((m, n), g_off if config.unused == "off" else 0.0)
                part = array[i : i + m, j : j + n]
                tile[: part.shape[0], : part.shape[1]] = part
                solver = jb.Solver("dense")
                currents.append(np.asarray(jb.solve(tile, v, WIRES, solver=solver).currents))
            second = currents[1] if len(currents) == 2 else (g_on + g_off) / 2 * v.sum(1)[:, None]
            y[:, j : j + n] += adc(currents[0] - second)[:, : l - j]
    return y / (config.v_max * per_weight)


@pytest.mark.parametrize("inputs", [2, 5], ids=["per input", "by effective matrices"])
@pytest.mark.parametrize("unused", ["off", "open"])
@pytest.mark.parametrize("scheme", ["differential", "offset"])
def test_equals_every_tile_by_hand(rng, scheme, unused, inputs):
    w, x = weights(rng, inputs=inputs)
    config = harsh(mapping=scheme, unused=unused)
    y, converged = run(x, w, config)
    assert converged
    np.testing.assert_allclose(y, by_hand(x, w, config), atol=2e-4)
    assert np.abs(y - x @ w).max() > 0.05  # the wires matter


@pytest.mark.parametrize("inputs", [2, 5])
def test_each_tile_has_its_adc(rng, inputs):
    w, x = weights(rng, inputs=inputs)
    config = harsh(adc=jb.ADC(bits=3, range=1e-4))
    step = 1e-4 / 3

    def adc(i):
        return np.round(np.clip(i, -1e-4, 1e-4) / step) * step

    expected = by_hand(x, w, config, adc)
    np.testing.assert_allclose(run(x, w, config)[0], expected, atol=2e-4)
    assert np.abs(expected - by_hand(x, w, config)).max() > 0.05


def test_the_scale_of_the_drive_does_not_matter(rng):
    w, x = weights(rng)
    y = run(x, w, harsh())[0]
    for other in (
        run(x, w, harsh(v_max=0.02))[0],
        run(x, w, harsh(), input_scale=jnp.float32(7.0))[0],
    ):
        np.testing.assert_allclose(other, y, atol=1e-4)


@pytest.mark.parametrize("dac", [None, jb.DAC(bits=4)])
def test_a_sample_does_not_depend_on_the_others(rng, dac):
    w, x = weights(rng, inputs=5)
    config = harsh(dac=dac, adc=jb.ADC(bits=6))
    together = run(x, w, config)[0]
    other = run(x.at[1:].multiply(50.0), w, config)[0]
    np.testing.assert_array_equal(other[0], together[0])


@pytest.mark.parametrize("inputs", [0, 1])
def test_small_batches(rng, inputs):
    w, x = weights(rng, inputs=inputs)
    y, converged = run(x, w, harsh())
    assert y.shape == (inputs, 7)
    assert converged


@pytest.mark.parametrize("chunk", [1, 5, 100])
@pytest.mark.parametrize("inputs", [2, 5])
def test_chunks_change_nothing(rng, chunk, inputs):
    w, x = weights(rng, inputs=inputs)

    def loss(w, config):
        return jnp.sum(jnp.sin(run(x, w, config)[0]))

    value, slope = jax.value_and_grad(loss)(w, harsh())
    chunked = jax.value_and_grad(loss)(w, harsh(tile_chunk=chunk))
    np.testing.assert_allclose(chunked[0], value, rtol=1e-4)
    np.testing.assert_allclose(chunked[1], slope, atol=1e-4)


@pytest.mark.parametrize("inputs", [2, 5])
def test_gradients_match_central_differences(x64, rng, inputs):
    w, x = weights(rng, (5, 4), inputs)
    w, x = w.astype(jnp.float64), x.astype(jnp.float64)
    config = jax.tree.map(jnp.float64, harsh())
    calibration = crossbar.default_calibration(w.shape, config, w.dtype)

    def loss(args):
        x, w, config = args
        return jnp.sum(jnp.sin(crossbar.matmul(x, w, calibration, config)[0]))

    args = (x, w, config)
    step = jax.tree.map(lambda a: 0.1 * a * rng.standard_normal(a.shape), args)
    at = lambda t: loss(jax.tree.map(lambda a, d: a + t * d, args, step))
    h = 1e-3
    expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    found = jax.tree.map(jnp.vdot, jax.grad(loss)(args), step)
    np.testing.assert_allclose(sum(jax.tree.leaves(found)), expected, rtol=1e-6)


def test_failure_to_converge_is_reported(rng):
    w, x = weights(rng)
    for count in (2, 5):
        assert not run(x[:count], w, harsh(solver=jb.Solver("cg", max_iterations=1)))[1]


@pytest.mark.parametrize(
    ("shape", "tile", "inputs"),
    [((3, 2), (6, 5), 1), ((3, 2), (6, 5), 9), ((8, 6), (4, 3), 9), ((1, 7), (4, 3), 1)],
    ids=str,
)
def test_other_shapes_by_hand(rng, shape, tile, inputs):
    w, x = weights(rng, shape, inputs)
    config = harsh(tile_shape=tile, scale="column", mapping="offset")
    np.testing.assert_allclose(run(x, w, config)[0], by_hand(x, w, config), atol=3e-4)


@pytest.mark.parametrize(("scheme", "method"), [("differential", "direct"), ("offset", "cg")])
def test_both_ways_agree_in_float64(x64, rng, scheme, method):
    w, x = (a.astype(jnp.float64) for a in weights(rng, inputs=5))
    config = harsh(mapping=scheme, solver=jb.Solver(method))
    together = run(x, w, config)[0]
    apart = jnp.concatenate([run(part, w, config)[0] for part in (x[:2], x[2:4], x[4:])])
    np.testing.assert_allclose(apart, together, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(together, by_hand(x, w, config), rtol=1e-9, atol=1e-10)


def test_wires_of_no_resistance_are_no_wires(rng):
    w, x = weights(rng)
    y = run(x, w, harsh(wires=None))[0]
    np.testing.assert_allclose(y, x @ w, atol=1e-4)
    np.testing.assert_allclose(run(x, w, harsh(wires=jb.Wires()))[0], y, atol=1e-4)


@pytest.mark.parametrize("scheme", ["differential", "offset"])
def test_the_adc_spans_the_largest_current_without_wires(scheme):
    # Every weight and input at its largest: full scale, to the last code.
    w, x = jnp.full((3, 2), -2.0), jnp.ones((1, 3))
    config = harsh(wires=None, mapping=scheme, tile_shape=(8, 8), adc=jb.ADC(bits=2))
    np.testing.assert_allclose(run(x, w, config)[0], -6.0, rtol=1e-5)
    np.testing.assert_array_equal(run(0.4 * x, w, config)[0], 0.0)
    np.testing.assert_allclose(run(0.6 * x, w, config)[0], -6.0, rtol=1e-5)
    np.testing.assert_allclose(run(3.0 * x, w, config)[0], -6.0, rtol=1e-5)  # saturates


def test_the_dac_quantises_and_clips_the_inputs(rng):
    w, x = weights(rng)
    config = harsh(dac=jb.DAC(bits=3))
    driven = 0.7 * np.round(3 * np.clip(np.asarray(x) / 0.7, -1, 1)) / 3
    y = run(x, w, config, input_scale=jnp.float32(0.7))[0]
    np.testing.assert_allclose(y, by_hand(driven, w, config), atol=2e-4)


@pytest.mark.parametrize("inputs", [2, 5])
def test_batch_mates_do_not_matter_to_the_bit(rng, inputs):
    w, x = weights(rng, inputs=inputs)
    config = harsh(dac=jb.DAC(bits=8), adc=jb.ADC(bits=8))
    y = run(x, w, config)[0]
    for factor in (0.0, 1e-5, 50.0):
        other = run(x.at[1:].multiply(factor), w, config)[0]
        np.testing.assert_array_equal(other[0], y[0])


@pytest.mark.parametrize(("chunk", "inputs"), [(2, 5), (5, 2)])
def test_chunks_keep_the_gradients_of_the_configuration(rng, chunk, inputs):
    w, x = weights(rng, (10, 4), inputs)  # 2 arrays of 3 × 2 tiles

    def loss(config):
        return jnp.sum(jnp.sin(run(x, w, config)[0]))

    slope = jax.tree.leaves(jax.grad(loss)(harsh()))
    chunked = jax.tree.leaves(jax.grad(loss)(harsh(tile_chunk=chunk)))
    np.testing.assert_allclose(chunked[:-1], slope[:-1], rtol=2e-3, atol=1e-6)
    assert max(map(abs, slope)) > 1e-3


@pytest.mark.parametrize("inputs", [2, 5])
def test_gradient_of_each_argument(x64, rng, inputs):
    w, x = (a.astype(jnp.float64) for a in weights(rng, (5, 4), inputs))
    config = jax.tree.map(jnp.float64, harsh(mapping="offset"))
    calibration = crossbar.default_calibration(w.shape, config, w.dtype)

    @jax.jit
    def loss(args):
        c = config.replace(wires=jb.Wires(*args["wires"]), r_on=args["r_on"], r_off=args["r_off"])
        return jnp.sum(jnp.sin(crossbar.matmul(args["x"], args["w"], calibration, c)[0]))

    wires = jnp.array([7.0, 5.0, 4.0, 6.0])
    args = {"x": x, "w": w, "wires": wires, "r_on": config.r_on, "r_off": config.r_off}
    gradient = jax.jit(jax.grad(loss))(args)
    for name, value in args.items():
        step = 0.1 * value * rng.uniform(0.5, 1, value.shape)
        at = lambda t, name=name, value=value, step=step: loss({**args, name: value + t * step})
        h = 2e-3
        expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        np.testing.assert_allclose(
            jnp.vdot(gradient[name], step), expected, rtol=1e-6, atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("overflow", [0.0, 0.1])
def test_calibration_is_that_of_least_squares(rng, overflow):
    w, x = weights(rng, inputs=40)
    config = harsh(tile_shape=(16, 8), adc=jb.ADC(bits=6, overflow=overflow))
    calibration, _, converged = crossbar.calibrate(3.0 * x, w, config)
    assert converged
    assert calibration.input_scale == 3.0 * jnp.abs(x).max()
    start = type(calibration)(**{**vars(calibration), "gain": jnp.ones(7), "offset": jnp.zeros(7)})
    raw = np.asarray(crossbar.matmul(3.0 * x, w, start, config)[0], np.float64)
    target = 3.0 * np.asarray(x, np.float64) @ np.asarray(w, np.float64)
    for j in range(7):
        line, *_ = np.linalg.lstsq(np.c_[raw[:, j], np.ones(40)], target[:, j])
        np.testing.assert_allclose(calibration.gain[j], line[0], rtol=1e-4)
        np.testing.assert_allclose(calibration.offset[j], line[1], atol=1e-3)
    ideal = run(3.0 * x, w, harsh(tile_shape=(16, 8)), input_scale=calibration.input_scale)[0]
    per_volt = (1 / 1.8e3 - 1 / 2.5e3) / np.abs(w).max() * 0.3 / calibration.input_scale
    beyond = (np.abs(ideal) * per_volt > calibration.adc_range * (1 + 1e-5)).mean()
    assert beyond <= overflow
    assert (np.abs(ideal) * per_volt >= calibration.adc_range * (1 - 1e-5)).mean() > 0
    assert overflow == 0 or beyond > overflow / 2


def test_a_constant_output_has_gain_one(rng):
    w, x = weights(rng)
    calibration, *_ = crossbar.calibrate(jnp.zeros_like(x), w, harsh())
    np.testing.assert_array_equal(calibration.gain, 1.0)
    np.testing.assert_array_equal(calibration.offset, 0.0)
    assert calibration.input_scale == 1.0
