"""A cubic polynomial of the voltage, whose shape may depend on the conductance."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from ..._check import concrete
from ..._pytree import register
from .common import as_tuple, check_finite, check_positive, checked_range, same_dtype


@register("a2", "a3", "limit")
@dataclasses.dataclass(frozen=True)
class Polynomial:
    """I = g·U + A₂(g)·U² + A₃(g)·U³ for |U| ≤ limit, a straight line with its end's slope beyond.

    A₂ and A₃ come from a2 and a3, each given as

    - a number: A₂ = a2·g, A₃ = a3·g; a2 in 1/V, a3 in 1/V², one shape for all conductances;
    - a tuple, list or vector of coefficients, highest power first, as of `numpy.polyfit`: A₂ in
      A/V² and A₃ in A/V³ are polynomials in log10(g/reference) within g_range. Outside g_range
      the shape, A₂/g and A₃/g, stays that of its end, so that an open cell (g = 0) carries
      nothing and the current rises with the voltage for every g.

    The voltage keeps its sign: with A₂ ≠ 0 the law is not odd, the cell conducts better one way
    round than the other, as a measured sweep through both polarities does. For an odd law give
    a2 = 0. The second derivative jumps at ±limit.

    Args:
        a2: of the square, see above.
        a3: of the cube, see above.
        limit: largest voltage of the polynomial in volt, > 0; default 0.5.
        g_range: (lowest, highest) conductance in siemens of the fit; needed by coefficients.
        reference: conductance in siemens that the logarithm refers to; default 1, which is
            log10 of g in siemens. One inside g_range keeps float32 from cancelling.

    Raises:
        ValueError: a parameter is not allowed, or the current would fall somewhere in ±limit.
    """

    a2: Any
    a3: Any
    limit: Any = 0.5
    g_range: tuple[float, float] | None = None
    reference: float = 1.0

    def __post_init__(self) -> None:
        for name, unit in (("a2", "1/V"), ("a3", "1/V²")):
            value = as_tuple(getattr(self, name))
            object.__setattr__(self, name, value)
            if not isinstance(value, tuple):
                check_finite(f"Polynomial.{name}", value, unit)
                continue
            if not value:
                raise ValueError(f"Polynomial.{name} = (): must hold at least one coefficient")
            for i, coefficient in enumerate(value):
                check_finite(f"Polynomial.{name}[{i}]", coefficient, "")
        check_positive("Polynomial.limit", self.limit, "V")
        check_positive("Polynomial.reference", self.reference, "S")
        if self.g_range is not None or isinstance(self.a2, tuple) or isinstance(self.a3, tuple):
            g_range = checked_range("Polynomial.g_range", self.g_range)
            object.__setattr__(self, "g_range", g_range)
        self._check_rising()

    @classmethod
    def milo(cls) -> "Polynomial":
        """HfO₂ RRAM of Milo et al., IRPS 2021 (their Fig. 1), 50–225 µS, |U| ≤ 0.5 V.

        The coefficients are CrossSim's fit to the measured curves of 62.5 to 110 µS between
        ±0.5 V, made linear at 225 µS, with log10 of g in siemens; expanded here around 100 µS,
        where they do not cancel.
        """
        square = np.polynomial.Polynomial([7.063e-3, 5.711e-3, 1.541e-3, 1.388e-4])
        cube = np.polynomial.Polynomial([1.2968e-3, 6.7919e-4, 8.871e-5])
        shift = np.polynomial.Polynomial([-4.0, 1.0])  # log10 of g/S is log10 of g/(100 µS) − 4
        a2, a3 = (p(shift).coef[::-1] for p in (square, cube))
        return cls(a2, a3, limit=0.5, g_range=(50e-6, 225e-6), reference=1e-4)

    def current(self, g: ArrayLike, voltage: ArrayLike) -> Array:
        """Current in ampere, for g in siemens and the voltage across the cell in volt."""
        siemens, u, a2, a3, limit = same_dtype(g, voltage, self.a2, self.a3, self.limit)
        held = siemens if self.g_range is None else jnp.clip(siemens, *self.g_range)
        square, cube = self._shape(a2, held, jnp), self._shape(a3, held, jnp)
        inside = jnp.clip(u, -limit, limit)
        polynomial = inside * (1 + inside * (square + inside * cube))
        slope = 1 + inside * (2 * square + 3 * inside * cube)
        return siemens * (polynomial + slope * (u - inside))

    def _shape(self, a: Any, held: Any, numpy: Any) -> Any:
        """A/g, of a conductance within g_range."""
        if not isinstance(a, tuple):
            return a
        log, value = numpy.log10(held / self.reference), 0.0
        for coefficient in a:
            value = value * log + coefficient
        return value / held

    def _check_rising(self) -> None:
        """Raises ValueError where dI/dU ≤ 0 within ±limit; traced parameters pass."""
        leaves, tree = jax.tree.flatten((self.a2, self.a3, self.limit))
        known = [concrete(x) for x in leaves]
        if any(x is None for x in known):
            return
        # A column of conductances against the laws of a stack.
        a2, a3, limit = jax.tree.unflatten(tree, [np.ravel(x) for x in known if x is not None])
        low, high = self.g_range or (1.0, 1.0)
        held = np.geomspace(low, high, 65)[:, None]
        square, cube = self._shape(a2, held, np), self._shape(a3, held, np)
        square, cube, limit, held = np.broadcast_arrays(square, cube, limit, held)
        lowest = np.clip(-square / np.where(cube > 0, 3 * cube, 1.0), -limit, limit)
        for u in (-limit, limit, lowest):
            slope = 1 + u * (2 * square + 3 * u * cube)
            if np.any(slope <= 0):
                i = np.unravel_index(np.argmin(slope), slope.shape)
                where = "" if self.g_range is None else f" and g = {held[i]:.3g} S"
                raise ValueError(
                    f"Polynomial.limit = {limit[i]} V: the current would fall with the voltage at "
                    f"U = {u[i]:.3g} V{where}; lower the limit, or a2 and a3"
                )
