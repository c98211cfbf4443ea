"""The power of reads of layers, against Σ v·i of tiles solved one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar import crossbar

from .test_cells_in_layers import BASE, LINES, WIRES, config_of, layer


@pytest.mark.parametrize(
    "name", ["sinh", "gates", "source lines", "interleaved", "ohmic", "nothing"]
)
def test_power_of_every_tile(x64, rng, name):
    more = {"ohmic": {"wires": WIRES}, "nothing": {}}
    config = BASE.replace(**more[name]) if name in more else config_of(name)
    analog, x = layer(config), rng.uniform(-1, 1, (4, 10))
    found = jb.power(analog, x)
    assert list(found) == ["Linear"]
    found = found["Linear"]
    g = np.asarray(crossbar.write(analog.kernel[...], config)[0])
    assert found.cells.shape == found.wires.shape == g.shape[:3]
    volts = np.zeros((4, 12))
    volts[:, :10] = config.v_max * x
    for p, d, a in np.ndindex(g.shape[:3]):
        cells, wires, delivered = tile_power(g[p, d, a], volts[:, 4 * d : 4 * d + 4], config)
        np.testing.assert_allclose(found.cells[p, d, a], cells, rtol=1e-10)
        np.testing.assert_allclose(found.wires[p, d, a], wires, rtol=1e-9, atol=1e-18)
        np.testing.assert_allclose(found.tiles[p, d, a], delivered, rtol=1e-9)
    np.testing.assert_allclose(found.total, np.sum(found.cells) + np.sum(found.wires), rtol=1e-12)
    np.testing.assert_allclose(found.energy(1e-8), 1e-8 * found.total, rtol=1e-12)


def tile_power(g, v, config):
    """Means over the inputs: of cells, of wires, and what the drivers deliver, Σ v·i."""
    if isinstance(config.wires, jb.SourceLines):
        reads = [
            jb.solve_source_lines(
                g, np.maximum(s * v / config.v_max, 0), LINES, config.v_max, cell=config.cell
            )
            for s in (1, -1)
        ]
        delivered = sum(config.v_max * np.sum(s.device_currents, (1, 2)) for s in reads)
    else:
        wires = jb.Wires() if config.wires is None else config.wires
        reads = [jb.solve(g, v, wires, cell=config.cell)]
        delivered = np.einsum("bm,bmn->b", v, reads[0].device_currents)
    cells = sum(np.sum(s.cell_voltages * s.device_currents, (1, 2)) for s in reads)
    return np.mean(cells), np.mean(delivered - cells), np.mean(delivered)


class Model(nnx.Module):
    def __init__(self):
        self.first = nnx.Linear(10, 10, rngs=nnx.Rngs(0))
        self.last = nnx.Linear(10, 3, rngs=nnx.Rngs(1))

    def __call__(self, x, again=False):
        x = nnx.relu(self.first(x))
        return self.last(nnx.relu(self.first(x)) if again else x)


def test_layers_by_name_and_as_they_see_their_inputs(rng):
    model = jb.patch_model(Model(), BASE.replace(wires=WIRES))
    x = jnp.asarray(rng.uniform(-1, 1, (6, 10)), jnp.float32)
    jb.tune(model, x, again=True)
    found = jb.power(model, x)
    assert list(found) == ["first", "last"]
    hidden = nnx.relu(model.first(x))
    of = lambda layer, x: jb.power(layer, x)["first"]
    np.testing.assert_allclose(found["first"].total, of(model.first, x).total, rtol=1e-6)
    last = jb.power(model.last, hidden)["last"]
    np.testing.assert_allclose(found["last"].total, last.total, rtol=1e-5)
    # A layer that is used twice: the mean over both.
    twice = jb.power(model, x, again=True)["first"]
    both = jax.tree.map(lambda a, b: (a + b) / 2, of(model.first, x), of(model.first, hidden))
    np.testing.assert_allclose(twice.cells, both.cells, rtol=1e-5)
    # Written models draw the same, also of a budget and in compiled code.
    written = jb.power(jb.program(model), x)
    small = jb.reconfigure(model, memory_budget="700 KiB")
    compiled = jax.jit(lambda x: jb.power(small, x))(x)
    for other in (written, compiled):
        for name in found:
            np.testing.assert_allclose(other[name].tiles, found[name].tiles, rtol=1e-5)


def test_power_can_be_trained(x64, rng):
    config, x = config_of("sinh"), jnp.asarray(rng.uniform(-1, 1, (3, 10)))
    graph, params, rest = nnx.split(layer(config), nnx.Param, ...)

    @jax.jit
    def total(params):
        return jb.power(nnx.merge(graph, params, rest), x)["Linear"].energy(1.0)

    way = jax.tree.map(lambda w: jnp.asarray(rng.normal(size=w.shape)), params)
    _, found = jax.jvp(total, (params,), (way,))
    moved = lambda t: total(jax.tree.map(lambda a, b: a + t * b, params, way))
    np.testing.assert_allclose(found, (moved(1e-6) - moved(-1e-6)) / 2e-6, rtol=1e-5)
    slope = jax.grad(total)(params)
    inner = sum(map(jnp.vdot, jax.tree.leaves(slope), jax.tree.leaves(way)))
    np.testing.assert_allclose(inner, found, rtol=1e-9)


def test_mistakes(rng):
    with pytest.raises(ValueError, match="Linear ran no crossbar layer: use patch_model"):
        jb.power(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((1, 3)))
    with pytest.raises(ValueError, match="Linear: x holds no inputs"):
        jb.power(layer(BASE, jnp.float32), jnp.ones((0, 10)))
    written = jb.program(layer(BASE, jnp.float32))
    with pytest.raises(ValueError, match="Linear is programmed: tune the model, then program"):
        jb.tune(written, jnp.ones((1, 10)))
