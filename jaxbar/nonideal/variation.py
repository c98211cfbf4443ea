"""Variability from device to device and from cycle to cycle."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import check_choice, concrete
from .._pytree import register
from .base import Kind, NonIdeality, check_leaf, hold, normal, positive

DISTRIBUTIONS = ("lognormal", "normal")
QUANTITIES = ("resistance", "conductance")
CENTERS = ("mean", "median")
SCALES = ("value", "range")
# A resistance drawn below this share of its nominal value is held there.
LEAST = 0.01


@dataclasses.dataclass(frozen=True, eq=False)
class Variation(NonIdeality):
    """A quantity X, resistance or conductance, around its nominal value; z is standard normal.

    - ``"lognormal"``: X·exp(σz − σ²/2) keeps the mean, whose standard deviation is then
      X·√(e^{σ²} − 1); with center ``"median"``, X·exp(σz) keeps the median.
    - ``"normal"``: X·(1 + σz), or with scale ``"range"`` X + σ·|X_on − X_off|·z. A conductance
      is held at ≥ 0, a resistance at ≥ 1 % of X: keep σ well below 1.

    With resistances a lognormal spread between its values at both ends is the model of Joksas
    et al., Advanced Science 9 (2022).

    Args:
        sigma: σ, ≥ 0, a number or an array that broadcasts to g; or a pair (at g_on, at g_off),
            interpolated linearly in X at the conductance aimed at.
        distribution: ``"lognormal"`` (default) or ``"normal"``.
        quantity: ``"resistance"`` (default) or ``"conductance"``.
        center: ``"mean"`` (default) or ``"median"``, of the lognormal one.
        scale: ``"value"`` (default) or ``"range"``, of the normal one.

    Raises:
        ValueError: a parameter is not allowed, or resistances range to infinity.
    """

    sigma: Any
    distribution: str = "lognormal"
    quantity: str = "resistance"
    center: str = "mean"
    scale: str = "value"

    def __post_init__(self) -> None:
        name = type(self).__name__
        if isinstance(self.sigma, list):
            object.__setattr__(self, "sigma", tuple(self.sigma))
        pair = self.sigma if isinstance(self.sigma, tuple) else (self.sigma,)
        if len(pair) > 2:
            raise ValueError(
                f"{name}.sigma = {self.sigma!r}: must be one number, or (at g_on, at g_off)"
            )
        for sigma in pair:
            check_leaf(f"{name}.sigma", sigma, "≥ 0")
        check_choice(f"{name}.distribution", self.distribution, DISTRIBUTIONS)
        check_choice(f"{name}.quantity", self.quantity, QUANTITIES)
        check_choice(f"{name}.center", self.center, CENTERS)
        check_choice(f"{name}.scale", self.scale, SCALES)
        if self.distribution == "lognormal" and self.scale == "range":
            raise ValueError(
                f'{name}.scale = "range": a lognormal spread is one of the value; choose "normal"'
            )

    def _check_range(self, g_range: tuple[Any, Any]) -> None:
        if self.scale == "range" and self.quantity == "resistance":
            low = concrete(g_range[0])
            if low is not None and np.any(low == 0):
                raise ValueError(
                    "g_range[0] = 0 S: a spread in shares of the range of resistances needs a "
                    "finite r_off, g_off > 0"
                )

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        sigma, z = self._sigma(target, g_off, g_on), normal(key, g)
        resistance = self.quantity == "resistance"
        if self.distribution == "lognormal":
            shift = 0.5 * sigma**2 if self.center == "mean" else 0.0
            power = sigma * z - shift
            return g * jnp.exp(-power if resistance else power)
        if not resistance:
            return positive(g + sigma * z * (g if self.scale == "value" else g_on - g_off))
        share = 1.0 if self.scale == "value" else g * (1 / g_off - 1 / g_on)
        return g / hold(1 + sigma * z * share, LEAST, jnp.inf)

    def _sigma(self, target: Array, g_off: Array, g_on: Array) -> Any:
        """σ of each cell."""
        if not isinstance(self.sigma, tuple):
            return self.sigma
        if len(self.sigma) == 1:
            return self.sigma[0]
        toward_off = (g_on - target) / (g_on - g_off)
        if self.quantity == "resistance":
            # (R − r_on)/(r_off − r_on), without infinite resistances; below g_off it is held.
            toward_off = toward_off * g_off / hold(target, jnp.maximum(g_off, 1e-6 * g_on), jnp.inf)
        at_on, at_off = self.sigma
        return at_on + (at_off - at_on) * hold(toward_off, 0.0, 1.0)


@register("sigma")
@dataclasses.dataclass(frozen=True, eq=False)
class DeviceVariation(Variation):
    kind: ClassVar[Kind] = Kind.DEVICE


@register("sigma")
@dataclasses.dataclass(frozen=True, eq=False)
class CycleVariation(Variation):
    kind: ClassVar[Kind] = Kind.CYCLE


DeviceVariation.__doc__ = f"""Device to device: drawn once for a chip, whose key it is.

    {Variation.__doc__}"""
CycleVariation.__doc__ = f"""Cycle to cycle: drawn anew for each writing of a chip, see `compose`.

    {Variation.__doc__}"""
