"""Derivatives of pulse responses against central differences, and at every edge."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.devices import VTEAM, Biolek, DataDriven2018, LinearIonDrift, Prodromakis, StanfordPKU

from .models import CASES, every_model


def response(device, state, voltages, dt):
    """Conductances after pulses, and the current of a read at 0.3 V, in one number."""
    end, found = device.simulate(state, voltages, dt)
    return jnp.sum(found.conductances) + device.current(end, 0.3)


def magnitude(path, value):
    """What a relative step of an argument is relative to: not 0."""
    name = jax.tree_util.keystr(path)
    return abs(value) or {".w_on": 1e-9, ".r_p[1]": 1e4}[name[3:]]


@every_model
def test_pulse_response_against_central_differences(name, x64):
    """To the state, each voltage, dt and every parameter."""
    given, structure = jax.tree_util.tree_flatten_with_path(CASES[name])
    paths, leaves = zip(*given, strict=True)
    scale = np.array([magnitude(*entry) for entry in given])
    leaves = np.array(leaves)
    f = jax.jit(lambda flat: response(*jax.tree.unflatten(structure, list(flat))))
    slope = np.asarray(jax.jit(jax.grad(f))(leaves) * scale / f(leaves))
    assert np.all(np.isfinite(slope))
    difference = lambda step: (f(leaves + step) - f(leaves - step)) / 2
    for k, path in enumerate(paths):
        one = np.zeros(len(leaves))
        one[k] = 1e-5 * scale[k]
        expected = (8 * difference(one) - difference(2 * one)) / (6e-5 * f(leaves))
        where = jax.tree_util.keystr(path)
        np.testing.assert_allclose(slope[k], expected, rtol=1e-6, atol=1e-9, err_msg=where)
    # The state and every pulse do something.
    moved = [path[0].idx in (1, 2) for path in paths]
    assert np.all(np.abs(slope[moved]) > 1e-6)


EDGES = {
    **{name: case[0] for name, case in CASES.items()},
    "no_window": LinearIonDrift(window=None, v_pos=0.0, v_neg=0.0),
    "joglekar_without_thresholds": LinearIonDrift(v_pos=0.0, v_neg=0.0),
    "vteam_root": VTEAM(alpha_on=0.5, alpha_off=0.5, window=Biolek(1.5)),
    "vteam_prodromakis": VTEAM(window=Prodromakis(0.5)),
    "pku_without_threshold": StanfordPKU(f_min=0.0),
    "far_limits": DataDriven2018(r_p=(1e9, 0.0), r_n=(-1e9, 0.0)),
}
VOLTAGES = (-6.0, -1.5, -0.55, -0.2, -1e-30, -0.0, 0.0, 1e-30, 0.02, 0.55, 1.5, 6.0)


@pytest.mark.parametrize("name", EDGES)
def test_derivatives_are_finite_at_every_edge(name):
    """At both bounds and the middle, 0 V, the thresholds, no time and much of it; in float32."""
    device, dtype = jax.tree.map(np.float32, EDGES[name]), np.float32
    low, high = device.state_bounds(dtype)
    state = jnp.stack([low, (low + high) / 2, high])[:, None, None]
    v, dt = jnp.asarray(VOLTAGES, dtype)[:, None], jnp.asarray([0, 1e-12, 1e-6, 1.0], dtype)
    # An array of every argument: a sum would hide infinities that cancel.
    shape = jnp.broadcast_shapes(state.shape, v.shape, dt.shape)
    full = jax.tree.map(lambda x: jnp.broadcast_to(x, shape), (device, state, v, dt))

    def total(device, state, v, dt):
        after = device.step(state, v, dt)
        g = device.conductance(after)
        return jnp.sum(g) + jnp.sum(device.state_for(g)) + jnp.sum(device.current(after, v))

    slopes = jax.jit(jax.grad(total, argnums=(0, 1, 2, 3)))(*full)
    for path, slope in jax.tree_util.tree_leaves_with_path(slopes):
        wrong = np.argwhere(~np.isfinite(slope))
        assert not wrong.size, (jax.tree_util.keystr(path), wrong[:5])


@every_model
def test_a_state_at_rest_has_the_derivative_1(name, x64):
    """Also at its bounds, so that no train of reads loses a gradient."""
    device = CASES[name][0]
    rest = jax.grad(lambda x: device.simulate(x, np.zeros(20), 1e-9, record=False)[0])
    for bound in device.state_bounds():
        assert rest(bound) == 1


def test_beyond_a_bound_the_bound_has_the_derivative(x64):
    """Once at w_off the resistance is r_off, whatever came before."""
    final = lambda device, x: 1 / device.conductance(device.step(x, 0.5, 1.0))
    to_device, to_state = jax.grad(final, argnums=(0, 1))(VTEAM(), 1e-9)
    assert to_state == 0
    assert to_device.r_off == pytest.approx(1.0)
    assert to_device.k_off == 0


@every_model
def test_forward_and_reverse_agree(name, x64):
    device, state, voltages, dt = CASES[name]
    f = lambda v: response(device, state, v, dt)
    v = np.asarray(voltages)
    forward, reverse = jax.jit(jax.jacfwd(f))(v), jax.jit(jax.grad(f))(v)
    np.testing.assert_allclose(forward, reverse, rtol=1e-11)
