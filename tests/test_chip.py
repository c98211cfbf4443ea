"""Models whose conductances are programmed: devices, non-idealities, drift and its compensation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar import chip, crossbar, devices
from jaxbar.nonideal import (
    Drift,
    FaultMap,
    FiniteStates,
    ProgrammingNoise,
    ReadNoise,
    StuckFaults,
    pcm,
    rram_wan,
)
from jaxbar.parse import from_dict
from jaxbar.programming import Status, write_verify

from .programming.reference import DEVICE

KEY = jax.random.key(0)
WIRES = jb.Wires(1.0, 1.0, 1.0, 1.0)
# 10×5 weights on 6 tiles of 4×6; the last ones are used in part.
BASE = jb.CrossbarConfig(tile_shape=(4, 6), wires=WIRES)


def patched(config):
    return jb.patch_model(nnx.Linear(10, 5, rngs=nnx.Rngs(0)), config)


@pytest.fixture
def x(rng):
    return jnp.asarray(rng.uniform(-1, 1, (20, 10)), jnp.float32)


def used_of(layer):
    used = chip.used_cells((10, 5), layer.config)
    return np.broadcast_to(np.asarray(used), layer.conductance.shape)


def test_nothing_happens_without_a_reason(x):
    layer = patched(BASE)
    written = jb.program(layer)
    np.testing.assert_array_equal(
        written.conductance, crossbar.write(layer.weights(), layer.config)[0]
    )
    np.testing.assert_allclose(written(x), layer(x), atol=1e-5)
    found = jb.written(written)["Linear"]
    assert found.pulses is None and found.stuck is None
    assert (found.cells, float(found.error), float(found.snr)) == (100, 0.0, np.inf)
    for later in (jb.at_time(written, 1e6), jb.program(layer, KEY)):
        np.testing.assert_array_equal(later.conductance, written.conductance)


@pytest.mark.parametrize("mapping", ["differential", "interleaved", "offset"])
def test_write_verify_of_a_layer(x, mapping):
    config = BASE.replace(r_on=None, r_off=None, device=DEVICE, mapping=mapping)
    assert (float(config.r_on), float(config.r_off)) == (1800, 2500)
    layer = patched(config)
    target = crossbar.write(layer.weights(), layer.config)[0]
    written = jb.program(layer, KEY)
    g, used = np.asarray(written.conductance), used_of(written)
    assert used.sum() == (50 if mapping == "offset" else 100)
    np.testing.assert_allclose(g[used], np.asarray(target)[used], rtol=0.05 + 1e-6)
    # The same tile by tile; padding is held and costs no pulse.
    np.testing.assert_allclose(g[~used], 1 / 2500, rtol=1e-6)
    found = jb.written(written)["Linear"]
    alone = np.where(used, np.nan, 2500.0)
    expected = write_verify(DEVICE, target, None, stuck=alone)
    np.testing.assert_allclose(g, expected.conductance, rtol=1e-6)
    assert int(found.pulses) == int(expected.pulses.sum()) > 0
    assert int(found.stuck) == int(found.out_of_range) == int(found.limit) == 0
    error = (g - np.asarray(target))[used]
    np.testing.assert_allclose(found.error, np.sqrt(np.mean(error**2)), rtol=1e-4)
    np.testing.assert_allclose(found.worst, np.abs(error).max(), rtol=1e-4)
    assert 0 < float(found.snr) < 40


def test_the_writer_finds_stuck_cells():
    config = BASE.replace(
        **{"r_on": None, "r_off": None, "device": DEVICE},
        nonideal=(StuckFaults(on=0.1, unformed=0.1),),
    )
    written = jb.program(patched(config), KEY)
    found, state = jb.written(written)["Linear"], written.chip.get_value()
    used = used_of(written)
    open_cells = used & (np.asarray(written.conductance) == 0)
    on = used & (np.asarray(written.conductance) == np.float32(1 / np.float32(1800)))
    assert (open_cells.sum(), on.sum()) == (10, 10)
    ended = np.asarray(state.status)
    assert np.all(ended[open_cells] == Status.STUCK)
    assert np.all(np.isin(ended[on], (Status.STUCK, Status.DONE)))
    assert int(found.stuck) == np.sum(ended[used] == Status.STUCK) >= 10
    assert np.all(ended[~used] == Status.DONE)


def test_targets_beyond_the_device_are_reported():
    config = BASE.replace(r_on=1500.0, r_off=4000.0, device=DEVICE)
    found = jb.written(jb.program(patched(config)))["Linear"]
    assert int(found.out_of_range) > 30


def test_voltages_of_the_network_reach_the_writer():
    how = {"r_on": None, "r_off": None, "device": DEVICE, "wires": jb.Wires(9.0, 9.0, 9.0, 9.0)}
    pulses = {}
    for voltages in ("ideal", "network"):
        config = BASE.replace(**how, programming=jb.WriteVerify(voltages=voltages))
        pulses[voltages] = int(jb.written(jb.program(patched(config)))["Linear"].pulses)
    assert pulses["network"] > pulses["ideal"]


def test_order_and_padding(x):
    """Finite states, then noise, then faults; padding as it was."""
    g_on, g_off = 1e-5, 1e-6
    codes = np.zeros((4, 6), int)
    codes[0, 0], codes[1, 0] = 1, 2
    config = BASE.replace(nonideal=(FaultMap(codes), FiniteStates(2)))
    written = jb.program(patched(config))
    state, used = written.chip.get_value(), used_of(written)
    for values in (state.aim, written.conductance):
        found = np.unique(np.asarray(values)[used])
        np.testing.assert_allclose(found, [g_off, g_on], rtol=1e-6)
    np.testing.assert_allclose(written.conductance[..., 0, 0], g_on, rtol=1e-6)
    np.testing.assert_allclose(written.conductance[:, :, :, 1, 0], g_off, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(written.conductance)[~used], g_off, rtol=1e-6)
    noisy = jb.program(patched(BASE.replace(nonideal=(ProgrammingNoise(0.1),))), KEY)
    np.testing.assert_allclose(np.asarray(noisy.conductance)[~used], g_off, rtol=1e-6)
    assert np.all(np.asarray(noisy.conductance != noisy.chip.get_value().target)[used])


def test_keys(x):
    model = nnx.List([nnx.Linear(10, 5, rngs=nnx.Rngs(0)), nnx.Linear(10, 5, rngs=nnx.Rngs(0))])
    layers = jb.patch_model(model, BASE.replace(nonideal=(ProgrammingNoise(0.1),)))
    one, again, other = (jb.program(layers, jax.random.key(k)) for k in (1, 1, 2))
    for a, b, c in zip(one, again, other, strict=True):
        np.testing.assert_array_equal(a.conductance, b.conductance)
        assert np.any(np.asarray(a.conductance != c.conductance))
    # Layers of equal weights are different chips.
    assert np.any(np.asarray(one[0].conductance != one[1].conductance))
    with pytest.raises(ValueError, match="key = None: ProgrammingNoise draws at random"):
        jb.program(layers)
    sweep = jax.jit(jax.vmap(lambda key: jb.program(layers, key)[0](x)))(jax.random.split(KEY, 3))
    for key, y in zip(jax.random.split(KEY, 3), sweep, strict=True):
        np.testing.assert_allclose(y, jb.program(layers, key)[0](x), atol=1e-5)


def test_drift_in_any_order_of_times(x):
    config = BASE.replace(nonideal=(Drift(nu=0.05, sigma=0.01),))
    start = jb.program(patched(config), KEY)
    late = jb.at_time(start, 1e4)
    ratio = np.asarray(late.conductance / start.conductance)[used_of(start)]
    assert ratio.max() < 1 and ratio.min() > 0
    np.testing.assert_allclose(np.log(ratio).mean(), -0.05 * np.log(1e4 + 1), rtol=0.05)
    # Each from what was written, whatever came between.
    twice = jb.at_time(jb.at_time(late, 1e7), 1e4)
    np.testing.assert_array_equal(twice.conductance, late.conductance)
    np.testing.assert_array_equal(jb.at_time(late, 0.0).conductance, start.conductance)
    np.testing.assert_array_equal(twice(x), late(x))
    np.testing.assert_array_equal(start.conductance, jb.program(patched(config), KEY).conductance)
    traced = jax.jit(lambda t: jb.at_time(start, t)(x))(1e4)
    np.testing.assert_allclose(traced, late(x), atol=1e-5)
    with pytest.raises(ValueError, match="time = -1"):
        jb.at_time(start, -1.0)
    with pytest.raises(ValueError, match="holds no programmed layer to age: use program"):
        jb.at_time(patched(config), 1.0)


@pytest.mark.parametrize("adc", [None, 10])
@pytest.mark.parametrize("cell", [jb.Ohmic(), jb.Sinh(1.0)], ids=["ohmic", "sinh"])
def test_compensation_undoes_a_common_drift(x, adc, cell):
    """With one exponent for all devices, exactly but for the wires and what is small."""
    config = BASE.replace(
        **{"wires": None, "r_off": np.inf, "cell": cell, "adc": jb.ADC(bits=adc, range=1e-5)},
        nonideal=(Drift(nu=0.06),),
    )
    start = jb.program(patched(config))
    size = float(jnp.abs(start(x)).max())
    late = jb.at_time(start, 1e6)
    assert float(jnp.abs(late(x) - start(x)).max()) > 0.3 * size
    for scope in ("layer", "tile", "column"):
        some = jb.at_time(jb.program(patched(config.replace(compensation=scope))), 1e6)
        np.testing.assert_allclose(some(x), start(x), atol=(1e-5 if adc is None else 0.02) * size)


def test_compensation_by_column_comes_closest(x):
    config = BASE.replace(r_on=4e4, r_off=np.inf, nonideal=pcm(), mapping="interleaved")
    start, error = jb.program(patched(config), KEY)(x), {}
    for scope in (None, "layer", "tile", "column"):
        late = jb.at_time(jb.program(patched(config.replace(compensation=scope)), KEY), 1e7)
        error[scope] = float(jnp.abs(late(x) - start).mean())
    assert error["column"] < error["tile"] < 0.5 * error[None]
    assert error["layer"] < 0.5 * error[None]


@pytest.mark.parametrize("cell", [jb.Ohmic(), jb.Sinh(3.0)], ids=["ohmic", "sinh"])
def test_reads_have_noise_of_their_own(x, cell):
    config = BASE.replace(cell=cell, nonideal=(ReadNoise(0.05),))
    written = jb.program(patched(config))  # no key: only reads are random
    quiet = written(x)

    def read(key):
        with jb.reading(jax.random.key(key)):
            return written(x)

    np.testing.assert_array_equal(read(1), read(1))
    assert np.all(np.asarray(read(1) != read(2)))
    np.testing.assert_array_equal(written(x), quiet)
    compiled = jax.jit(jax.vmap(read))(jnp.arange(1, 101))
    np.testing.assert_allclose(compiled[0], read(1), atol=1e-5)
    spread = float(jnp.std(compiled, 0).mean())
    np.testing.assert_allclose(jnp.mean(compiled, 0), quiet, atol=0.6 * spread)
    assert spread > 1e-3
    with pytest.raises(ZeroDivisionError), jb.reading(KEY):
        raise ZeroDivisionError
    np.testing.assert_array_equal(written(x), quiet)


def test_a_layer_that_is_used_twice_is_one_chip(x):
    class Twice(nnx.Module):
        def __init__(self):
            self.one = nnx.Linear(10, 10, rngs=nnx.Rngs(0))

        def __call__(self, x):
            return self.one(self.one(x))

    written = jb.program(jb.patch_model(Twice(), BASE.replace(nonideal=(ReadNoise(0.1),))))
    assert list(jb.written(written)) == ["one"]
    assert written(x).shape == (20, 10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": 3.0}, "device = 3.0: must be a model of jaxbar.devices, or None"),
        ({"device": devices.VTEAM}, "device = <class .*must be a model of jaxbar.devices"),
        ({"programming": jb.WriteVerify()}, "programming without device: name the device"),
        ({"device": DEVICE, "programming": 1.2}, "programming = 1.2: must be a jaxbar.programming"),
        ({"nonideal": (3.0,)}, "nonideal has 3.0: must be a sequence of non-idealities"),
        ({"nonideal": (*pcm(), Drift())}, "nonideal has Drift and Drift, both of the kind"),
        ({"device": DEVICE, "nonideal": pcm()}, "nonideal has programming noise, with a device"),
        ({"compensation": "array"}, "compensation = 'array': must be one of 'layer', 'tile'"),
        (
            {"device": devices.VTEAM(r_on=np.full((4, 6), 50.0)), "r_on": None},
            "r_on = None with devices that differ",
        ),
        (
            {
                "device": DEVICE,
                "wires": jb.SourceLines(),
                "programming": jb.WriteVerify(voltages="network"),
            },
            "programming.voltages = 'network' with source lines",
        ),
    ],
    ids=range(10),
)
def test_wrong_configurations(changes, message):
    with pytest.raises(ValueError, match=message):
        BASE.replace(**changes)


def test_a_time_that_was_not_measured():
    config = BASE.replace(r_on=25e3, r_off=np.inf, nonideal=rram_wan(time=1.0))
    written = jb.program(patched(config), KEY)
    assert jb.at_time(written, 86400.0) is not None
    with pytest.raises(ValueError, match="time"):
        jb.at_time(written, 12.0)


def test_files():
    made = from_dict(
        jb.CrossbarConfig,
        {
            "device": {"model": "VTEAM", "r_on": 60.0},
            "programming": {"amplitude": [0.25, 0.3], "max_amplitude": 0.4, "order": "cell"},
            "nonideal": [
                {"kind": "StuckFaults", "off": 0.02},
                {"kind": "FiniteStates", "n": 16},
            ],
            "compensation": "tile",
        },
    )
    assert made.device.r_on == made.r_on == 60.0
    assert made.programming.order == "cell" and made.programming.amplitude[1] == 0.3
    assert [type(item) for item in made.nonideal] == [FiniteStates, StuckFaults]
    made = from_dict(jb.CrossbarConfig, {"nonideal": [{"kind": "pcm", "time": 60.0}]})
    assert len(made.nonideal) == len(pcm()) and made.nonideal[1].time == 60.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nonideal": [{"kind": "pcmm"}]}, r"nonideal\[0\].kind = 'pcmm'.*did you mean 'pcm'"),
        ({"nonideal": [{"kind": "pcm", "tme": 1}]}, r"unknown key nonideal\[0\].tme: did you mean"),
        ({"nonideal": {"kind": "pcm"}}, "nonideal = .*is a list of sections, each with a kind"),
        ({"nonideal": [3]}, r"nonideal\[0\] = 3: is a section, with a key kind"),
        ({"nonideal": [{"on": 0.1}]}, r"\[nonideal\[0\]\] lacks the key kind"),
        ({"nonideal": [{"kind": "StuckFaults", "on": 2}]}, r"nonideal\[0\].on = 2.0: must be"),
        ({"device": {"model": "VTEAM", "r_on": -1}}, "device.r_on = -1.0"),
        ({"device": {"r_on": 1}}, r"\[device\] lacks the key model"),
    ],
    ids=range(8),
)
def test_wrong_files(values, message):
    with pytest.raises(ValueError, match=message):
        from_dict(jb.CrossbarConfig, values)
