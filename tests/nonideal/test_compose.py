"""Keys, order, padding, transforms."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar import nonideal as ni

from .items import G_RANGE, ITEMS, quick_jit, tiles

KEY = jax.random.key(7)
CHIP = tuple(
    ITEMS[name]
    for name in ("states", "programming", "device", "cycle", "gradual", "drift", "faults")
)
READS = ("read", "flicker")


def plain(item, g, used, key=KEY, g_range=G_RANGE):
    return item.apply(g, key, used=used, g_range=g_range)


apply = quick_jit(plain)


@quick_jit
def write(chip, g, used, key=KEY, cycle=0):
    return ni.compose(chip, g, key, used=used, g_range=G_RANGE, cycle=cycle)


@pytest.mark.parametrize("name", ITEMS)
def test_same_key_same_bits_and_another_key_others(rng, name):
    g, used = tiles(rng)
    item = ITEMS[name]
    first, second = apply(item, g, used), apply(item, g, used)
    np.testing.assert_array_equal(first, second)
    other = apply(item, g, used, jax.random.key(8))
    assert np.array_equal(first, other) != item.random
    assert not np.array_equal(first, g)


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("padding", [3e-6, 123.0])
def test_padding_stays_to_the_bit(rng, name, padding):
    g, used = tiles(rng)
    g = jnp.where(used, g, padding)
    out = np.asarray(apply(ITEMS[name], g, used))
    np.testing.assert_array_equal(out[~used], np.float32(padding))
    assert (out >= 0).all()
    # What the padding holds says nothing to the cells in use.
    zero = np.asarray(apply(ITEMS[name], jnp.where(used, g, 0.0), used))
    np.testing.assert_array_equal(out[used], zero[used])


@pytest.mark.parametrize(
    "name", [n for n in ITEMS if n not in ("resistances", "timed", "device normal", "sudden")]
)
def test_vmap_and_float64(rng, name, x64):
    g, used = tiles(rng, np.float64)
    item = ITEMS[name]
    keys = jax.random.split(KEY, 3)
    many = quick_jit(jax.vmap(lambda key: plain(item, g, used, key)))(keys)
    assert many.dtype == np.float64
    for one, key in zip(many, keys, strict=True):
        np.testing.assert_allclose(one, apply(item, g, used, key), rtol=1e-12)
    assert apply(item, g.astype(np.float32), used).dtype == np.float32


@pytest.mark.parametrize("name", ITEMS)
def test_gradient_is_that_of_finite_differences(rng, name, x64):
    """But for states, whose gradient is straight through."""
    item = ITEMS[name]
    g, used = tiles(rng, np.float64)
    weights = jnp.asarray(rng.standard_normal(g.shape))
    f = lambda g: jnp.sum(weights * plain(item, g, used))
    gradient = np.asarray(quick_jit(jax.grad(f))(g))
    assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(gradient[~used], np.asarray(weights)[~used])
    if item.kind == ni.Kind.FINITE_STATES:
        np.testing.assert_array_equal(gradient, weights)
        return
    f = lambda g: np.sum(weights * apply(item, g, used))
    for _ in range(3):
        # Ends of the range, where fits are held, have one-sided differences alone.
        direction = rng.standard_normal(g.shape) * used * 1e-11
        direction[0, 0, :2] = 0
        numeric = float(f(g + direction) - f(g - direction)) / 2
        assert numeric == pytest.approx(np.sum(gradient * direction), rel=1e-4, abs=1e-17)


LAWS = {"pcm drift": ni.pcm(1e4)[1], "hermes": ni.hermes(1e4)[1], "hermes read": ni.hermes()[2]}


@pytest.mark.parametrize("name", [*ITEMS, *LAWS])
def test_open_cells(name):
    """g = 0 is allowed, forward and backward."""
    item = {**ITEMS, **LAWS}[name]
    g_range = G_RANGE if name == "resistances" else (0.0, 2e-5)
    g = jnp.zeros((4, 5))
    total = lambda g: plain(item, g, True, g_range=g_range).sum()
    value, gradient = quick_jit(jax.value_and_grad(total))(g)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["programming", "device", "cycle", "drift", "relaxation", "read"])
def test_gradient_of_parameters(rng, name, x64):
    g, used = tiles(rng, np.float64)
    item = ITEMS[name]
    gradient = quick_jit(jax.grad(lambda item: jnp.sum(plain(item, g, used)) * 1e6))(item)
    leaves = jax.tree.leaves(gradient)
    assert all(np.isfinite(x) for x in leaves)
    assert any(x != 0 for x in leaves)


def test_the_order_is_fixed(rng):
    g, used = tiles(rng)
    expected = write(CHIP, g, used)
    assert [type(x).__name__ for x in ni.ordered(CHIP[::-1])] == [type(x).__name__ for x in CHIP]
    for chip in (CHIP[3:] + CHIP[2::-1],):
        np.testing.assert_array_equal(write(chip, g, used), expected)


def test_compose_is_what_is_documented(rng):
    """One after the other by hand, with the target after finite states."""
    g, used = tiles(rng)

    def by_hand(items, g):
        states = out = items[0].apply(g, used=used, g_range=G_RANGE)
        for item in items[1:]:
            key = jax.random.fold_in(KEY, int(item.kind))
            if item.kind in (ni.Kind.PROGRAMMING, ni.Kind.CYCLE):
                key = jax.random.fold_in(key, 5)
            out = item.apply(out, key, used=used, g_range=G_RANGE, target=states)
        return out

    expected = quick_jit(by_hand)(CHIP, g)
    np.testing.assert_allclose(write(CHIP, g, used, cycle=5), expected, rtol=1e-5)


def test_applying_twice_is_applying_once(rng):
    """From the pristine target always: what was made of it before does not matter."""
    g, used = tiles(rng)
    copy = np.array(g)
    once = write(CHIP, g, used)
    np.testing.assert_array_equal(write(CHIP, g, used), once)
    np.testing.assert_array_equal(g, copy)


@pytest.mark.parametrize("name", ["states", "resistances", "levels", "faults", "clusters", "map"])
def test_idempotent_ones(rng, name):
    g, used = tiles(rng)
    once = apply(ITEMS[name], g, used)
    np.testing.assert_array_equal(apply(ITEMS[name], once, used), once)


@pytest.mark.parametrize(
    "mask", [m for m in itertools.product([False, True], repeat=4) if sum(m) in (0, 2, 3, 4)]
)
def test_toggling_matrix(rng, mask):
    """Every factor drawn is the same in every company."""
    g, used = tiles(rng)
    items = (ITEMS["device"], ITEMS["cycle"], ITEMS["drift"], ITEMS["faults"])

    alone = [np.asarray(write((item,), g, used), np.float64) for item in items]
    expected = np.asarray(g, np.float64)
    with np.errstate(invalid="ignore"):
        for on, out in zip(mask[:3], alone[:3], strict=True):
            expected = expected * np.where(used, out / np.asarray(g, np.float64), 1) ** on
    stuck = (alone[3] != np.asarray(g, np.float64)) & mask[3]
    chip = tuple(item for item, on in zip(items, mask, strict=True) if on)
    out = np.asarray(write(chip, g, used))
    np.testing.assert_allclose(out[~stuck], expected[~stuck], rtol=1e-5)
    np.testing.assert_array_equal(out[stuck], alone[3][stuck])
    if not any(mask):
        np.testing.assert_array_equal(out, g)


@pytest.mark.parametrize("name", ["device", "drift", "faults", "programming", "cycle"])
def test_cycle_draws_anew_what_belongs_to_a_write(rng, name):
    g, used = tiles(rng)
    first, second = (write((ITEMS[name],), g, used, cycle=cycle) for cycle in (0, 1))
    same = np.array_equal(first, second)
    assert same == (name not in ("programming", "cycle"))


@pytest.mark.parametrize("name", READS)
def test_read_noise_is_of_the_reading(rng, name):
    g, used = tiles(rng)
    chip = (*CHIP, ITEMS[name])
    written = write(chip, g, used)
    np.testing.assert_array_equal(written, write(CHIP, g, used))

    @quick_jit
    def read(chip, g, key):
        return ni.read(chip, written, key, used=used, g_range=G_RANGE, target=g)

    one, two, again = (read(chip, g, jax.random.key(i)) for i in (0, 1, 0))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(one[~used], g[~used])
    np.testing.assert_array_equal(ni.read(CHIP, written, used=used, g_range=G_RANGE), written)


def test_what_draws_nothing_needs_no_key(rng):
    g, used = tiles(rng)
    chip = [ITEMS[name] for name in ("states", "gradual", "retention", "map")]
    first = ni.compose(chip, g, used=used, g_range=G_RANGE)
    np.testing.assert_array_equal(ni.compose(chip, g, KEY, used=used, g_range=G_RANGE), first)
    for item in (ITEMS["device"], ITEMS["faults"], ITEMS["drift"]):
        with pytest.raises(ValueError, match=r"key = None: .* needs a key"):
            ni.compose((item,), g, used=used, g_range=G_RANGE)


def test_one_item_and_no_mask(rng):
    g, _ = tiles(rng)
    item = ITEMS["states"]
    np.testing.assert_array_equal(
        ni.compose(item, g, g_range=G_RANGE), item.apply(g, g_range=G_RANGE)
    )
    rows = np.array([[True], [True], [False], [True]])
    out = item.apply(g, used=rows, g_range=G_RANGE)
    np.testing.assert_array_equal(out[:, 2], g[:, 2])


@pytest.mark.parametrize("preset", ni.PRESETS)
def test_presets_run_compiled_over_seeds(rng, preset):
    g_range = ni.RANGES[preset]
    g = rng.uniform(*g_range, (2, 6, 7)).astype(np.float32)
    used = np.arange(7) < 5
    chip = ni.PRESETS[preset]()

    def chips(chip, key):
        written = ni.compose(chip, g, key, used=used, g_range=g_range)
        return ni.read(chip, written, key, used=used, g_range=g_range, target=g)

    out = quick_jit(jax.vmap(chips, (None, 0)))(chip, jax.random.split(KEY, 4))
    assert out.shape == (4, 2, 6, 7)
    np.testing.assert_array_equal(out[..., 5:], np.broadcast_to(g[..., 5:], (4, 2, 6, 2)))
    spread = np.std(out[..., :5], 0) / g_range[1]
    assert (spread.mean() > 1e-3) and (spread.mean() < 0.1)
    total = lambda g: ni.compose(chip, g, KEY, g_range=g_range).sum()
    assert np.isfinite(quick_jit(jax.grad(total))(g)).all()
