"""The bytes that are expected, against those that XLA allocates."""

import itertools

import jax
import jax.numpy as jnp
import pytest

import jaxbar as jb
from jaxbar import crossbar, planning
from jaxbar.circuit.solver import candidates
from jaxbar.memory import Need

# Constants of a few hundred KiB are nothing to plan by.
SMALL = 256 * 1024
CASES = [
    ("cg", (64, 64), 8, 16),
    ("cg", (130, 100), 6, 33),
    ("cg", (256, 256), 4, 16),
    ("cg", (16, 200), 3, 5),
    ("cg", (37, 41), 1, 1),
    ("cg_library", (64, 64), 4, 16),
    ("direct", (64, 64), 8, 16),
    ("direct", (100, 70), 3, 33),
    ("dense", (10, 10), 4, 6),
    ("auto", (64, 64), 8, 64),
]


def allocated(f, *shapes):
    m = jax.jit(f).lower(*shapes).compile().memory_analysis()
    sizes = m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes
    return sizes - m.alias_size_in_bytes


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
@pytest.mark.parametrize("chunks", ["whole", "mapped", "tiles", "inputs"])
@pytest.mark.parametrize(("method", "shape", "tiles", "inputs"), CASES, ids=str)
def test_never_below_what_xla_allocates(method, shape, tiles, inputs, chunks, gradient):
    solver = jb.Solver(method)
    methods = candidates(solver, shape, jnp.float32, inputs)
    need = Need(methods, shape, tiles, inputs, jnp.float32, gradient, "cpu")
    wide = Need(methods, shape, tiles, inputs, jnp.float32, True, "cpu")  # as a layer plans
    budget = {
        "whole": None,
        "mapped": None,
        "tiles": wide.peak(max(1, tiles // 2), inputs, True),
        "inputs": wide.peak(1, max(1, inputs // 3), True),
    }[chunks]
    config = jb.CrossbarConfig(
        tile_shape=shape,
        wires=jb.Wires(2.0, 2.0, 2.0, 2.0),
        mapping="offset",
        solver=solver,
        memory_budget=budget,
        tile_chunk=None if chunks == "mapped" else tiles,
    )
    how = planning.plan(
        shape, tiles, inputs, solver=solver, memory_budget=budget, tile_chunk=config.tile_chunk
    )
    if how.solver.method != method:
        pytest.skip("elimination does not fit")

    def currents(g, v):
        return crossbar.currents(g, v, config)[0]

    def slope(g, v):
        return jax.grad(lambda g, v: jnp.sum(currents(g, v) ** 2), (0, 1))(g, v)

    g = jax.ShapeDtypeStruct((1, tiles, 1, *shape), jnp.float32)
    v = jax.ShapeDtypeStruct((tiles, inputs, shape[0]), jnp.float32)
    found = allocated(slope if gradient else currents, g, v)
    expected = need.peak(how.tile_chunk, how.input_chunk, how.checkpoint)
    assert found <= expected <= 1.5 * found + SMALL
    assert budget is None or wide.peak(how.tile_chunk, how.input_chunk, how.checkpoint) <= budget


@pytest.mark.parametrize("gradient", [False, True], ids=["forward", "gradient"])
def test_the_matrices_of_tiles_too(gradient):
    shape = (200, 40)
    config = jb.CrossbarConfig(tile_shape=(64, 40), wires=jb.Wires(1.0, 1.0, 1.0, 1.0))
    how = crossbar.plan(shape, 10_000, config, jnp.float32)
    assert (how.tiles, how.inputs) == (8, 40)

    def matrix(g):
        return crossbar.effective(g, shape, config)[0]

    f = jax.grad(lambda g: jnp.sum(matrix(g) ** 2)) if gradient else matrix
    found = allocated(f, jax.ShapeDtypeStruct((2, 4, 1, 64, 40), jnp.float32))
    need = Need(("cg",), (64, 40), 8, 40, jnp.float32, gradient, "cpu")
    expected = need.peak(how.tile_chunk, how.input_chunk, how.checkpoint)
    assert found <= expected <= 1.5 * found + SMALL


# Of what XLA allocates for one program, jax 0.11 and 0.12 differ by up to a half.
OTHERS = {
    "segments": ({"wires": jb.Wires(2.0, jnp.full((100, 69), 2.0), 2.0, 2.0)}, 1.5),
    "newton": ({"cell": jb.Sinh(4.0)}, 1.7),
    "newton, of another law": ({"cell": jb.Polynomial.milo()}, 1.7),
    "gated": ({"cell": jb.Transistor(3.0)}, 1.5),
    "source_lines": ({"wires": jb.SourceLines(2.0, 2.0, 2.0, 2.0)}, 1.5),
    "source_newton": (
        {"wires": jb.SourceLines(2.0, 2.0, 2.0, 2.0), "cell": jb.Sinh(4.0)},
        1.7,
    ),
}


SOME = [(name, "inputs", True) for name in ("newton", "gated", "source_lines")]
ALL = itertools.product(OTHERS, ["whole", "inputs"], [False, True])


@pytest.mark.parametrize(
    ("name", "chunks", "gradient"),
    [*SOME, *(pytest.param(*x, marks=pytest.mark.slow) for x in ALL if x not in SOME)],
)
def test_other_cells_and_lines(name, chunks, gradient):
    changes, most = OTHERS[name]
    shape, tiles, inputs = (100, 70), 3, 24
    method = name.split(",")[0]
    need = Need((method,), shape, tiles, inputs, jnp.float32, gradient, "cpu")
    wide = Need((method,), shape, tiles, inputs, jnp.float32, True, "cpu")  # as a layer plans
    config = jb.CrossbarConfig(
        tile_shape=shape,
        mapping="offset",
        tile_chunk=tiles,
        memory_budget=None if chunks == "whole" else wide.peak(1, 8, True),
        **{"wires": jb.Wires(2.0, 2.0, 2.0, 2.0), **changes},
    )
    how = crossbar.plan((3 * 100, 70), inputs, config, jnp.float32)
    assert (how.tile_chunk, how.input_chunk) == ((3, 24) if chunks == "whole" else (1, 8))

    def currents(g, v):
        return crossbar.currents(g, v, config)[0]

    def slope(g, v):
        return jax.grad(lambda g, v: jnp.sum(currents(g, v) ** 2), (0, 1))(g, v)

    g = jax.ShapeDtypeStruct((1, tiles, 1, *shape), jnp.float32)
    v = jax.ShapeDtypeStruct((tiles, inputs, shape[0]), jnp.float32)
    found = allocated(slope if gradient else currents, g, v)
    expected = need.peak(how.tile_chunk, how.input_chunk, how.checkpoint)
    assert found <= expected <= most * found + SMALL

    if gradient:
        return
    x = jax.ShapeDtypeStruct((inputs, 3 * 100), jnp.float32)
    usual = crossbar.default_calibration((3 * 100, 70), config, jnp.float32)
    power = allocated(lambda x, g: crossbar.power(x, g, usual, config), x, g)
    assert power <= wide.peak(how.tile_chunk, how.input_chunk, how.checkpoint)


def test_a_wide_number_takes_twice_as_much():
    one, two = (Need(("cg",), (64, 64), 4, 8, d, True, "gpu") for d in (jnp.float32, "float64"))
    assert two.fixed == 2 * one.fixed
    assert abs(two.each - 2 * one.each) <= 2
