"""Other programs get the same currents and derivatives, on tiles of their own netlist."""

import functools
import importlib.util
import logging

import jax
import numpy as np
import pytest

import jaxbar as jb
from jaxbar.bench import peers

PEERS = {"superlu": peers.superlu, "klujax": peers.klujax, "badcrossbar": peers.badcrossbar}
GRADIENTS = {"superlu": peers.superlu_gradient, "klujax": peers.klujax_gradient}
R = 3.0  # ohm


def needs(name):
    if name != "superlu" and not importlib.util.find_spec(name):
        pytest.skip(f"{name} is not installed")  # not imported here: that has side effects


@pytest.fixture
def tiles(rng):
    """Two tiles and their drives."""
    return 1 / rng.uniform(1e3, 1e4, (2, 5, 5)), rng.uniform(-0.3, 0.3, (2, 4, 5))


def test_the_nodal_matrix_is_the_documented_one(rng, x64):
    g = 1 / rng.uniform(1e3, 1e4, (4, 4))
    ours = np.zeros((32, 32))
    rows, columns = peers.pattern(4)
    np.add.at(ours, (rows, columns), peers.entries(g, R))
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    np.testing.assert_allclose(ours, jb.nodal_matrix(g, jb.Wires(R, R, R, R)), rtol=1e-12)


@pytest.mark.parametrize("name", PEERS)
def test_currents_are_jaxbars(name, tiles, x64):
    needs(name)
    prepared = PEERS[name](*tiles, R)
    if prepared is None:
        pytest.skip(f"{name} cannot be imported whole")
    wires = jb.Wires(R, R, R, R)
    exact = [jb.solve(g, v, wires).currents for g, v in zip(*tiles, strict=True)]
    np.testing.assert_allclose(prepared(), exact, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", GRADIENTS)
def test_derivatives_are_central_differences(name, tiles, x64):
    needs(name)
    g, v = tiles[0][0], tiles[1][0]
    found = GRADIENTS[name](g, v, R)()
    assert found.shape == g.shape

    def loss(g):
        return np.sum(peers.superlu(g[None], v[None], R)() ** 2)

    for where in [(0, 0), (2, 3), (4, 1)]:
        step = np.zeros_like(g)
        step[where] = 1e-4 * g[where]
        slope = (loss(g + step) - loss(g - step)) / (2 * step[where])
        np.testing.assert_allclose(found[where], slope, rtol=1e-6)


def test_inputs_beyond_those_solved_at_a_time(rng):
    g = 1 / rng.uniform(1e3, 1e4, (3, 3))
    v = rng.uniform(-0.3, 0.3, (2 * peers._AT_ONCE + 1, 3))
    each = [peers.superlu(g[None], x[None, None], R)()[0, 0] for x in v]
    np.testing.assert_allclose(peers.superlu(g[None], v[None], R)()[0], each, rtol=1e-12)
    derivative = sum(peers.superlu_gradient(g, x[None], R)() for x in v)
    np.testing.assert_allclose(peers.superlu_gradient(g, v, R)(), derivative, rtol=1e-10)


def test_klujax_leaves_the_precision_of_the_process_alone(tiles):
    needs("klujax")
    peers.klujax(*tiles, R)()
    assert not jax.config.jax_enable_x64
    assert jax.config.read("jax_platform_name") != "cpu"


def test_klujax_gradient_that_would_fill_the_memory_is_left_out(tiles, monkeypatch):
    monkeypatch.setattr(peers, "_KLUJAX_VALUES", 10)
    assert peers.klujax_gradient(tiles[0][0], tiles[1][0], R) is None


def test_badcrossbar_is_left_out_where_it_is_missing_or_broken(tiles, monkeypatch, tmp_path, capfd):
    if importlib.util.find_spec("badcrossbar"):
        pytest.skip("it is there")
    load = peers._badcrossbar
    monkeypatch.setattr(peers, "_badcrossbar", load.__wrapped__)
    assert peers.badcrossbar(*tiles, R) is None
    # What it does on import where a package that it needs is missing.
    (tmp_path / "badcrossbar.py").write_text(
        "import logging, sys, warnings\n"
        "warnings.simplefilter('always', ImportWarning)\n"
        "warnings.warn('no compute', ImportWarning)\n"
        "logging.basicConfig(stream=sys.stdout, level=logging.INFO, force=True)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = logging.getLogger().level, list(logging.getLogger().handlers)
    assert peers.badcrossbar(*tiles, R) is None
    assert (logging.getLogger().level, logging.getLogger().handlers) == before


def test_peers_are_those_installed(tiles, monkeypatch):
    there = {"klujax": True, "badcrossbar": False}
    monkeypatch.setattr(importlib.util, "find_spec", there.get)
    assert list(peers.forward(*tiles, R)) == ["superlu", "klujax"]
    assert list(peers.gradient(tiles[0][0], tiles[1][0], R)) == ["superlu", "klujax"]
    there["klujax"] = False
    assert list(peers.gradient(tiles[0][0], tiles[1][0], R)) == ["superlu"]
    assert isinstance(peers.forward(*tiles, R)["superlu"], functools.partial)
