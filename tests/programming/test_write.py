"""Many tiles, chunks, compiled code, mistakes; and the tile that others take minutes for."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import MemoryBudgetError
from jaxbar.devices import VTEAM, StanfordPKU
from jaxbar.programming import Status, WriteVerify, write_verify
from jaxbar.programming.chunk import peak

from .reference import DEVICE, targets

KEY = jax.random.key(0)


@pytest.mark.parametrize("order", ["row", "cell", "tile"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_tile(x64, order, dtype):
    """Half-select on; every cell that the device reaches is within 5 %, the others are named."""
    target = targets((128, 128), dtype=dtype)
    target[0, :10], target[5, 3:7] = 1 / 1500, 1 / 4000
    start = time.perf_counter()
    found = jax.block_until_ready(write_verify(DEVICE, target, WriteVerify(order=order)))
    # It takes 1 to 3 s; a machine may be busy.
    assert time.perf_counter() - start < 20
    out = np.zeros(target.shape, bool)
    out[0, :10] = out[5, 3:7] = True
    np.testing.assert_array_equal(
        found.status, np.where(out, int(Status.OUT_OF_RANGE), int(Status.DONE))
    )
    np.testing.assert_allclose(np.asarray(found.conductance)[~out], target[~out], rtol=0.050001)
    bounds = np.where(target > 1 / 1800, 1 / 1800, 1 / 2500)[out]
    np.testing.assert_allclose(np.asarray(found.conductance)[out], bounds, rtol=0.050001)


def test_many_pulses_of_many_devices():
    """512×512 VTEAM devices through 1 000 pulses."""
    device = VTEAM()
    volts = np.where(np.arange(1000) % 20 < 10, -0.3, 0.3).astype(np.float32)
    start = jnp.full((512, 512), 1.5e-9, jnp.float32)
    height = jnp.linspace(0.5, 1.0, 512)
    begin = time.perf_counter()
    end = jax.jit(
        lambda x: jax.lax.scan(lambda x, v: (device.step(x, v * height, 1e-11), None), x, volts)[0]
    )(start)
    jax.block_until_ready(end)
    assert time.perf_counter() - begin < 10  # it takes 2
    one, _ = device.simulate(jnp.float32(1.5e-9), volts * height[100], 1e-11)
    np.testing.assert_allclose(end[7, 100], one, rtol=1e-5)


@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 2), (0,), (0, 2)], ids=str)
def test_tiles_are_written_for_themselves(lead):
    target = targets((*lead, 4, 5), dtype=np.float32)
    start = np.float32(2400.0)
    found = write_verify(DEVICE, target, None, start)
    for x in (found.state, found.conductance, found.pulses, found.status, found.amplitude):
        assert x.shape == (*lead, 4, 5)
    assert found.passes.shape == found.converged.shape == lead
    for at in np.ndindex(*lead):
        alone = write_verify(DEVICE, target[at], None, start)
        np.testing.assert_array_equal(found.pulses[at], alone.pulses)
        np.testing.assert_allclose(found.conductance[at], alone.conductance, rtol=1e-6)


def test_what_broadcasts():
    """A device, a state and stuck cells for each column, row or tile."""
    target = targets((3, 4, 5), dtype=np.float32)
    device = VTEAM(r_on=np.linspace(40, 60, 5), r_off=np.full((3, 1, 1), 3000.0))
    stuck = np.array([False, True, False, False])[:, None]
    p = WriteVerify(0.25, 0.4, 0.05, 1e-10, 0.1, max_pulses=300)
    found = write_verify(device, target, p, 1.5e-9, stuck=stuck)
    for k in range(3):
        one = VTEAM(r_on=np.linspace(40, 60, 5), r_off=3000.0)
        alone = write_verify(one, target[k], p, 1.5e-9, stuck=np.broadcast_to(stuck, (4, 5)))
        np.testing.assert_array_equal(found.pulses[k], alone.pulses)
        np.testing.assert_array_equal(found.status[k], alone.status)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_change_nothing(size):
    target = targets((5, 4, 5), dtype=np.float32)
    whole = write_verify(DEVICE, target, tile_chunk=5)
    some = write_verify(DEVICE, target, tile_chunk=size)
    np.testing.assert_array_equal(some.pulses, whole.pulses)
    np.testing.assert_allclose(some.conductance, whole.conductance, rtol=1e-6)
    noisy = StanfordPKU(delta_g=1e-3)
    p = WriteVerify(1.2, 2.0, 0.05, 1e-9, max_pulses=300)
    aim = np.linspace(1e-5, 5e-4, 40, dtype=np.float32).reshape(5, 2, 4)
    one, other = (
        write_verify(noisy, aim, p, 1e-9, key=KEY, tile_chunk=chunk) for chunk in (5, size)
    )
    np.testing.assert_array_equal(one.pulses, other.pulses)
    assert len(np.unique(np.asarray(one.state[:, 0, 0]))) == 5


def test_memory():
    target = targets((4, 8, 8), dtype=np.float32)
    need = peak((8, 8), 4, 1, np.float32, target.nbytes + 3 * 4, None)
    assert write_verify(DEVICE, target, memory_budget=2 * need).done.all()
    with pytest.raises(MemoryBudgetError, match="writing 4 tiles of 8×8 one at a time needs"):
        write_verify(DEVICE, target, memory_budget=need // 4)


def test_compiled_and_mapped():
    target = targets((3, 4, 5), dtype=np.float32)
    alone = write_verify(DEVICE, target)
    for found in (
        jax.jit(lambda t: write_verify(DEVICE, t))(target),
        jax.vmap(lambda t: write_verify(DEVICE, t))(target),
        jax.jit(jax.vmap(lambda t, d: write_verify(d, t), (0, None)))(target, DEVICE),
    ):
        np.testing.assert_array_equal(found.pulses, alone.pulses)
        np.testing.assert_allclose(found.conductance, alone.conductance, rtol=1e-6)
    swept = jax.vmap(lambda t: write_verify(DEVICE, target[0], WriteVerify(tolerance=t)).pulses)
    pulses = swept(jnp.array([0.01, 0.05])).sum((1, 2))
    assert pulses[0] > pulses[1]


TARGET = np.full((2, 3), 5e-4, np.float32)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: write_verify(VTEAM, TARGET), "device = <class .*must be a model of jaxbar.device"),
        (lambda: write_verify(DEVICE, TARGET, 3), "protocol = 3: must be a WriteVerify, or None"),
        (lambda: write_verify(DEVICE, TARGET[0]), r"target has shape \(3,\): must be \(M word"),
        (lambda: write_verify(DEVICE, TARGET[:0]), r"target has shape \(0, 3\)"),
        (lambda: write_verify(DEVICE, -TARGET), r"target\[0, 0\] = -0.0005.*: must be finite and"),
        (lambda: write_verify(DEVICE, TARGET * np.nan), r"target\[0, 0\] = nan: must be finite"),
        (lambda: write_verify(DEVICE, TARGET, None, 1e3), "state = 1000.0: must be between 1800"),
        (lambda: write_verify(DEVICE, TARGET, None, np.nan), "state = nan: must be finite"),
        (
            lambda: write_verify(DEVICE, TARGET, None, np.full(2, 2e3)),
            r"state of shape \(2,\) with targets of shape \(2, 3\): must be a scalar or broadcast",
        ),
        (lambda: write_verify(DEVICE, TARGET, stuck=-1.0), "stuck = -1.0 ohm: must be > 0"),
        (lambda: write_verify(DEVICE, TARGET, wires=jb.Wires()), "wires = .*'ideal', which uses"),
        (
            lambda: write_verify(DEVICE, TARGET, WriteVerify(voltages="network")),
            "wires = None with WriteVerify.voltages = 'network'",
        ),
        (lambda: write_verify(DEVICE, TARGET, tile_chunk=0), "tile_chunk = 0: must be an int"),
        (lambda: write_verify(DEVICE, TARGET, memory_budget="x"), "memory_budget = 'x': must be"),
        (lambda: WriteVerify(0.0), "WriteVerify.amplitude = 0.0: must be finite and > 0, in V"),
        (lambda: WriteVerify(2.0), r"WriteVerify.max_amplitude = 1.8 V: must be ≥ amplitude = 2.0"),
        (lambda: WriteVerify([1.0, 1.2, 1.4]), r"WriteVerify.amplitude has shape \(3,\): must be"),
        (lambda: WriteVerify(ramp=[0.1, 0.2]), r"WriteVerify.ramp has shape \(2,\): must be a num"),
        (lambda: WriteVerify(tolerance=1.0), "WriteVerify.tolerance = 1.0: must be below 1"),
        (lambda: WriteVerify(max_pulses=0), "WriteVerify.max_pulses = 0: must be an int ≥ 1"),
        (lambda: WriteVerify(order="rows"), "order = 'rows': must be one of .*did you mean 'row'"),
        (lambda: WriteVerify(scheme="V/4"), "WriteVerify.scheme = 'V/4': must be one of"),
        (
            lambda: WriteVerify(scheme="none", voltages="network"),
            "WriteVerify.voltages = 'network' with scheme = 'none'",
        ),
    ],
    ids=range(23),
)
def test_mistakes(make, message):
    with pytest.raises(ValueError, match=message):
        make()
