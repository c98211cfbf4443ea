"""Windows: how a boundary of the state slows the motion towards it.

A window is a frozen pytree that is called with the normalised state x in [0, 1] and with whether
x rises, and gives a factor of dx/dt.
"""

import abc
import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from .._pytree import register
from .parameters import check_parameters


class Window(abc.ABC):
    """The base of windows."""

    @abc.abstractmethod
    def __call__(self, x: Array, rises: Array) -> Array:
        """Factor of dx/dt.

        Args:
            x: normalised state in [0, 1].
            rises: whether the voltage drives x upwards.
        """


@register("p")
@dataclasses.dataclass(frozen=True)
class Joglekar(Window):
    """f = 1 − (2x − 1)^{2p}, Joglekar & Wolf, Eur. J. Phys. 30 (2009).

    f(0) = f(1) = 0 exactly, as published: a device that starts at a bound stays there.

    Args:
        p: steepness, ≥ 1; an integer in the paper.

    Raises:
        ValueError: p is not finite and ≥ 1.
    """

    p: Any = 1.0

    def __post_init__(self) -> None:
        check_parameters(self, {"p": ("≥ 1", "")})

    def __call__(self, x: Array, rises: Array) -> Array:
        return 1 - jnp.square(2 * x - 1) ** self.p


@register("p")
@dataclasses.dataclass(frozen=True)
class Biolek(Window):
    """f = 1 − x^{2p} where x rises, 1 − (1 − x)^{2p} where it falls.

    Biolek, Biolek & Biolková, Radioengineering 18 (2009): 1 − (x − step(−i))^{2p}, with i > 0 for
    the current that raises x. 0 at the bound ahead and 1 at the one behind, which it leaves.

    Args:
        p: steepness, ≥ 1; an integer in the paper.

    Raises:
        ValueError: p is not finite and ≥ 1.
    """

    p: Any = 1.0

    def __post_init__(self) -> None:
        check_parameters(self, {"p": ("≥ 1", "")})

    def __call__(self, x: Array, rises: Array) -> Array:
        return 1 - jnp.square(jnp.where(rises, x, x - 1)) ** self.p


@register("p", "j")
@dataclasses.dataclass(frozen=True)
class Prodromakis(Window):
    """f = j·(1 − ((x − ½)² + ¾)^p), Prodromakis et al., IEEE Trans. Electron Devices 58 (2011).

    f(0) = f(1) = 0 exactly: a device that starts at a bound stays there.

    Args:
        p: steepness, > 0.
        j: scale, > 0.

    Raises:
        ValueError: p or j is not finite and > 0.
    """

    p: Any = 1.0
    j: Any = 1.0

    def __post_init__(self) -> None:
        check_parameters(self, {"p": ("> 0", ""), "j": ("> 0", "")})

    def __call__(self, x: Array, rises: Array) -> Array:
        return self.j * (1 - (jnp.square(x - 0.5) + 0.75) ** self.p)


def check_window(name: str, window: Any) -> None:
    """Raises ValueError unless it is a window or None."""
    if window is not None and not isinstance(window, Window):
        raise ValueError(
            f"{name} = {window!r}: must be Joglekar(), Biolek(), Prodromakis(), another Window, "
            "or None for no window"
        )
