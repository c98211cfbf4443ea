"""A train of voltages through a device."""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

from .parameters import check_entries

if TYPE_CHECKING:
    from .common import Device


class Trajectory(NamedTuple):
    """What was recorded at each of T steps, (T, ...) each.

    Attributes:
        currents: ampere, of the step's voltage at the state before it; those at the state after
            it are ``device.current(trajectory.states, voltages)``.
        conductances: siemens, after the step.
        states: after the step, in the model's unit.
    """

    currents: Array
    conductances: Array
    states: Array


def simulate(
    device: "Device",
    state: ArrayLike,
    voltages: ArrayLike,
    dt: ArrayLike,
    key: Array | None,
    record: bool,
) -> tuple[Array, Trajectory | None]:
    """What `Device.simulate` says."""
    state, voltages, dt = map(unlist, (state, voltages, dt))
    if np.ndim(voltages) == 0:
        raise ValueError("voltages has shape (): must be (T, ...), steps first")
    check_entries("voltages", voltages, "", "V")
    check_entries("dt", dt, "≥ 0", "s")
    try:
        shape = np.broadcast_shapes(
            np.shape(state), np.shape(voltages)[1:], np.shape(dt), device.shape
        )
    except ValueError as error:
        raise ValueError(
            f"state {np.shape(state)}, voltages {np.shape(voltages)}, dt {np.shape(dt)} and the "
            f"device's parameters {device.shape} do not meet: all but the first axis of "
            "voltages must broadcast"
        ) from error
    dtype = jnp.promote_types(jnp.result_type(state, voltages, 1.0), jnp.float32)
    state, voltages = jnp.asarray(state, dtype), jnp.asarray(voltages, dtype)
    return _scan(device, jnp.broadcast_to(state, shape), voltages, dt, key, record)


# Compiled once for each model, shape and dtype: a scan outside of jit compiles at every call.
@functools.partial(jax.jit, static_argnames="record")
def _scan(
    device: "Device", state: Array, voltages: Array, dt: Array, key: Array | None, record: bool
) -> tuple[Array, Trajectory | None]:
    def pulse(state: Array, given: tuple[Array, Array | None]) -> tuple[Array, Trajectory | None]:
        v, key = given
        after = device.step(state, v, dt, key)
        if not record:
            return after, None
        return after, Trajectory(device.current(state, v), device.conductance(after), after)

    keys = None if key is None else jax.random.split(key, len(voltages))
    return lax.scan(pulse, state, (voltages, keys))


def unlist(value: Any) -> Any:
    """Lists and tuples as jax arrays; arrays and numbers as they are."""
    return jnp.asarray(value) if isinstance(value, list | tuple) else value
