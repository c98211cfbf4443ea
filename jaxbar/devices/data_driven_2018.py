"""The data-driven ReRAM model of 2018."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from .._pytree import register
from .common import HIGHEST
from .data_driven import SHARED, DataDriven

_BOUNDS = {
    **SHARED,
    "A_p": ("> 0", "ohm/s"),
    "A_n": ("< 0", "ohm/s"),
    "t_p": ("> 0", "1/V"),
    "t_n": ("> 0", "1/V"),
    "k_p": ("> 0", "1/ohm"),
    "k_n": ("> 0", "1/ohm"),
}


@register(*_BOUNDS, "r_p", "r_n")
@dataclasses.dataclass(frozen=True)
class DataDriven2018(DataDriven):
    """i = a·sinh(b·v)/R, and a resistance that goes to a limit r(v) exponentially.

    Messaris et al., IEEE Trans. Comput.-Aided Des. Integr. Circuits Syst. 37 (2018), with the
    paper's η = 1: a positive voltage raises the resistance. The state is R in ohm, and with
    s_p = A_p·(e^{t_p·v} − 1) and s_n = A_n·(e^{−t_n·v} − 1),

        dR/dt = s_p·(e^{k_p·(r_p(v) − R)} − 1) for v > 0 and R < r_p(v),
        dR/dt = s_n·(e^{k_n·(R − r_n(v))} − 1) for v < 0 and R > r_n(v),

    else 0. The limits are polynomials of the signed voltage. Within a step v is constant, and
    the step is the paper's closed form, the exact solution, for any dt:

        k·|R' − R| = ln(q + (1 − q)·e^{k·|r − R|}), q = e^{−k·|s|·dt},

    computed such that neither a small step is lost nor a large exponent overflows. `conductance`
    is 1/R, the model's own; the slope of the current at 0 V is a·b/R. sinh is held beyond
    |b·v| = 60, the exponents of s_p and s_n above 60.

    Args:
        r_on: lowest resistance in ohm, > 0.
        r_off: highest resistance in ohm, > r_on.
        A_p: rate in ohm/s of positive voltages, > 0.
        A_n: rate in ohm/s of negative voltages, < 0.
        t_p: steepness of the rate in 1/V, > 0.
        t_n: steepness of the rate in 1/V, > 0.
        k_p: steepness towards the limit in 1/ohm, > 0.
        k_n: steepness towards the limit in 1/ohm, > 0.
        a: of the current, > 0.
        b: of the current in 1/V, > 0.
        r_p: coefficients of the limit in ohm, ohm/V, ..., lowest power first.
        r_n: the same of negative voltages.
        a_n: a where v < 0; None (default) is a.
        b_n: b where v < 0; None (default) is b.

    Raises:
        ValueError: a parameter is not allowed.
    """

    set_polarity: ClassVar[int] = -1

    r_on: Any = 1280.0
    r_off: Any = 17e3
    A_p: Any = 743.47
    A_n: Any = -68012.28374
    t_p: Any = 6.51
    t_n: Any = 0.31645
    k_p: Any = 5.11e-4
    k_n: Any = 1.17e-3
    a: Any = 0.24
    b: Any = 3.0
    r_p: Any = (16719.0, 0.0)
    r_n: Any = (29304.82557, 23692.77225)
    a_n: Any = None
    b_n: Any = None

    def __post_init__(self) -> None:
        self._check_all(_BOUNDS)

    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        rises = v > 0
        k, t = (jnp.where(rises, p, n) for p, n in ((self.k_p, self.k_n), (self.t_p, self.t_n)))
        rate = jnp.where(rises, self.A_p, -self.A_n)
        rate = rate * jnp.expm1(jnp.minimum(t * jnp.abs(v), HIGHEST))
        gone = _relax(k * self._way(state, v, rises), k * rate * dt) / k
        return jnp.where(rises, gone, -gone)


def _relax(way: Array, time: Array) -> Array:
    """ln(q + (1 − q)·e^way), q = e^{−time}; way and time ≥ 0."""
    moves = (way > 0) & (time > jnp.finfo(time.dtype).tiny)
    way, time = jnp.where(moves, way, 1.0), jnp.where(moves, jnp.minimum(time, 80.0), 1.0)
    part = -jnp.expm1(-time)
    near = jnp.log1p(part * jnp.expm1(jnp.minimum(way, 20.0)))
    far = jnp.logaddexp(way + jnp.log(part), -time)
    return jnp.where(moves, jnp.where(way < 20, near, far), 0.0)
