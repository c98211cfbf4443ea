"""What every non-ideality shares."""

import abc
import enum
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from .._check import check_number, concrete, real_dtype


class Kind(enum.IntEnum):
    """The kinds, in the order in which `compose` applies them.

    The number of a kind is folded into the key of its draws: they are the same whatever other
    kinds are present. It must therefore never change; the gaps are for new ones.
    """

    FINITE_STATES = 10
    PROGRAMMING = 20
    DEVICE = 30
    CYCLE = 40
    ENDURANCE = 50
    RETENTION = 60
    FAULTS = 70
    READ = 80


class NonIdeality(abc.ABC):
    """Something that keeps a conductance from being what it should be.

    A subclass is a frozen dataclass, registered as a pytree: what is physical is a leaf, to
    trace, sweep or differentiate.

    Attributes:
        kind: when it happens, see `Kind`.
        random: whether it draws, and so needs a key.
    """

    kind: ClassVar[Kind]

    @property
    def random(self) -> bool:
        return True

    def apply(
        self,
        g: ArrayLike,
        key: Array | None = None,
        *,
        used: ArrayLike | None = None,
        g_range: tuple[Any, Any],
        target: ArrayLike | None = None,
    ) -> Array:
        """The conductances that become of g.

        Args:
            g: siemens, ≥ 0, tiles (..., M, N).
            key: of the draws: same key, same bits. Needed where `random`.
            used: bool, broadcast to g; where False, g is padding and returned as it is. None
                (default): all cells are used.
            g_range: (g_off, g_on) of the device in siemens, 0 ≤ g_off < g_on.
            target: the conductances that were aimed at, which spreads and exponents depend on;
                None (default): g.

        Returns:
            Siemens, ≥ 0, shape of g; float64 if g is, else float32.

        Raises:
            ValueError: an argument is not allowed.
        """
        g, used, target = checked(g, used, target)
        check_range(g_range)
        self._check_range(g_range)
        if self.random and key is None:
            raise ValueError(f"key = None: {type(self).__name__} draws at random and needs a key")
        low, high = (jnp.asarray(x, g.dtype) for x in g_range)
        own = jax.tree.map(lambda x: jnp.asarray(x, g.dtype), self)
        return jnp.where(used, own._change(g, target, key, used, low, high), g)

    def at_time(self, time: ArrayLike) -> Self:
        """The same at a time in second, ≥ 0; what does not depend on time is unchanged."""
        return self

    def _check_range(self, g_range: tuple[Any, Any]) -> None:  # noqa: B027
        """Raises ValueError where the model does not hold for these conductances."""

    @abc.abstractmethod
    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        """The new conductances, of arrays of one shape and dtype; those of padding are dropped."""


def checked(
    g: ArrayLike, used: ArrayLike | None, target: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """g, used and target as arrays of one shape; raises ValueError."""
    check_number("g", g, lambda x: (x >= 0) & np.isfinite(x), "must be finite and ≥ 0, in siemens")
    siemens = jnp.asarray(g, real_dtype(g))
    if siemens.ndim < 2:
        raise ValueError(f"g has shape {siemens.shape}: must be tiles (..., M, N)")
    mask = jnp.asarray(True if used is None else used)
    if mask.dtype != bool:
        raise ValueError(
            f"used has dtype {mask.dtype}: must be bool, False where a cell is padding"
        )
    aim = siemens if target is None else jnp.asarray(target, siemens.dtype)
    for name, value in (("used", mask), ("target", aim)):
        check_shape(name, value.shape, siemens.shape)
    return siemens, jnp.broadcast_to(mask, siemens.shape), jnp.broadcast_to(aim, siemens.shape)


def check_shape(name: str, shape: tuple[int, ...], whole: tuple[int, ...]) -> None:
    """Raises ValueError unless the shape broadcasts to the whole."""
    try:
        fits = np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} has shape {shape}: must broadcast to that of g, {whole}")


def check_range(g_range: Any) -> None:
    """Raises ValueError unless g_range is (g_off, g_on), 0 ≤ g_off < g_on < inf."""
    try:
        low, high = g_range
    except (TypeError, ValueError):
        raise ValueError(f"g_range = {g_range!r}: must be (g_off, g_on) in siemens") from None
    check_number("g_range[0]", low, lambda x: (x >= 0) & np.isfinite(x), "g_off must be ≥ 0")
    check_number("g_range[1]", high, lambda x: (x > 0) & np.isfinite(x), "g_on must be > 0")
    off, on = concrete(low), concrete(high)
    if off is not None and on is not None and np.any(off >= on):
        with np.errstate(divide="ignore"):
            r_on, r_off = np.round([1 / np.asarray(on, float), 1 / np.asarray(off, float)], 3)
        raise ValueError(
            f"g_range = ({off}, {on}) S is r_on = {r_on} ohm and r_off = {r_off} ohm: must have "
            "r_on < r_off, g_off < g_on"
        )


def check_leaf(name: str, value: Any, bound: str, unit: str = "") -> None:
    """Raises ValueError unless a parameter is finite and "> 0", "≥ 0" or (bound "") anything."""
    ok = {"> 0": lambda x: x > 0, "≥ 0": lambda x: x >= 0, "": lambda x: x == x}[bound]
    text = " and ".join(filter(None, ("must be finite", bound))) + (f", in {unit}" if unit else "")
    check_number(name, value, lambda x: ok(x) & np.isfinite(x), text)


def check_known(name: str, value: Any) -> None:
    """Raises ValueError while the value is traced: what is looked up must be known."""
    if isinstance(value, jax.core.Tracer):
        raise ValueError(
            f"{name} is traced: must be a number, for it selects a measurement; set it outside "
            "jit and vmap"
        )


def hold(x: Array, low: Any, high: Any) -> Array:
    """x within bounds; unlike that of `jnp.clip`, its derivative at a bound is 1, not ½."""
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def positive(x: Array) -> Array:
    """x, and 0 where it is negative: no device has a negative conductance."""
    return jnp.where(x < 0, 0.0, x)


def normal(key: Array, like: Array) -> Array:
    """One draw of the standard normal distribution for each cell."""
    return jax.random.normal(key, like.shape, like.dtype)


def polynomial(coefficients: Any, x: Array) -> Array:
    """Σ c_k x^k, lowest power first."""
    value = jnp.zeros_like(x)
    for c in reversed(coefficients):
        value = value * x + c
    return value
