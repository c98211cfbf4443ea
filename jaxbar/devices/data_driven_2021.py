"""The data-driven ReRAM model of 2021."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from .._pytree import register
from .data_driven import SHARED, DataDriven

_BOUNDS = {
    **SHARED,
    "A_p": ("> 0", "1/(ohm·s)"),
    "A_n": ("< 0", "1/(ohm·s)"),
    "t_p": ("< 0", "V"),
    "t_n": ("< 0", "V"),
}


@register(*_BOUNDS, "r_p", "r_n")
@dataclasses.dataclass(frozen=True)
class DataDriven2021(DataDriven):
    """i = a·sinh(b·v)/R, and a resistance that goes to a limit r(v) with the distance's square.

    Yang et al., 2021 (arXiv:2012.02267); the defaults are those of MemTorch, from experiments. A
    positive voltage lowers the resistance. The state is R in ohm, and with s = A·(e^{|v|/t} − 1),
    t < 0, of each polarity,

        dR/dt = s_p·(r_p(v) − R)² for v > 0 and R > r_p(v),
        dR/dt = s_n·(R − r_n(v))² for v < 0 and R < r_n(v),

    else 0: s_p < 0 and s_n > 0. The limits are r(v) = r_0 + r_1·v, of the signed voltage. Within
    a step v is constant, and the step is the paper's closed form, the exact solution, for any dt:

        R' = (R + s·r·(r − R)·dt)/(1 + s·(r − R)·dt), here as R' − R = (r − R)·z/(1 + z),

    z = s·(r − R)·dt ≥ 0. Whether the limit is passed is asked of R; the paper asks R', which is
    the same wherever the closed form holds. `conductance` is 1/R, the model's own; the slope of
    the current at 0 V is a·b/R. sinh is held beyond |b·v| = 60.

    Args:
        r_on: lowest resistance in ohm, > 0.
        r_off: highest resistance in ohm, > r_on.
        A_p: rate in 1/(ohm·s) of positive voltages, > 0.
        A_n: rate in 1/(ohm·s) of negative voltages, < 0.
        t_p: voltage of the rate in volt, < 0.
        t_n: voltage of the rate in volt, < 0.
        a: of the current, > 0.
        b: of the current in 1/V, > 0.
        r_p: coefficients of the limit in ohm and ohm/V, lowest power first; more are allowed.
        r_n: the same of negative voltages.
        a_n: a where v < 0; None (default) is a.
        b_n: b where v < 0; None (default) is b.

    Raises:
        ValueError: a parameter is not allowed.
    """

    set_polarity: ClassVar[int] = 1

    r_on: Any = 1600.0
    r_off: Any = 3000.0
    A_p: Any = 600.10075
    A_n: Any = -34.5988399
    t_p: Any = -0.0212028
    t_n: Any = -0.05343997
    a: Any = 0.32046175
    b: Any = 2.71689828
    r_p: Any = (2699.2336, -672.930205)
    r_n: Any = (649.413746, -1474.32358)
    a_n: Any = None
    b_n: Any = None

    def __post_init__(self) -> None:
        self._check_all(_BOUNDS)

    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        falls = v > 0
        way = self._way(state, v, ~falls)
        # |s| = |A|·(1 − e^{|v|/t}), never above |A|.
        part = -jnp.expm1(jnp.abs(v) / jnp.where(falls, self.t_p, self.t_n))
        z = jnp.where(falls, self.A_p, -self.A_n) * part * way * dt
        # Held where z/(1 + z) is 1 long since, and finite in float32.
        z = jnp.minimum(z, 1e30)
        gone = way * (z / (1 + z))
        return jnp.where(falls, -gone, gone)
