import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar import nonideal as ni

from .items import G_RANGE, quick_jit, tiles


@quick_jit
def write(item, g, key, used):
    return item.apply(g, key, used=used, g_range=G_RANGE)


BOTH = pytest.mark.parametrize("clusters", [None, ni.Clusters(), ni.Clusters(20.0, 0.7)])


@BOTH
@pytest.mark.parametrize(
    "fractions",
    [
        (0.1, 0.0, 0.0),
        (0.0, 0.013, 0.0),
        (0.0, 0.0, 0.5),
        (0.03, 0.02, 0.01),
        (1.0, 0.0, 0.0),
        (0.25, 0.5, 0.25),
        (0.0, 0.0, 0.0),
    ],
)
def test_fractions_are_exact(rng, fractions, clusters):
    shape = (3, 21, 17)
    g = rng.uniform(3e-6, 1.9e-5, shape).astype(np.float32)
    used = np.ones(shape, bool)
    used[:, 15:], used[2, :, 9:] = False, False
    n = used.sum()
    item = ni.StuckFaults(*fractions, clusters=clusters)
    for seed in range(3):
        out = np.asarray(write(item, g, jax.random.key(seed), used))
        np.testing.assert_array_equal(out[~used], g[~used])
        for fraction, value in zip(fractions, (G_RANGE[1], G_RANGE[0], 0.0), strict=True):
            count = (out == np.float32(value)).sum()
            # 1 cell where the roundings of fractions that sum to 1 do not.
            assert abs(count - fraction * n) <= (0.5 if sum(fractions) < 1 else 1)
        assert (out != g).sum() == pytest.approx(sum(fractions) * n, abs=1.5)


def test_everywhere_alike():
    """Over chips, each used cell fails as often as another, and in each way."""
    used = jnp.asarray(np.arange(48).reshape(6, 8) % 5 > 0)
    item = ni.StuckFaults(0.2, 0.1, 0.1)
    codes = quick_jit(jax.vmap(lambda k: item.draw(k, used)))(
        jax.random.split(jax.random.key(0), 4000)
    )
    n = int(used.sum())
    for code, fraction in ((ni.ON, 0.2), (ni.OFF, 0.1), (ni.UNFORMED, 0.1)):
        rate = np.mean(np.asarray(codes) == code, 0)
        share = round(fraction * n) / n
        limit = 5 * np.sqrt(share * (1 - share) / 4000)
        assert (np.abs(rate - share)[np.asarray(used)] < limit).all()
        assert (rate[~np.asarray(used)] == 0).all()


def neighbours(codes):
    """Share of the faulty cells' four neighbours that are faulty."""
    faulty = np.asarray(codes) != ni.HEALTHY
    right, down = faulty[..., 1:] & faulty[..., :-1], faulty[..., 1:, :] & faulty[..., :-1, :]
    return 2 * (right.sum() + down.sum()) / (4 * faulty.sum())


def test_clusters_are_clusters():
    used = jnp.ones((4, 64, 64), bool)
    draw = quick_jit(
        lambda clusters: ni.StuckFaults(0.03, 0.02, clusters=clusters).draw(jax.random.key(3), used)
    )
    alone, loose, tight = (
        neighbours(draw(c)) for c in (None, ni.Clusters(8.0, 3.0), ni.Clusters(8.0, 1.0))
    )
    assert alone == pytest.approx(0.05, abs=0.03)
    assert loose > 1.5 * alone
    assert tight > 1.5 * loose
    # Wide enough, a cluster is the whole tile.
    assert neighbours(draw(ni.Clusters(8.0, 1e4))) == pytest.approx(0.05, abs=0.03)
    # A single cluster fills no more than there is.
    one = np.asarray(draw(ni.Clusters(1e6, 1.0))) != ni.HEALTHY
    assert one.sum() == 492 + 328
    codes = np.asarray(draw(ni.Clusters(8.0, 1.0)))
    mixed = (codes[..., 1:] * codes[..., :-1])[codes[..., 1:] * codes[..., :-1] > 0]
    assert (mixed == ni.ON * ni.OFF).mean() > 0.3


def test_one_cluster_is_compact():
    used = jnp.ones((1, 64, 64), bool)
    item = ni.StuckFaults(0.005, clusters=ni.Clusters(20.0, 1.5))
    codes = quick_jit(lambda item: item.draw(jax.random.key(1), used))(item)
    row, column = np.nonzero(np.asarray(codes[0]))
    assert len(row) == 20
    assert np.std(row) < 3.5
    assert np.std(column) < 3.5


def test_map(rng):
    g, used = tiles(rng)
    codes = np.arange(20).reshape(4, 5) % 4
    out = ni.FaultMap(codes, g_unformed=1e-8).apply(g, used=used, g_range=G_RANGE)
    values = np.float32([0, G_RANGE[1], G_RANGE[0], 1e-8])[codes]
    expected = np.where(used & (codes > 0), values, g)
    np.testing.assert_array_equal(out, expected)
    drawn = ni.StuckFaults(0.1, 0.2, 0.1)
    key = jax.random.key(0)
    codes = drawn.draw(key, jnp.asarray(used), jnp.float32)
    np.testing.assert_array_equal(
        ni.FaultMap(codes).apply(g, used=used, g_range=G_RANGE),
        write(drawn, g, key, used),
    )


def test_a_stuck_cell_stays_whatever_else_happens(rng):
    g, used = tiles(rng)
    codes = np.arange(20).reshape(4, 5) % 4
    chip = (ni.FaultMap(codes), ni.Drift(0.1, time=1e9), ni.DeviceVariation(0.3))
    out = np.asarray(ni.compose(chip, g, jax.random.key(0), used=used, g_range=G_RANGE))
    for code, value in ((ni.ON, G_RANGE[1]), (ni.OFF, G_RANGE[0]), (ni.UNFORMED, 0.0)):
        cells = used & (codes == code)
        assert cells.any()
        np.testing.assert_array_equal(out[cells], np.float32(value))


def test_no_cell_in_use(rng):
    g, used = tiles(rng)
    for clusters in (None, ni.Clusters()):
        item = ni.StuckFaults(0.5, 0.5, clusters=clusters)
        out = write(item, g, jax.random.key(0), np.zeros_like(used))
        np.testing.assert_array_equal(out, g)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ni.StuckFaults(0.6, 0.5), r"sum to 1\.1: must be 1 at most"),
        (lambda: ni.StuckFaults(0.5, 0.3, 0.3), "must be 1 at most"),
        (lambda: ni.StuckFaults(on=-0.1), r"StuckFaults\.on = -0\.1: must be a fraction"),
        (lambda: ni.StuckFaults(off=1.5), r"StuckFaults\.off = 1\.5: must be a fraction"),
        (lambda: ni.StuckFaults(unformed=float("nan")), "must be a fraction"),
        (lambda: ni.StuckFaults(0.1, clusters=3), "must be Clusters or None"),
        (lambda: ni.StuckFaults(0.1, g_unformed=-1.0), "must be finite and ≥ 0"),
        (lambda: ni.Clusters(size=0.5), r"Clusters\.size = 0\.5: must be ≥ 1"),
        (lambda: ni.Clusters(radius=0.0), r"Clusters\.radius = 0\.0: must be finite and > 0"),
        (lambda: ni.FaultMap([[0, 4]]), "3 \\(unformed\\)"),
        (
            lambda: ni.FaultMap(np.zeros((3, 2), int)).apply(np.ones((4, 5)), g_range=G_RANGE),
            r"FaultMap\.codes has shape \(3, 2\)",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
