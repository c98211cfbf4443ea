"""Tiles with source lines against a nodal analysis and differences; the power of any tile."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import Sinh, SourceLines, Transistor, solve_source_lines

from .test_transistor import add_between, node_voltages, quick
from .test_wires import Nodal, assert_solves, differences, make_wires, resistors, weighted
from .tiles import random_tile

DRIVERS = ["top", "bottom"]
OHM = {"source": 3.0, "line": 1.6, "bit": 2.0, "sense": 4.0}
every_driver = pytest.mark.parametrize("driver", DRIVERS)
quick_solve = quick(solve_source_lines)


def solve(g, gate, wires, v_source, k=0.0):
    """One program for each shape and law: all parameters are arrays."""
    cell = Sinh(jnp.asarray(k, float)) if k else None
    args = jax.tree.map(lambda x: jnp.asarray(x, float), (g, gate, wires, v_source))
    return quick_solve(*args, cell=cell)


def wires_between(shape, wires):
    """Resistors (node, node, ohm): drivers (N,), sense nodes (N,), source and bit lines (M, N)."""
    m, n = shape
    source, bit = 2 * n + np.arange(2 * m * n).reshape(2, m, n)
    parts = [
        (np.arange(n), source[0 if wires.driver == "top" else -1], wires.source),
        (n + np.arange(n), bit[-1], wires.sense),
        (source[:-1], source[1:], wires.line),
        (bit[:-1], bit[1:], wires.bit),
    ]
    flat = [[np.ravel(x) for x in np.broadcast_arrays(*part)] for part in parts]
    a, b, ohm = (np.concatenate(x) for x in zip(*flat, strict=True))
    return a, b, ohm.astype(np.longdouble)


def law(on, u, k):
    """The current of a cell and its slope."""
    if not k:
        return on * u, on + 0 * u
    return on * np.sinh(k * u) / k, on * np.cosh(k * u)


def reference(g, gate, wires, v_source, k=0.0):
    """One input of a tile, on all its nodes."""
    g, gate = np.asarray(g, np.longdouble), np.asarray(gate, np.longdouble)
    m, n = g.shape
    on = (gate[:, None] * g).ravel()
    source, bit = 2 * n + np.arange(2 * m * n).reshape(2, m * n)

    def elements(volt):
        into = np.zeros(volt.size, np.longdouble)
        slope = np.zeros((volt.size, volt.size), np.longdouble)
        current, by = law(on, volt[source] - volt[bit], k)
        add_between(into, slope, source, bit, current, [(source, by), (bit, -by)])
        return into, slope

    driven = np.concatenate([np.broadcast_to(v_source, n), np.zeros(n)])
    wires = wires_between(g.shape, wires)
    volt = node_voltages(2 * n + 2 * m * n, wires, driven, elements)
    u = volt[source] - volt[bit]
    current = law(on, u, k)[0].reshape(m, n)
    return Nodal(current.sum(0), current, *volt[2 * n :].reshape(2, m, n))


def check(g, gate, wires, v_source, k=0.0, rtol=1e-11):
    """A batch against the nodal analysis of each input."""
    s = solve(g, gate, wires, v_source, k)
    assert s.converged.all() and s.currents.shape == (len(gate), g.shape[1])
    for i, one in enumerate(gate):
        at = jax.tree.map(lambda x, i=i: x[i], s)
        expected = reference(g, one, wires, v_source, k)
        least = 1e-12 * g.max() * np.abs(v_source).max()
        assert_solves(at, expected, rtol, least)
        error = np.abs(np.asarray(at.currents) - expected.currents)
        assert (error <= np.asarray(at.error_bound)).all()
    return s


def random_gates(rng, inputs, m):
    """Shares between off and fully on, and switches."""
    gate = rng.uniform(0, 1, (inputs, m))
    gate[0] = rng.random(m) < 0.7
    return gate


SHAPES = {(5, 7): 3, (1, 4): 1, (4, 1): 3, (1, 1): 1}


@every_driver
@pytest.mark.parametrize(("shape", "inputs"), SHAPES.items(), ids=str)
def test_against_nodal_analysis(x64, rng, shape, inputs, driver):
    for severity in ("mild", "harsh", "extreme"):
        g, *_ = random_tile(rng, shape, severity)
        v_source = rng.uniform(-0.4, 0.4, shape[1])
        check(g, random_gates(rng, inputs, shape[0]), SourceLines(**OHM, driver=driver), v_source)
