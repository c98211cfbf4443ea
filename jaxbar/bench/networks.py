"""Workloads of layers on many tiles: calibration, the solves in it, and training steps."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import optax
from flax import nnx

from .. import crossbar, settings, tiling
from ..circuit import Wires
from ..config import ADC, CrossbarConfig
from ..experiment import sizes
from ..nn import patch_model, tune
from ..nn.linear import Linear
from ..training import MLP, train_step
from . import peers
from .job import Job
from .tiles import solver


@dataclasses.dataclass(frozen=True)
class Layer:
    """A dense layer that is put on tiles and calibrated.

    Attributes:
        inputs, outputs: of the layer.
        samples: inputs to calibrate on, random in [0, 1).
        config: its crossbar, with all four wires alike.
        forward: whether the solves alone are a job too.
    """

    inputs: int
    outputs: int
    samples: int
    config: CrossbarConfig
    forward: bool = False


def _crossbar(tile: int, r: float, **more: Any) -> CrossbarConfig:
    return CrossbarConfig(tile_shape=(tile, tile), wires=Wires(r, r, r, r), **more)


LAYERS = {
    "passive_128": Layer(100, 50, 4096, _crossbar(128, 5.0, r_on=1.8e3, r_off=2.5e3, v_max=1.0)),
    "passive_512": Layer(
        1000,
        1000,
        10,
        _crossbar(512, 2.0, r_on=1e5, r_off=1e6, v_max=0.3, adc=ADC(bits=8)),
        forward=True,
    ),
}


def layer_of(path: str) -> Layer:
    """The first layer of the network that a configuration file describes."""
    chosen = settings.load(path)
    inputs, outputs = sizes(chosen)[:2]
    return Layer(inputs, outputs, chosen.tune_images, chosen.crossbar)


def layer_jobs(name: str, layer: Layer, dtype: str) -> Iterator[Job]:
    """A job of `patch_model` and `tune`, and with `forward` one of the solves of its tiles."""
    number = np.dtype(dtype)
    digital = nnx.Linear(layer.inputs, layer.outputs, param_dtype=number, rngs=nnx.Rngs(0))
    rng = np.random.default_rng(0)
    x = jax.device_put(rng.uniform(0, 1, (layer.samples, layer.inputs)).astype(number))
    config = layer.config if dtype == "float32" else layer.config.replace(solver=solver(dtype))

    def calibrated() -> Any:
        return nnx.state(tune(patch_model(digital, config), x))

    yield Job(name, "tune", calibrated)
    if layer.forward:
        yield _solves(name, layer, Linear.from_digital(digital, config), x)


def _solves(name: str, layer: Layer, analog: Linear, x: jax.Array) -> Job:
    config = analog.config
    g, _ = crossbar.write(analog.weights(), config)
    v = tiling.inputs_to_tiles(crossbar.drive(x, analog.calibration, config), config.tile_shape[0])
    currents = jax.jit(lambda g, v, config: crossbar.currents(g, v, config)[0])
    r = float(jax.tree.leaves(layer.config.wires)[0])
    return Job(
        name,
        "forward",
        lambda: currents(g, v, config),
        lambda: currents.lower(g, v, config),
        # Not klujax, which takes a minute for each tile of 512×512 cells.
        {"superlu": _signed(functools.partial(peers.superlu, *_flat(g, v), r), g.shape)},
    )


def _flat(g: jax.Array, v: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    """Tiles (T, n, n) and their drives (T, B, n) of arrays (2, D, A, n, n) and (D, B, n)."""
    tiles, drives = np.asarray(g, np.float64), np.asarray(v, np.float64)
    each = np.broadcast_to(drives[None, :, None], (*tiles.shape[:3], *drives.shape[1:]))
    return tiles.reshape(-1, *tiles.shape[3:]), each.reshape(-1, *drives.shape[1:])


def _signed(prepare: peers.Prepare, shape: tuple[int, ...]) -> peers.Prepare:
    """A peer's currents (T, B, n) as the differences (D, A, B, n) of the two arrays."""

    def prepared() -> peers.Forward | None:
        call = prepare()
        if call is None:
            return None

        def signed() -> np.ndarray:
            i = call()
            i = i.reshape(*shape[:3], *i.shape[1:])
            return i[0] - i[1]

        return signed

    return prepared


# Lowest and highest cell resistance of the networks that are trained, ohm.
STEPS = {"training": (1e5, 1e6), "training-1k-40k": (1e3, 4e4)}


def training_jobs(
    dtype: str, sizes: tuple[int, ...] = (784, 128, 10), batch: int = 128, tile: int = 128
) -> Iterator[Job]:
    """One step of Adam on a perceptron: digital, and through the exact tiles (2 ohm a segment)."""
    number = np.dtype(dtype)
    rng = np.random.default_rng(0)
    x = jax.device_put(rng.uniform(0, 1, (batch, sizes[0])).astype(number))
    y = jax.device_put(rng.integers(0, sizes[-1], batch))
    digital = MLP(*sizes, rngs=nnx.Rngs(0))
    if dtype == "float64":
        nnx.update(digital, jax.tree.map(lambda w: w.astype(number), nnx.state(digital)))
    yield _step("training", "digital", nnx.clone(digital), x, y)
    for name, (r_on, r_off) in STEPS.items():
        config = CrossbarConfig(
            tile_shape=(tile, tile),
            wires=Wires(2.0, 2.0, 2.0, 2.0),
            r_on=r_on,
            r_off=r_off,
            solver=solver(dtype),
        )
        yield _step(name, "step", patch_model(digital, config), x, y)


def _step(name: str, kind: str, model: Any, x: jax.Array, y: jax.Array) -> Job:
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    return Job(
        name,
        kind,
        lambda: train_step(model, optimizer, x, y),
        lambda: train_step.lower(model, optimizer, x, y),
    )
