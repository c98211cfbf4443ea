"""Chunks that fit a budget, and what happens where none do."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbar as jb
from jaxbar import crossbar, planning

WIRES = jb.Wires(3.0, 2.0, 2.0, 4.0)


def test_within_the_budget_whatever_it_is():
    budget, seen = 2 * jb.plan((64, 48), 20, 50, tile_chunk=20).peak, set()
    while True:
        try:
            how = jb.plan((64, 48), 20, 50, memory_budget=budget, tile_chunk=20)
        except jb.MemoryBudgetError:
            break
        assert how.peak <= budget == how.budget
        assert 1 <= how.tile_chunk <= 20 and 1 <= how.input_chunk <= 50
        assert how.input_chunk == 50 or how.tile_chunk == 1
        assert how.chunks[0] * how.tile_chunk >= 20 and how.chunks[1] * how.input_chunk >= 50
        seen.add((how.tile_chunk, how.input_chunk))
        budget = int(0.8 * budget)
    assert (20, 50) in seen and len(seen) > 8


def test_chunks_are_of_one_size():
    one = jb.plan((32, 32), 10, 1000, memory_budget="1TiB", tile_chunk=10)
    how = jb.plan((32, 32), 10, 1000, memory_budget=one.peak - 1, tile_chunk=10)
    assert how.tile_chunk == 5  # not 9 and 1


def test_a_cpu_solves_one_tile_at_a_time_and_a_gpu_all():
    class Gpu:
        platform, device_kind = "gpu", "a GPU"

        def memory_stats(self):
            return {"bytes_limit": 100 * 2**30, "bytes_in_use": 0}

    assert jb.plan((64, 64), 9, 4).tile_chunk == 1
    on_gpu = jb.plan((64, 64), 9, 4, on=Gpu())
    assert (on_gpu.tile_chunk, on_gpu.device) == (9, "a GPU")
    assert on_gpu.budget == int(0.8 * 100 * 2**30)
    assert jb.plan((64, 64), 9, 4, on=Gpu(), tile_chunk=2).tile_chunk == 2


def test_elimination_is_left_out_where_its_factors_do_not_fit():
    free = jb.plan((64, 64), 4, 256, memory_budget="1GiB")
    assert free.solver.method == "auto" and free.tile > 0
    tight = jb.plan((64, 64), 4, 256, memory_budget=free.fixed * 2 + free.tile // 2)
    assert tight.solver.method == "cg" and tight.tile == 0


@pytest.mark.parametrize("counts", [(0, 5), (5, 0), (0, 0), (1, 1)], ids=str)
def test_nothing_and_one(counts):
    how = jb.plan((8, 8), *counts)
    assert how.tile_chunk >= 1 and how.input_chunk >= 1
    assert how.chunks == (counts[0], min(1, counts[1]))  # a CPU solves tile by tile


def test_more_than_there_is():
    with pytest.raises(jb.MemoryBudgetError) as error:
        jb.plan((1024, 1024), 1, 1, dtype="float64", memory_budget="1MiB")
    text = str(error.value)
    for part in ("1024×1024", "memory_budget is 1 MiB (1048576 bytes)", "float32", "bytes, all"):
        assert part in text
    assert isinstance(error.value, MemoryError)
    with pytest.raises(jb.MemoryBudgetError, match="Solver\\(method='cg'\\)"):
        jb.plan((512, 512), 1, 1, solver=jb.Solver("direct"), memory_budget="100MiB")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tiles": -1}, "tiles = -1: must be an int ≥ 0"),
        ({"inputs": 2.5}, "inputs = 2.5: must be an int ≥ 0"),
        ({"inputs": False}, "inputs = False"),
        ({"tile_shape": (0, 4)}, "tile_shape = 0: must be two ints ≥ 1"),
        ({"tile_shape": 4}, "tile_shape = 4"),
        ({"memory_budget": "2 gigs"}, "memory_budget = '2 gigs': must be a number of bytes"),
        ({"tile_chunk": 0}, "tile_chunk = 0"),
        ({"dtype": "float16"}, "dtype = 'float16': tiles are solved in float32 or float64"),
        ({"dtype": "nonsense"}, "dtype = 'nonsense'"),
        ({"solver": "cg"}, "solver = 'cg': must be a jaxbar.Solver"),
    ],
)
def test_mistakes(change, message):
    with pytest.raises(ValueError, match=message):
        jb.plan(**{"tile_shape": (4, 4), "tiles": 1, "inputs": 1} | change)


def test_a_plan_is_short_to_read():
    text = repr(jb.plan((64, 64), 3, 5, memory_budget="64MiB"))
    assert text.startswith("Plan(3 tiles × 5 inputs, 1 × 5 at a time, peak ")
    assert text.endswith(" of 64 MiB, cpu)")


def product(rng, inputs):
    w = jnp.asarray(rng.standard_normal((20, 12)), jnp.float32)
    x = jnp.asarray(rng.standard_normal((inputs, 20)), jnp.float32)
    config = jb.CrossbarConfig(tile_shape=(8, 8), wires=WIRES)
    calibration = crossbar.default_calibration(w.shape, config, w.dtype)

    def loss(config):
        return lambda w, x: jnp.sum(crossbar.matmul(x, w, calibration, config)[0] ** 2)

    return w, x, config, loss


@pytest.mark.parametrize("inputs", [3, 5, 30])
@pytest.mark.parametrize("share", [1.0, 0.7, 0.4])
def test_results_do_not_depend_on_the_budget(rng, inputs, share):
    w, x, config, loss = product(rng, inputs)
    whole = crossbar.plan(w.shape, inputs, config, w.dtype)
    tight = config.replace(memory_budget=int(share * whole.peak))
    try:
        crossbar.plan(w.shape, inputs, tight, w.dtype)
    except jb.MemoryBudgetError:
        tight = config.replace(memory_budget=planned_least(w, inputs, config))
    exact = jax.value_and_grad(loss(config), (0, 1))(w, x)
    found = jax.jit(jax.value_and_grad(loss(tight), (0, 1)))(w, x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-4)


def planned_least(w, inputs, config):
    """A budget in which one input of one tile is solved at a time."""
    budget = 2**30
    while True:
        try:
            how = crossbar.plan(
                w.shape, inputs, config.replace(memory_budget=int(0.95 * budget)), w.dtype
            )
        except jb.MemoryBudgetError:
            return budget
        budget = how.budget


def test_a_thousand_tiles_in_a_small_budget(rng):
    w = jnp.asarray(rng.standard_normal((128, 64)), jnp.float32)
    config = jb.CrossbarConfig(tile_shape=(4, 4), wires=WIRES, memory_budget="2MiB")
    how = crossbar.plan(w.shape, 100, config.replace(tile_chunk=1024), w.dtype)
    assert how.tiles == 1024 and how.peak <= 2 * 2**20
    g, _ = crossbar.write(w, config)
    few, good = crossbar.effective(g, w.shape, config.replace(tile_chunk=1024))
    assert good
    all_at_once, _ = crossbar.effective(
        g, w.shape, config.replace(tile_chunk=1024, memory_budget=None)
    )
    np.testing.assert_allclose(few, all_at_once, rtol=1e-5)


@pytest.fixture
def small_gpu(monkeypatch):
    """A GPU in all but the arithmetic, with the budget of the configuration."""
    monkeypatch.setattr(crossbar, "platform", lambda: "gpu")


@pytest.mark.parametrize("inputs", [3, 30])
def test_what_does_not_fit_a_gpu_is_solved_on_the_cpu(rng, small_gpu, inputs):
    w, x, config, loss = product(rng, inputs)
    exact = jax.value_and_grad(loss(config), (0, 1))(w, x)
    small = config.replace(memory_budget=1000)
    with pytest.warns(jb.MemoryBudgetWarning, match="solved on the CPU: one input") as caught:
        found = jax.jit(jax.value_and_grad(loss(small), (0, 1)))(w, x)
    assert len(caught) == 1
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jb.MemoryBudgetWarning)
        mapped = jax.vmap(lambda s: loss(small)(s * w, x))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(mapped[0], exact[0], rtol=1e-5)
    with pytest.raises(jb.MemoryBudgetError, match=r"needs .* KiB"):
        loss(small.replace(on_memory="error"))(w, x)


def test_on_a_cpu_there_is_no_way_out(rng):
    w, x, config, loss = product(rng, 4)
    with pytest.raises(jb.MemoryBudgetError):
        loss(config.replace(memory_budget=1000))(w, x)


def test_a_budget_that_is_none():
    with pytest.raises(ValueError, match="memory_budget = 'much': must be a number of bytes"):
        jb.CrossbarConfig(memory_budget="much")
    with pytest.raises(ValueError, match="on_memory = 'gpu': must be one of 'cpu', 'error'"):
        jb.CrossbarConfig(on_memory="gpu")
    assert planning.Plan is jb.Plan
