"""The Stanford–PKU model of bipolar metal-oxide RRAM."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import concrete
from .._pytree import register
from .common import Device, bounded_sinh
from .parameters import check_parameters

_BOLTZMANN = 8.617333262e-5  # eV/K

_BOUNDS = {
    "r_on": ("> 0", "ohm"),
    "r_off": ("> 0", "ohm"),
    "g_0": ("> 0", "m"),
    "v_0": ("> 0", "V"),
    "i_0": ("> 0", "A"),
    "v_r": ("> 0", "V"),
    "t_init": ("> 0", "K"),
    "r_th": ("≥ 0", "K/W"),
    "gamma_init": ("> 0", ""),
    "beta": ("≥ 0", ""),
    "t_ox": ("> 0", "m"),
    "f_min": ("≥ 0", "V/m"),
    "vel_0": ("> 0", "m/s"),
    "e_a": ("≥ 0", "eV"),
    "a_0": ("> 0", "m"),
    "delta_g": ("≥ 0", "m/s"),
    "t_crit": ("> 0", "K"),
    "t_smth": ("> 0", "K"),
}


@register(*_BOUNDS)
@dataclasses.dataclass(frozen=True)
class StanfordPKU(Device):
    """i = i_0·exp(−gap/g_0)·sinh(v/v_0), and a gap that grows and closes; forward Euler.

    Jiang et al., IEEE Trans. Electron Devices 63 (2016); the equations and defaults were checked
    against those of the authors' Verilog-A, version 1.0.0. The state is the gap in metre between
    the filament and the electrode:

        dgap/dt = −vel_0·exp(−e_a/kT)·sinh(γ·a_0·v/(t_ox·kT)) + δ(T)·N(0, 1),
        T = t_init + |v·i|·r_th,   γ = gamma_init − beta·(gap/1 nm)³,
        δ(T) = delta_g/(1 + exp((t_crit − T)/t_smth)),

    kT in eV and in volt. Where the field γ|v|/t_ox is below f_min, the first term is 0. The noise
    needs a key. As published it also acts at 0 V, and its steps are proportional to dt, so that
    their sum depends on dt: meant for steps of about 1 ns, it needs a delta_g for others.

    The bounds of the gap are those at which the resistance at the read voltage v_r is r_on and
    r_off, gap = g_0·ln(i_0·sinh(v_r/v_0)·R/v_r), and `conductance` is i/v at v_r. A positive
    voltage lowers the resistance. sinh is held beyond |v| = 60·v_0.

    Args:
        r_on: lowest resistance in ohm, at v_r; at least v_r/(i_0·sinh(v_r/v_0)), 243 ohm by
            default, which is that of no gap.
        r_off: highest resistance in ohm, at v_r, > r_on.
        g_0: decay length of the current with the gap in metre, > 0.
        v_0: scale of the voltage in volt, > 0.
        i_0: scale of the current in ampere, > 0.
        v_r: read voltage in volt, > 0.
        t_init: temperature of the device at rest in kelvin, > 0.
        r_th: thermal resistance in K/W, ≥ 0.
        gamma_init: field enhancement without a gap, > 0.
        beta: its loss with the gap, ≥ 0.
        t_ox: thickness of the oxide in metre, > 0.
        f_min: smallest enhanced field that moves the gap in V/m, ≥ 0.
        vel_0: speed in m/s, > 0.
        e_a: activation energy in eV, ≥ 0.
        a_0: distance of atoms in metre, > 0.
        delta_g: noise in m/s, ≥ 0.
        t_crit: temperature in kelvin above which the noise grows, > 0.
        t_smth: in kelvin, how gradually, > 0.

    Raises:
        ValueError: a parameter is not allowed.
    """

    set_polarity: ClassVar[int] = 1

    r_on: Any = 542.0
    r_off: Any = 218586.0
    g_0: Any = 0.25e-9
    v_0: Any = 0.25
    i_0: Any = 1e-3
    v_r: Any = 0.1
    t_init: Any = 298.0
    r_th: Any = 2.1e3
    gamma_init: Any = 16.0
    beta: Any = 0.8
    t_ox: Any = 12e-9
    f_min: Any = 1.4e9
    vel_0: Any = 10.0
    e_a: Any = 0.6
    a_0: Any = 0.25e-9
    delta_g: Any = 0.02
    t_crit: Any = 450.0
    t_smth: Any = 500.0

    def __post_init__(self) -> None:
        check_parameters(self, _BOUNDS)
        self._check()
        r_on, *others = (concrete(x) for x in (self.r_on, self.v_r, self.i_0, self.v_0))
        if r_on is None or any(x is None for x in others):
            return
        v_r, i_0, v_0 = others
        closed = _closed(v_r, i_0, v_0, np.sinh)
        if np.any(r_on < closed):
            raise ValueError(
                f"StanfordPKU.r_on = {self.r_on}: must be at least v_r/(i_0·sinh(v_r/v_0)) = "
                f"{np.max(closed):.6g} ohm, the resistance of no gap; raise r_on or i_0"
            )

    def settled(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """As `Device.settled`; r_on is raised to 1 % above the resistance of no gap."""
        if drawn.keys() & {"r_on", "v_r", "i_0", "v_0"}:
            names = ("r_on", "v_r", "i_0", "v_0")
            r_on, v_r, i_0, v_0 = (drawn.get(name, getattr(self, name)) for name in names)
            drawn = {**drawn, "r_on": jnp.maximum(r_on, 1.01 * _closed(v_r, i_0, v_0, jnp.sinh))}
        return super().settled(drawn)

    def _bounds(self) -> tuple[Any, Any]:
        return self._gap(self.r_on), self._gap(self.r_off)

    def _gap(self, resistance: Array) -> Array:
        """Gap of a resistance at the read voltage."""
        return self.g_0 * jnp.log(self.i_0 * jnp.sinh(self.v_r / self.v_0) * resistance / self.v_r)

    def _conductance(self, state: Array) -> Array:
        return self._current(state, self.v_r) / self.v_r

    def _state_for(self, conductance: Array) -> Array:
        return self._gap(1 / conductance)

    def _current(self, state: Array, v: Array) -> Array:
        return self.i_0 * jnp.exp(-state / self.g_0) * bounded_sinh(v / self.v_0)

    def _change(self, state: Array, v: Array, dt: Array, key: Array | None) -> Array:
        temperature = self.t_init + jnp.abs(v * self._current(state, v)) * self.r_th
        thermal = _BOLTZMANN * temperature
        gamma = self.gamma_init - self.beta * (state * 1e9) ** 3
        moves = gamma * jnp.abs(v) / self.t_ox >= self.f_min
        force = jnp.where(moves, gamma * self.a_0 / self.t_ox * v / thermal, 0.0)
        # exp(−e_a/kT)·sinh(force), the exponents added before anything overflows.
        beyond = jnp.maximum(jnp.abs(force) - 30, 0.0) - self.e_a / thermal
        speed = self.vel_0 * jnp.sinh(jnp.clip(force, -30, 30)) * jnp.exp(jnp.minimum(beyond, 50))
        change = -speed * dt
        if key is None:
            return change
        noise = jax.random.normal(key, change.shape, change.dtype)
        share = jax.nn.sigmoid((temperature - self.t_crit) / self.t_smth)
        return change + self.delta_g * share * noise * dt


def _closed(v_r: Any, i_0: Any, v_0: Any, sinh: Any) -> Any:
    """Resistance at the read voltage without a gap."""
    return v_r / (i_0 * sinh(v_r / v_0))
