"""What every device model shares."""

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .parameters import check_entries, check_order, check_shapes
from .simulate import Trajectory, simulate, unlist

# Exponents are held here, far above any device: e^60 is 1e26, and float32 ends at 3e38.
HIGHEST = 60.0


class Device(abc.ABC):
    """A memristor, or an array of them: the base of the models.

    A subclass is a frozen dataclass, registered as a pytree, and says how a state becomes a
    current and how a voltage changes it, of arguments that are arrays of one dtype already.
    Parameters, state and voltage broadcast against each other. float32 in gives float32 out, and
    Python numbers alone what they are elsewhere in jax. In float32, a step that changes the state
    by less than 6e-8 of it is lost.

    Attributes:
        set_polarity: sign of the voltage that lowers the resistance, +1 or -1.
        r_on: lowest resistance in ohm.
        r_off: highest resistance in ohm.
    """

    set_polarity: ClassVar[int]
    # (low, high, unit) of the parameters that must keep this order.
    ordered: ClassVar[tuple[tuple[str, str, str], ...]] = (("r_on", "r_off", "ohm"),)
    r_on: Any
    r_off: Any

    def conductance(self, state: ArrayLike) -> Array:
        """Conductance in siemens of a state."""
        device, x = _same_dtype(self, state)
        return device._conductance(x)

    def state_for(self, conductance: ArrayLike) -> Array:
        """State of a conductance in siemens: the inverse of `conductance`.

        What the device cannot hold becomes the nearest that it can: 1/r_off to 1/r_on.
        """
        device, g = _same_dtype(self, conductance)
        held = _hold(g, 1 / device.r_off, 1 / device.r_on)
        return _hold(device._state_for(held), *device._bounds())

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array of devices that the parameters make; () is one."""
        return np.broadcast_shapes(*map(np.shape, jax.tree.leaves(self)))

    def state_bounds(self, dtype: Any = None) -> tuple[Array, Array]:
        """(lowest, highest) state of each device, in the model's unit; dtype: default jax's."""
        like = jnp.zeros((), dtype or jnp.result_type(float))
        low, high = _same_dtype(self, like)[0]._bounds()
        return jnp.broadcast_to(low, self.shape), jnp.broadcast_to(high, self.shape)

    def current(self, state: ArrayLike, v: ArrayLike) -> Array:
        """Current in ampere at a voltage in volt; the state stays as it is."""
        device, x, u = _same_dtype(self, state, v)
        return device._current(x, u)

    def step(
        self, state: ArrayLike, v: ArrayLike, dt: ArrayLike, key: Array | None = None
    ) -> Array:
        """State after a voltage in volt was applied for a time in second.

        Args:
            state: in the model's unit, within its bounds.
            v: volt.
            dt: second, ≥ 0.
            key: of the noise of models that have some; None (default) is none. The other models
                take a key and do not use it, so that a loop may serve all.

        Raises:
            ValueError: dt is negative or not finite.
        """
        check_entries("dt", dt, "≥ 0", "s")
        device, x, u = _same_dtype(self, state, v)
        change = device._change(x, u, jnp.asarray(unlist(dt), x.dtype), key)
        return _hold(x + change, *device._bounds())

    def simulate(
        self,
        state: ArrayLike,
        voltages: ArrayLike,
        dt: ArrayLike,
        key: Array | None = None,
        record: bool = True,
    ) -> tuple[Array, Trajectory | None]:
        """State after a train of voltages, and what happened on the way; one `lax.scan`.

        Args:
            state: before the first step, broadcast to the devices.
            voltages: (T, ...) volt, each applied for dt; what follows the steps broadcasts
                against state and parameters.
            dt: second, ≥ 0; a number, or an array that broadcasts against the state.
            key: of the noise, split into one for each step; None (default) is none.
            record: whether to keep the trajectory: three numbers a step and device.

        Returns:
            The state after the last step, and the `Trajectory`, None unless record.

        Raises:
            ValueError: voltages or dt is not finite, dt is negative, voltages has no axis of
                steps, or shapes do not broadcast.
        """
        return simulate(self, state, voltages, dt, key, record)

    def settled(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """Parameters drawn at random, set right where they contradict each other: see `varied`.

        Of two that must keep an order, the higher is raised to the lower plus 1 % of their
        nominal distance.
        """
        for low, high, _ in self.ordered:
            if low in drawn or high in drawn:
                least = 0.01 * (jnp.asarray(getattr(self, high)) - getattr(self, low))
                below = drawn.get(low, getattr(self, low))
                above = drawn.get(high, getattr(self, high))
                drawn = {**drawn, high: jnp.maximum(above, below + least)}
        return drawn

    def _check(self) -> None:
        """Raises ValueError unless shapes meet and orders are kept."""
        check_shapes(self)
        for low, high, unit in self.ordered:
            check_order(self, low, high, unit)

    @abc.abstractmethod
    def _bounds(self) -> tuple[Any, Any]:
        """(lowest, highest) state."""

    @abc.abstractmethod
    def _conductance(self, state: Array) -> Array: ...

    @abc.abstractmethod
    def _state_for(self, conductance: Array) -> Array:
        """Of a conductance that the device can hold."""

    @abc.abstractmethod
    def _current(self, state: Array, v: Array) -> Array: ...

    @abc.abstractmethod
    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        """What is added to the state; 0, with finite derivatives, where it stays."""


def bounded_sinh(x: Array) -> Array:
    """sinh(x), held beyond |x| = 60."""
    return jnp.sinh(jnp.clip(x, -HIGHEST, HIGHEST))


def _hold(x: Array, low: Array, high: Array) -> Array:
    """x within bounds; unlike that of `jnp.clip`, its derivative in x at a bound is 1, not ½."""
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def _same_dtype(device: Any, *values: ArrayLike) -> tuple[Any, ...]:
    """The device and the values as arrays of the dtype of the values."""
    values = tuple(map(unlist, values))
    dtype = jnp.promote_types(jnp.result_type(*values, 1.0), jnp.float32)
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), (device, *values))
