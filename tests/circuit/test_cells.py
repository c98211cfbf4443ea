"""Every cell law against its formula in float64, its limits, and its derivatives."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from jaxbar.circuit.cells import Ohmic, Polynomial, PooleFrenkel, Selector, Sinh, Tabulated

POINTS = np.array([-0.5, -0.3, -0.1, 0.0, 0.1, 0.3, 0.5])
LAWS = {
    "ohmic": Ohmic(),
    "sinh": Sinh(3.0),
    "polynomial": Polynomial(a2=-0.4, a3=0.9),
    "milo": Polynomial.milo(),
    "poole_frenkel": PooleFrenkel((-0.9, -2.0), (-0.8, -31.0), (1e-6, 8e-4)),
    "selector": Selector(i_s=1e-9, v_0=0.05),
    "tabulated": Tabulated(POINTS, np.sinh(4 * POINTS) / 4),
}
ODD = sorted(LAWS.keys() - {"polynomial", "milo"})
# Inside and outside Milo's range, and the largest an order above it.
G = np.array([1e-7, 2e-6, 60e-6, 1e-4, 2e-4, 1e-3])
every_law = pytest.mark.parametrize("name", LAWS)


# One program for each law and shape is compiled faster than its operations one by one.
current = jax.jit(lambda law, g, u: law.current(g, u))


@jax.jit
def slope(law, g, u):
    """dI/dU."""
    return jax.jvp(lambda u: law.current(g, u), (u,), (jnp.ones_like(u),))[1]


def difference(f, step):
    """df/dt at 0, to fourth order in the step."""
    one, two = ((f(t) - f(-t)) / (2 * t) for t in (step, 2 * step))
    return (4 * one - two) / 3


# What holds for all laws


@every_law
def test_an_open_cell_and_no_voltage_carry_exactly_nothing(name):
    law = LAWS[name]
    u = np.linspace(-5, 5, 41, dtype=np.float32)
    assert np.all(np.asarray(current(law, np.float32(0.0), u)) == 0)
    assert np.all(np.asarray(current(law, G.astype(np.float32), np.float32(0.0))) == 0)


@every_law
def test_the_current_rises_with_the_voltage(name, x64):
    law = LAWS[name]
    u = jnp.linspace(-5, 5, 4001)
    for g in G:
        assert np.all(np.diff(current(law, g, u)) > 0)
        assert np.all(slope(law, g, u) > 0)


@every_law
def test_five_volt_in_float32_overflow_nothing(name):
    law = LAWS[name]
    g, u = np.float32(G)[:, None], jnp.linspace(-5, 5, 101, dtype=jnp.float32)
    u = jnp.concatenate([u, jnp.float32([1e-30, -1e-20, 1e-42])])
    shape = jnp.broadcast_shapes(g.shape, u.shape)
    full = jnp.broadcast_to(u, shape)
    assert np.all(np.isfinite(current(law, g, u)))
    assert np.all(np.isfinite(slope(law, g, full)) & (slope(law, g, full) > 0))


@pytest.mark.parametrize("name", ODD)
def test_odd_laws_are_odd(name, x64):
    law, u = LAWS[name], np.linspace(0, 3, 301)[:, None]
    np.testing.assert_allclose(current(law, G, -u), -current(law, G, u), rtol=1e-13, atol=0)


@every_law
def test_dtype_and_shape_are_those_of_the_arguments(name, x64):
    law = LAWS[name]
    for dtype in (np.float32, np.float64):
        i = current(law, np.ones((4, 1), dtype) * dtype(1e-4), np.ones((2, 1, 3), dtype))
        assert i.dtype == dtype and i.shape == (2, 4, 3)
    held = jax.tree.map(np.float64, law)  # parameters of 64 bit change nothing
    assert current(held, np.float32(1e-4), np.float32(0.1)).dtype == np.float32


@every_law
def test_float32_agrees_with_float64(name, x64):
    law, u = LAWS[name], np.linspace(-1, 1, 201)[:, None]
    u, g = u.astype(np.float32), G.astype(np.float32)
    exact = np.asarray(current(law, g.astype(np.float64), u.astype(np.float64)))
    np.testing.assert_allclose(current(law, g, u), exact, rtol=2e-5, atol=0)


@every_law
def test_derivatives_in_voltage_and_conductance(name, x64):
    law = LAWS[name]
    u = jnp.asarray([-1.3, -0.27, -1e-3, 1e-6, 0.013, 0.21, 0.45, 0.9])
    g = jnp.asarray(G)[:, None]
    g, u = jnp.broadcast_arrays(g, u)
    d_g, d_u = jax.grad(lambda g, u: jnp.sum(current(law, g, u)), (0, 1))(g, u)
    step = np.minimum(1e-4, np.abs(u) / 32)
    np.testing.assert_allclose(d_u, difference(lambda t: current(law, g, u + t), step), rtol=1e-6)
    expected = difference(lambda t: current(law, g + t, u), 1e-3 * g)
    np.testing.assert_allclose(d_g, expected, rtol=1e-6, atol=1e-9)


@every_law
def test_derivatives_in_every_parameter(name, x64):
    law = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), LAWS[name])
    leaves, tree = jax.tree.flatten(law)
    u = np.array([-0.8, 0.22, 0.7])
    of = jax.jit(lambda *leaves: tree.unflatten(leaves).current(8e-5, u))
    derivatives = jax.jacfwd(of, tuple(range(len(leaves))))(*leaves) if leaves else ()
    for k, (leaf, derivative) in enumerate(zip(leaves, derivatives, strict=True)):
        for i in np.ndindex(leaf.shape):

            def at(t, k=k, i=i):
                return of(*leaves[:k], leaves[k].at[i].add(t), *leaves[k + 1 :])

            # Milo's coefficients are as small as 1e-7, a table has a 0, a selector 1e-9.
            size = abs(float(leaf[i]))
            expected = difference(at, 1e-3 * (size if name == "selector" else max(size, 1e-4)))
            np.testing.assert_allclose(derivative[:, *i], expected, rtol=2e-6, atol=1e-11)


@every_law
def test_first_and_second_derivatives_are_finite_where_it_is_singular(name, x64):
    first = jax.grad(lambda law, g, u: law.current(g, u), (0, 1, 2))
    both = jax.jit(lambda *args: (first(*args), jax.jacfwd(first, (1, 2))(*args)))
    for g, u in [(0.0, 0.0), (0.0, 0.3), (0.0, -4.0), (1e-4, 0.0), (1e-4, 1e-12), (50e-6, 0.5)]:
        assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(both(LAWS[name], g, u))), (g, u)


@every_law
def test_an_open_cell_starts_to_conduct_as_a_tiny_one_does(name, x64):
    law, tiny = LAWS[name], 1e-14
    for u in (-0.4, 0.05, 0.4):
        d_g = jax.grad(law.current)(0.0, u)
        np.testing.assert_allclose(d_g, law.current(tiny, u) / tiny, rtol=1e-5)


@every_law
def test_jit_vmap_and_a_stack_of_laws(name, x64):
    law, u = LAWS[name], np.linspace(-0.6, 0.6, 7)
    laws = [jax.tree.map(lambda x, s=s: np.asarray(x) * s, law) for s in (1.0, 1.001, 1.002)]
    if name == "ohmic":
        return
    stack = jax.tree.map(lambda *x: jnp.stack(x), *laws)
    got = jax.jit(jax.vmap(lambda law: law.current(1e-4, u)))(stack)
    expected = [one.current(1e-4, u) for one in laws]
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert not np.allclose(got[0], got[2], rtol=1e-9, atol=0)


# Each against its formula


def test_ohmic():
    np.testing.assert_allclose(
        Ohmic().current(np.array([1e-3, 2e-3]), np.array([0.5, -0.25])), [5e-4, -5e-4]
    )


@pytest.mark.parametrize("k", [1e-3, 0.3, 3.0, 12.0])
def test_sinh_is_its_formula(k, x64):
    u = np.linspace(-5, 5, 1000)
    np.testing.assert_allclose(
        current(Sinh(k), 1e-4, u), 1e-4 * np.sinh(k * u) / k, rtol=1e-13, atol=0
    )
    np.testing.assert_allclose(slope(Sinh(k), 1e-4, u), 1e-4 * np.cosh(k * u), rtol=1e-13)


def test_sinh_of_0_is_ohmic_and_leaves_it_quadratically(x64):
    u = np.linspace(-2, 2, 11)
    np.testing.assert_array_equal(Sinh(0).current(1e-4, u), 1e-4 * u)
    of = lambda k: Sinh(k).current(1.0, 0.5)
    assert jax.grad(of)(0.0) == 0
    # g sinh(kU)/k = g(U + k²U³/6 + …)
    np.testing.assert_allclose(jax.jit(jax.grad(jax.grad(of)))(0.0), 0.5**3 / 3, rtol=1e-12)


def test_sinh_is_finite_where_the_sine_alone_overflows():
    u = np.float32(5.0)
    i = Sinh(18.4).current(np.float32(1e-7), u)  # sinh(92) is above the largest float32
    np.testing.assert_allclose(i, 1e-7 * np.sinh(92.0) / 18.4, rtol=1e-4)


def test_polynomial_of_numbers(x64):
    law = Polynomial(a2=-0.4, a3=0.9, limit=0.5)
    u = np.array([-0.5, -0.2, 0.3, 0.5])
    np.testing.assert_allclose(
        law.current(2e-4, u), 2e-4 * (u - 0.4 * u**2 + 0.9 * u**3), rtol=1e-14
    )
    # Not odd: by hand at ±0.2 V, 0.2 ∓ 0.016 + 0.0072.
    np.testing.assert_allclose(
        law.current(1.0, np.array([0.2, -0.2])), [0.1912, -0.2232], rtol=1e-14
    )


def test_polynomial_beyond_its_limit_is_the_tangent(x64):
    law = Polynomial(a2=-0.4, a3=0.9, limit=0.5)
    for end in (0.5, -0.5):
        value = end - 0.4 * end**2 + 0.9 * end**3
        rise = 1 - 0.8 * end + 2.7 * end**2
        u = end * np.array([1.0, 1.5, 10.0])
        np.testing.assert_allclose(law.current(1.0, u), value + rise * (u - end), rtol=1e-14)
        np.testing.assert_allclose(slope(law, 1.0, jnp.asarray(u)), rise, rtol=1e-14)


def milo(g, u):
    """The published coefficients, log10 of g in siemens."""
    x = np.log10(g)
    square = np.polyval([1.388e-4, 1.541e-3, 5.711e-3, 7.063e-3], x)
    cube = np.polyval([8.871e-5, 6.7919e-4, 1.2968e-3], x)
    return g * u + square * u**2 + cube * u**3


def test_milo_is_the_published_fit(x64):
    g, u = np.array([50e-6, 62.5e-6, 110e-6, 225e-6])[:, None], np.linspace(-0.5, 0.5, 21)
    law = Polynomial.milo()
    np.testing.assert_allclose(law.current(g, u), milo(g, u), rtol=1e-10, atol=1e-18)
    # The more conductive, the more linear; 62.5 µS bends by a fifth at half a volt.
    bend = np.asarray(law.current(g, 0.5) / (g * 0.5) - 1)[:, 0]
    assert np.all(np.diff(bend) > 0) and -0.2 < bend[1] < -0.1 and abs(bend[-1]) < 0.01


def test_milo_in_single_precision():
    g, u = np.float32([[50e-6], [76.2e-6], [225e-6]]), np.linspace(-0.5, 0.5, 21, dtype=np.float32)
    expected = milo(g.astype(np.float64), u.astype(np.float64))
    np.testing.assert_allclose(Polynomial.milo().current(g, u), expected, rtol=1e-6, atol=1e-16)


def test_milo_beyond_its_conductances_keeps_the_shape(x64):
    u = np.linspace(-0.5, 0.5, 11)
    for g, end in ((1e-6, 50e-6), (1e-2, 225e-6)):
        np.testing.assert_allclose(
            Polynomial.milo().current(g, u), g / end * milo(end, u), rtol=1e-9, atol=1e-18
        )


def test_poole_frenkel_is_its_formula(x64):
    q, k = 1.602176634e-19, 1.380649e-23
    law = PooleFrenkel((-0.9, -2.0), (-0.8, -31.0), (1e-6, 1e-3), temperature=293.15)
    g, u = np.array([[2e-6], [1e-4], [1e-3]]), np.linspace(-1, 1, 41)
    c = np.exp(-0.9 * np.log(1 / g) - 2.0)
    d_eps = np.exp(-0.8 * np.log(1 / g) - 31.0)
    exponent = q / (k * 293.15) * np.sqrt(q * np.abs(u) / (np.pi * d_eps))
    assert 1 < exponent.max() < 20
    np.testing.assert_allclose(law.current(g, u), c * u * np.exp(exponent), rtol=1e-12)


def test_poole_frenkel_of_no_field_effect_is_ohmic(x64):
    law = PooleFrenkel(ln_c=(-1.0, 0.0), ln_d_eps=(0.0, 200.0), g_range=(1e-6, 1e-3))
    u = np.linspace(-1, 1, 11)
    np.testing.assert_allclose(law.current(G, u[:, None]), G * u[:, None], rtol=1e-12)


def test_poole_frenkel_starts_with_the_slope_c(x64):
    law, g = LAWS["poole_frenkel"], 1e-4
    c = np.exp(-0.9 * np.log(1 / g) - 2.0)
    np.testing.assert_allclose(jax.grad(law.current, 1)(g, 0.0), c, rtol=1e-12)
    np.testing.assert_allclose(jax.grad(law.current, 1)(g, 1e-18), c, rtol=1e-7)
    # Its second derivative there is the mean of two that diverge, with opposite signs.
    second = jax.grad(jax.grad(law.current, 1), 1)
    assert second(g, 0.0) == 0 and second(g, 1e-12) > 1e4 * c and second(g, -1e-12) < -1e4 * c


@pytest.mark.parametrize("v_0", [5e-3, 0.05, 0.5])
@pytest.mark.parametrize("i_s", [1e-12, 1e-6])
def test_selector_balances_the_two_voltages(v_0, i_s, x64):
    for g in (1e-9, 1e-5, 1e-2):
        for u in (1e-6, 0.03, 0.4, 5.0, 50.0):
            balance = lambda i: i / g + v_0 * np.arcsinh(i / i_s) - u  # noqa: B023
            exact = brentq(balance, 0.0, g * u, xtol=1e-300, rtol=1e-14)
            np.testing.assert_allclose(current(Selector(i_s, v_0), g, u), exact, rtol=1e-11)


def test_selector_in_its_limits(x64):
    u = np.linspace(-1, 1, 21)
    # A selector that conducts far more than the memristor, and far less.
    np.testing.assert_allclose(Selector(1e9, 0.05).current(1e-4, u), 1e-4 * u, rtol=1e-12)
    np.testing.assert_allclose(
        Selector(1e-12, 0.1).current(1e9, u), 1e-12 * np.sinh(u / 0.1), rtol=1e-11, atol=1e-30
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selector_survives_extremes(dtype, x64):
    u = np.concatenate([[0], np.geomspace(1e-15, 1e3, 60)]).astype(dtype)
    g = np.concatenate([[0], np.geomspace(1e-15, 1e3, 40)]).astype(dtype)[:, None]
    for law in (Selector(1e-15, 0.01), Selector(1e-3, 10.0)):
        i = np.asarray(current(law, g, u), np.float64)
        assert np.all(np.isfinite(i))
        with np.errstate(divide="ignore", invalid="ignore"):
            drop = np.where(g > 0, i / g, u) + law.v_0 * np.arcsinh(i / law.i_s)
        some = (g > 0) & np.ones_like(u, bool)
        rtol = 20 * np.finfo(dtype).eps
        np.testing.assert_allclose(drop[some], np.broadcast_to(u, i.shape)[some], rtol=rtol)
        shape = jnp.broadcast_to(jnp.asarray(u), i.shape)
        assert np.all(np.isfinite(slope(law, jnp.asarray(g), shape)))


def test_selector_far_above_its_scale_in_single_precision():
    # I/i_s is about 2e22, and its square overflows.
    g, u, law = np.float32(1e-3), np.float32(5.0), Selector(i_s=1e-25, v_0=0.05)
    i = brentq(lambda i: i / 1e-3 + 0.05 * np.arcsinh(i / 1e-25) - 5.0, 0.0, 5e-3, rtol=1e-14)
    np.testing.assert_allclose(current(law, g, u), i, rtol=1e-6)
    np.testing.assert_allclose(slope(law, g, u), 1 / (1 / 1e-3 + 0.05 / i), rtol=1e-6)


def test_tabulated_goes_through_its_points_and_on_straight(x64):
    law = LAWS["tabulated"]
    np.testing.assert_allclose(
        law.current(2e-4, POINTS), 2e-4 * np.sinh(4 * POINTS) / 4, rtol=1e-14, atol=0
    )
    end = slope(law, 1.0, jnp.asarray([0.5, 0.6, 5.0]))
    np.testing.assert_allclose(end, end[0], rtol=1e-12)
    at, beyond = np.asarray(law.current(1.0, np.array([0.5, 2.5])))
    np.testing.assert_allclose(beyond, at + 2.0 * end[0], rtol=1e-13)


def fritsch_carlson(x, y):
    """The slopes of the paper for inner points, where its rule does not shorten them twice."""
    h, d = np.diff(x), np.diff(y) / np.diff(x)
    m = np.empty(len(x))
    m[1:-1] = [(h[i] * d[i - 1] + h[i - 1] * d[i]) / (h[i - 1] + h[i]) for i in range(1, len(h))]
    m[0] = ((2 * h[0] + h[1]) * d[0] - h[0] * d[1]) / (h[0] + h[1])
    m[-1] = ((2 * h[-1] + h[-2]) * d[-1] - h[-1] * d[-2]) / (h[-1] + h[-2])
    return m, d


def test_tabulated_is_the_cubic_of_three_point_slopes(x64):
    x = np.array([-0.4, -0.1, 0.0, 0.15, 0.3, 0.5])
    y = x + 0.5 * x**3
    m, d = fritsch_carlson(x, y)
    assert np.all((m[:-1] / d) ** 2 + (m[1:] / d) ** 2 < 9) and np.all(m > 0)
    u = np.linspace(-0.4, 0.5, 500)
    got = Tabulated(x, y).current(1.0, u)
    np.testing.assert_allclose(got, CubicHermiteSpline(x, y, m)(u), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(got, u + 0.5 * u**3, atol=4e-3)


@pytest.mark.parametrize("step", [1.0, 10.0])
def test_tabulated_shortens_steep_slopes(step, x64):
    x, y = np.array([-0.1, 0.0, 0.1, 0.2]), np.array([-0.1, 0.0, 0.1, 0.1 + step])
    m, d = fritsch_carlson(x, y)
    dip = CubicHermiteSpline(x, y, m)(np.linspace(0, 0.1, 99), 1).min()
    assert dip < 0  # the three-point slope at 0.1, (1 + 10·step)/2, is too steep
    law = Tabulated(x, y)
    assert np.all(slope(law, 1.0, jnp.linspace(-0.3, 0.4, 2001)) > 0)
    # Onto the circle of radius 3, in units of the flat secant.
    short = 3 / np.hypot(m[1] / d[1], m[2] / d[1])
    np.testing.assert_allclose(slope(law, 1.0, jnp.asarray(0.1)), short * m[2], rtol=1e-12)


def test_tabulated_flattening_curve_still_rises_beyond(x64):
    law = Tabulated([0.0, 0.1, 0.2], [0.0, 0.1, 0.13])
    np.testing.assert_allclose(slope(law, 1.0, jnp.asarray(3.0)), 0.25 * 0.3, rtol=1e-12)


def test_two_points_are_a_line(x64):
    np.testing.assert_allclose(
        Tabulated([0.0, 0.5], [0.0, 1.0]).current(1e-3, np.array([-1.0, 0.25, 2.0])),
        [-2e-3, 5e-4, 4e-3],
    )


# Bad parameters


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Sinh(-1), r"Sinh.k = -1: must be finite and ≥ 0, in 1/V"),
        (lambda: Sinh(np.nan), r"Sinh.k = nan: must be finite"),
        (lambda: Sinh("3"), r"Sinh.k = '3': must be a number"),
        (lambda: Polynomial(np.inf, 0.0), r"Polynomial.a2 = inf: must be finite, in 1/V"),
        (lambda: Polynomial(0.0, None), r"Polynomial.a3 = None: must be a number"),
        (lambda: Polynomial((), 0.0), r"Polynomial.a2 = \(\): must hold at least one"),
        (lambda: Polynomial([1.0, np.nan], 0.0), r"Polynomial.a2\[1\] = nan: must be finite"),
        (lambda: Polynomial(0.0, 0.0, limit=0.0), r"limit = 0.0: must be finite and > 0, in V"),
        (lambda: Polynomial(0.0, [1e-6]), r"Polynomial.g_range = None: must be \(lowest, highest"),
        (lambda: Polynomial(0.0, 0.0, g_range=(0.0, 1.0)), r"g_range = \(0.0, 1.0\): must be"),
        (lambda: Polynomial(0, 0, reference=0), r"Polynomial.reference = 0: must be finite and >"),
        (lambda: Polynomial(-1.1, 0.0), r"limit = 0.5 V: the current would fall .* U = 0.5 V;"),
        (lambda: Polynomial(-3.0, 2.9), r"the current would fall .* U = 0.345 V; lower"),
        (
            lambda: dataclasses.replace(Polynomial.milo(), g_range=(10e-6, 225e-6)),
            r"the current would fall with the voltage at U = 0.5 V and g = 1e-05 S; lower",
        ),
        (
            lambda: PooleFrenkel(1.0, (1.0, 2.0), (1e-6, 1e-3)),
            r"PooleFrenkel.ln_c = 1.0: must be \(slope, intercept\)",
        ),
        (
            lambda: PooleFrenkel((1.0, 2.0), (1.0, np.inf), (1e-6, 1e-3)),
            r"PooleFrenkel.ln_d_eps = inf: must be finite",
        ),
        (
            lambda: PooleFrenkel((1.0, 2.0), (1.0, 2.0), (1e-3, 1e-6)),
            r"PooleFrenkel.g_range = \(0.001, 1e-06\): must be \(lowest, highest\)",
        ),
        (
            lambda: PooleFrenkel((1.0, 2.0), (1.0, 2.0), (1e-6, 1e-3), temperature=0),
            r"PooleFrenkel.temperature = 0: must be finite and > 0, in K",
        ),
        (lambda: Selector(0.0, 0.1), r"Selector.i_s = 0.0: must be finite and > 0, in A"),
        (lambda: Selector(1e-9, -0.1), r"Selector.v_0 = -0.1: must be finite and > 0, in V"),
        (lambda: Tabulated([0.0], [0.0]), r"Tabulated.voltage has shape \(1,\): must be \(n,\)"),
        (lambda: Tabulated([0.0, 1.0], [0.0]), r"Tabulated.shape has shape \(1,\)"),
        (lambda: Tabulated([0.0, 1.0, 2.0], [0.0, 1.0]), r"has 3 points and Tabulated.shape 2"),
        (
            lambda: Tabulated([0.0, np.nan], [0.0, 1.0]),
            r"Tabulated.voltage\[1\] = nan: must be finite",
        ),
        (lambda: Tabulated([0.0, 0.2, 0.1], [0, 1, 2]), r"voltage\[1\] = 0.2 V is followed by 0.1"),
        (lambda: Tabulated([0.0, 0.1, 0.2], [0, 2, 1]), r"Tabulated.shape\[1\] = 2 V is followed"),
        (lambda: Tabulated([0.0, 0.1, 0.2], [0, 1, 1]), r"shape\[1\] = 1 V is followed by 1 V: mu"),
        (lambda: Tabulated([0.1, 0.2], [0.1, 0.2]), r"Tabulated.voltage lacks 0: must hold"),
        (lambda: Tabulated([0.0, 0.2], [0.1, 0.2]), r"Tabulated.shape = 0.1 V at 0 V: must be 0"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_traced_parameters_are_not_checked(x64):
    made = jax.jit(lambda k, a: (Sinh(k).current(1.0, 0.5), Polynomial(a, 0.0).current(1.0, 0.1)))
    np.testing.assert_allclose(made(-2.0, -9.0), [np.sinh(1.0) / 2, 0.1 - 0.09], rtol=1e-12)
    of_vectors = jax.jit(lambda p: PooleFrenkel(p, p, (1e-6, 1e-3)).ln_c)
    np.testing.assert_array_equal(of_vectors(jnp.asarray([1.0, 2.0])), (1.0, 2.0))


def test_numpy_coefficients_compare_and_hash():
    law = Polynomial(np.array([1e-6, 2e-6]), 0.0, g_range=[1e-5, 1e-4])
    assert law == Polynomial((1e-6, 2e-6), 0.0, g_range=(1e-5, 1e-4)) and hash(law)
