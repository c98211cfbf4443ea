"""Devices that differ: parameters drawn from distributions."""

import dataclasses
import zlib
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import check_choice
from .common import Device
from .parameters import check_entries, check_order


class Spread(Protocol):
    """A distribution around, or in place of, a nominal value."""

    def sample(self, key: Array, nominal: Array, shape: tuple[int, ...]) -> Array:
        """Values of a shape, of the dtype of the nominal value."""


@dataclasses.dataclass(frozen=True)
class Normal:
    """nominal + sigma·N(0, 1); sigma in the parameter's unit, ≥ 0."""

    sigma: Any

    def __post_init__(self) -> None:
        check_entries("Normal.sigma", self.sigma, "≥ 0", "the parameter's unit")

    def sample(self, key: Array, nominal: Array, shape: tuple[int, ...]) -> Array:
        return nominal + self.sigma * jax.random.normal(key, shape, nominal.dtype)


@dataclasses.dataclass(frozen=True)
class LogNormal:
    """nominal·exp(sigma·N(0, 1)): the nominal value is the median; sigma ≥ 0, of the logarithm."""

    sigma: Any

    def __post_init__(self) -> None:
        check_entries("LogNormal.sigma", self.sigma, "≥ 0", "")

    def sample(self, key: Array, nominal: Array, shape: tuple[int, ...]) -> Array:
        return nominal * jnp.exp(self.sigma * jax.random.normal(key, shape, nominal.dtype))


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Between low and high > low, in the parameter's unit, whatever the nominal value."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_entries(f"Uniform.{name}", getattr(self, name), "", "the parameter's unit")
        check_order(self, "low", "high", "the parameter's unit")

    def sample(self, key: Array, nominal: Array, shape: tuple[int, ...]) -> Array:
        share = jax.random.uniform(key, shape, nominal.dtype)
        return self.low + (self.high - self.low) * share


def varied[D: Device](
    device: D,
    key: Array,
    shape: tuple[int, ...],
    /,
    **spread: Spread | Sequence[Spread | None],
) -> D:
    """An array of devices whose parameters are drawn at random.

        varied(VTEAM(), key, (64, 64), r_on=LogNormal(0.1), v_off=Normal(2e-3))
        varied(DataDriven2021(), key, (64, 64), r_p=(Normal(10.0), None))

    The draw of a parameter depends on the key and on its name alone, not on what else varies.
    What is drawn is set right without drawing again, which keeps it jittable:

    - a value keeps the sign of its nominal one, and at least 1 % of its magnitude (coefficients
      may have any sign);
    - r_off is raised to r_on plus 1 % of their nominal distance where it is lower; so is w_off of
      VTEAM. StanfordPKU's r_on is raised to 1 % above the resistance of no gap.

    Tails are thus piled up at these bounds: keep spreads narrower than the distance to them.

    Args:
        device: whose parameters are the nominal values.
        key: same key, same devices.
        shape: of the array of devices.
        **spread: parameter to distribution: Normal, LogNormal, Uniform, or another object with
            their `sample`. For coefficients, such as r_p, one for each, or None to keep it.

    Returns:
        The same model with arrays of the shape for the named parameters, and for r_off with r_on.

    Raises:
        ValueError: a name is not a parameter of the device that is a number or coefficients, or
            the drawn devices are not allowed in another way.
    """
    drawn: dict[str, Any] = {}
    for name, given in spread.items():
        check_choice("varied", name, _numbers(device))
        nominal = getattr(device, name)
        # crc32, unlike hash, is the same in every process.
        own = jax.random.fold_in(key, zlib.crc32(name.encode()))
        if not isinstance(nominal, tuple):
            drawn[name] = _keep_sign(_draw(own, given, nominal, shape), nominal)
            continue
        if not isinstance(given, Sequence) or len(given) != len(nominal):
            raise ValueError(
                f"{name} = {given!r}: must be {len(nominal)} distributions, one for each "
                "coefficient, None for those to keep"
            )
        drawn[name] = tuple(
            x if s is None else _draw(jax.random.fold_in(own, i), s, x, shape)
            for i, (s, x) in enumerate(zip(given, nominal, strict=True))
        )
    return dataclasses.replace(device, **device.settled(drawn))  # type: ignore[type-var]


def _draw(key: Array, distribution: Any, nominal: Any, shape: tuple[int, ...]) -> Array:
    """Values of a distribution, in the float dtype of the nominal one."""
    nominal = jnp.asarray(nominal)
    nominal = nominal.astype(jnp.promote_types(nominal.dtype, jnp.float32))
    return distribution.sample(key, nominal, tuple(shape))


def _keep_sign(value: Array, nominal: Any) -> Array:
    """The value, no closer to 0 than 1 % of the nominal one and on its side; any if that is 0."""
    least = 0.01 * jnp.asarray(nominal, value.dtype)
    value = jnp.where(least > 0, jnp.maximum(value, least), value)
    return jnp.where(least < 0, jnp.minimum(value, least), value)


def _numbers(device: Device) -> list[str]:
    """Names of the parameters that are numbers, arrays of them, or coefficients."""
    fields = {f.name: getattr(device, f.name) for f in dataclasses.fields(device)}  # type: ignore[arg-type]
    kinds = (jax.Array, np.ndarray, np.number, float, tuple)
    return [name for name, value in fields.items() if isinstance(value, kinds)]
