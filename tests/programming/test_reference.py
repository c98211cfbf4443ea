"""All orders and schemes against plain Python; the voltages of the network against an oracle."""

import dataclasses

import jax
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.circuit.bias import Bias
from jaxbar.devices import VTEAM, LogNormal, Normal, varied
from jaxbar.programming import Status, WriteVerify, write_verify
from jaxbar.programming.lines import line_voltages

from ..circuit.test_wires import network
from .reference import DEVICE, targets, write

ORDERS, SCHEMES = ("tile", "row", "cell"), ("V/2", "V/3", "none")
WIRES = jb.Wires(source=20.0, word=5.0, bit=4.0, sense=10.0)


def assert_same(found, expected):
    state, g, pulses, amplitude, status = expected
    np.testing.assert_array_equal(found.pulses, pulses)
    np.testing.assert_allclose(found.state, state, rtol=1e-9)
    np.testing.assert_allclose(found.conductance, g, rtol=1e-9)
    np.testing.assert_allclose(found.amplitude, amplitude, rtol=1e-9)
    names = np.vectorize(lambda s: Status(int(s)).name)(found.status)
    np.testing.assert_array_equal(names, status)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ORDERS)
def test_disturbance(x64, order, scheme):
    shape = (4, 3)
    target = targets(shape, 3)
    target[0, 1], target[2, 2] = 1 / 1500, 1 / 2900  # out of range
    start = np.random.default_rng(1).uniform(1800, 2500, shape)
    p = WriteVerify(order=order, scheme=scheme, tolerance=0.03, max_pulses=60)
    expected = write(DEVICE, target, start, p)
    assert_same(write_verify(DEVICE, target, p, start), expected)
    assert {"DONE", "OUT_OF_RANGE"} <= set(expected[-1].ravel())


@pytest.mark.parametrize("order", ORDERS)
def test_devices_that_differ_and_move_the_other_way(x64, order):
    shape = (3, 4)
    device = varied(VTEAM(), jax.random.key(2), shape, v_on=Normal(0.01), r_off=LogNormal(0.1))
    target = targets(shape, 5, 60.0, 700.0)
    # A pulse of 0.3 V lowers the resistance by up to a third: it goes past some targets.
    p = WriteVerify(0.25, 0.6, 0.05, 1e-10, 0.02, max_pulses=40, order=order)
    expected = write(device, target, np.full(shape, 1.5e-9), p)
    assert_same(write_verify(device, target, p, 1.5e-9), expected)
    assert len(set(expected[-1].ravel())) > 1


@pytest.mark.parametrize("scheme", ["V/2", "V/3"])
@pytest.mark.parametrize("order", ORDERS)
def test_network(x64, order, scheme):
    shape = (3, 4)
    target, start = targets(shape, 7), np.random.default_rng(8).uniform(1800, 2500, shape)
    p = WriteVerify(order=order, scheme=scheme, voltages="network", max_pulses=40)

    def across(g, word, bit):
        nodal = network(g, WIRES, word, bit)
        return np.array(nodal[2] - nodal[3], float)

    expected = write(DEVICE, target, start, p, across)
    found = write_verify(DEVICE, target, p, start, wires=WIRES)
    assert_same(found, expected)
    assert bool(found.converged)
    ideal = write_verify(DEVICE, target, dataclasses.replace(p, voltages="ideal"), start)
    assert int(ideal.pulses.sum()) < int(found.pulses.sum())


@pytest.mark.parametrize("order", ORDERS)
def test_network_without_resistance_is_ideal(x64, order):
    target = targets((4, 5))
    p = WriteVerify(order=order)
    ideal = write_verify(DEVICE, target, p)
    found = write_verify(
        DEVICE, target, dataclasses.replace(p, voltages="network"), wires=jb.Wires()
    )
    np.testing.assert_array_equal(found.pulses, ideal.pulses)
    np.testing.assert_array_equal(found.status, ideal.status)
    np.testing.assert_allclose(found.conductance, ideal.conductance, rtol=1e-12)


@pytest.mark.parametrize("scheme", ["V/2", "V/3"])
@pytest.mark.parametrize("volt", [1.2, -1.7])
def test_one_cell_has_the_lines_of_a_write(x64, scheme, volt):
    expected = Bias.write((3, 4), 2, 1, volt, scheme)
    pulses = np.array([9.0, volt, -9.0, 9.0])
    word, bit = line_voltages(scheme, 3, 2, pulses, np.arange(4) == 1)
    np.testing.assert_allclose(word, expected.word, rtol=1e-15)
    np.testing.assert_allclose(bit, expected.bit, rtol=1e-15)


@pytest.mark.parametrize(("scheme", "share"), [("V/2", 1 / 2), ("V/3", 1 / 3)])
def test_others_of_a_row_see_no_more_than_their_share(x64, scheme, share):
    pulses = np.array([1.2, 1.5, 1.8, 0.0])
    selected = np.array([True, True, True, False])
    word, bit = line_voltages(scheme, 3, 1, pulses, selected)
    v = np.asarray(word)[:, None] - np.asarray(bit)
    np.testing.assert_allclose(v[1, :3], pulses[:3])
    v[1, :3] = 0
    assert np.abs(v).max() <= share * 1.8 + 1e-12
    if scheme == "V/2":
        assert np.all(v[[0, 2], 3] == 0)
