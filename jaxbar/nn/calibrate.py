"""Calibration of a crossbar model on inputs that it will see."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from .linear import Linear, ProgrammedLinear, observer


def tune[Model: nnx.Module](model: Model, *args: Any, **kwargs: Any) -> Model:
    """Calibrates every crossbar layer, in place, by one pass ``model(*args, **kwargs)``.

    Layer after layer: each sees what its calibrated predecessors make of the inputs. Stored
    are the scale of its inputs, the range of its ADC and a gain and offset for each output
    (`jaxbar.crossbar.calibrate`). The weights stay as they are, and tuning again on the same
    inputs changes nothing. A layer that is used several times is calibrated on all it sees.

    Args:
        model: from `patch_model`.
        *args, **kwargs: of the model's call, with a batch of typical inputs.

    Returns:
        The model.

    Raises:
        ValueError: inside `jax.jit` and the like, the model ran no crossbar layer, or one that is
            programmed already.
    """
    seen: dict[int, list[jax.Array]] = {}

    def calibrate(layer: Linear | ProgrammedLinear, x: jax.Array) -> jax.Array:
        if isinstance(layer, ProgrammedLinear):
            raise ValueError(f"{layer.path} is programmed: tune the model, then program it")
        if isinstance(x, jax.core.Tracer):
            raise ValueError(f"{layer.path}: tune runs the model itself; call it outside jit")
        inputs = seen.setdefault(id(layer), [])
        inputs.append(x)
        return layer.calibrate(jnp.concatenate(inputs))[-len(x) :]

    token = observer.set(calibrate)
    try:
        model(*args, **kwargs)
    finally:
        observer.reset(token)
    if not seen:
        raise ValueError(
            f"{type(model).__name__} ran no crossbar layer: use patch_model before tune"
        )
    return model
