"""Digital models to crossbars, and crossbars to other ones."""

from typing import Any

import jax
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from ..config import CrossbarConfig
from .linear import Linear, ProgrammedLinear


def patch_model(model: nnx.Module, config: CrossbarConfig) -> Any:
    """A copy of a model with every `nnx.Linear` on a crossbar; the model itself is untouched.

    Layers are found at any depth: the root, attributes, lists and dicts; a module that is
    used in several places stays one. A `Linear` that is on a crossbar already gets the new
    configuration and is no longer calibrated.

    Args:
        model: an nnx module.
        config: the crossbar of every layer.

    Raises:
        ValueError: the model holds no `nnx.Linear`.
    """

    def patch(path, node):
        if type(node) is nnx.Linear or isinstance(node, Linear):
            found.append(path)
            return Linear.from_digital(node, config, ".".join(map(str, path)) or "Linear")
        return node

    found: list[Any] = []
    new = nnx.recursive_map(patch, nnx.clone(model))
    if not found:
        raise ValueError(
            f"{type(model).__name__} holds no nnx.Linear: nothing to put on a crossbar"
        )
    return new


def reconfigure[Model: nnx.Module](model: Model, **changes: Any) -> Model:
    """A copy of a crossbar model with some fields of every layer's configuration changed.

    Weights stay, and so does what `tune` has set, but for an `input_scale` or an `adc` with a
    range among the changes. The physical fields may be traced, so that a sweep is one
    `jax.vmap`: ``vmap(lambda r: accuracy(reconfigure(model, wires=Wires(r, r, r, r))))``.

    Raises:
        ValueError: a field is unknown or not allowed, or the model is programmed (its
            conductances are written: change the model, then program it).
    """
    unknown = set(changes) - set(CrossbarConfig.__dataclass_fields__)
    if unknown:
        raise ValueError(
            f"unknown configuration field {', '.join(sorted(unknown))}: there are "
            f"{', '.join(CrossbarConfig.__dataclass_fields__)}"
        )
    new = nnx.clone(model)
    for _, node in nnx.iter_graph(new):
        if isinstance(node, ProgrammedLinear):
            raise ValueError(f"{node.path} is programmed: reconfigure the model, then program it")
        if isinstance(node, Linear):
            node.reconfigure(**changes)
    return new


def program(model: nnx.Module, key: Array | None = None) -> Any:
    """A copy of a crossbar model with its conductances written and its tiles solved.

    Weights → target conductances → what the configuration's devices, programming and
    non-idealities make of them (`jaxbar.chip`). An evaluation is then matrix products, or a solve
    for each input where the tiles are not linear. The copy no longer follows the weights. A sweep
    over chips is one ``jax.vmap(lambda key: accuracy(program(model, key)))(keys)``.

    Args:
        model: from `patch_model`.
        key: of all that is random in the writing, a part for each layer; same key, same bits.
            None (default): only where nothing is random.

    Raises:
        ValueError: the model holds no crossbar layer, or a key is missing.
    """

    def write(path, node):
        if isinstance(node, Linear):
            own = None if key is None else jax.random.fold_in(key, len(found))
            found.append(path)
            return ProgrammedLinear(node, own)
        return node

    found: list[Any] = []
    new = nnx.recursive_map(write, nnx.clone(model))
    if not found:
        raise ValueError(
            f"{type(model).__name__} holds no crossbar layer to program: use patch_model first"
        )
    return new


def at_time(model: nnx.Module, time: ArrayLike) -> Any:
    """A copy of a programmed model at a time in second after the write: the same chip, drifted.

    Conductances move from what was written, not from where they were, so that times may be in
    any order. With `CrossbarConfig.compensation` outputs are scaled to undo drift on average.

    Args:
        model: from `program`.
        time: ≥ 0; may be traced, but for presets that look up a measurement.

    Raises:
        ValueError: the model holds no programmed layer, the time is negative, or a preset was
            not measured at it.
    """
    new, found = nnx.clone(model), 0
    for _, node in nnx.iter_graph(new):
        if isinstance(node, ProgrammedLinear):
            node.age(time)
            found += 1
    if not found:
        raise ValueError(
            f"{type(model).__name__} holds no programmed layer to age: use program first"
        )
    return new
