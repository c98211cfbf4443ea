"""What solving one tile has found."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .linear import Stats
from .operator import bit_drop, word_drop


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Solution:
    """One tile solved for one input, or for B of them.

    Attributes:
        currents: out of each bit line into its sense node, (N,) or (B, N), ampere.
        device_currents: through each cell, from word line to bit line, (M, N) or (B, M, N), A.
        word_voltages: of the word-line node at each cell, (M, N) or (B, M, N), volt.
        bit_voltages: of the bit-line node at each cell, (M, N) or (B, M, N), volt.
        wire_power: what the lines dissipate, () or (B,), watt.
        error_bound: |error of currents| ≤ this, certified for ohmic cells and to first order in
            the residual for others; an estimate where a current depends on the potential of the
            bit line, as of `Transistor`; (N,) or (B, N), A.
        converged: the residual meets the tolerance or the rounding floor, () or (B,), bool.
        iterations: conjugate-gradient iterations (0 for direct and dense), or Newton steps where
            the cells are not ohmic, () or (B,), int32.
        residual: ‖residual‖ / ‖s∘drive‖ of the symmetric system, () or (B,).
    """

    currents: Array
    device_currents: Array
    word_voltages: Array
    bit_voltages: Array
    wire_power: Array
    error_bound: Array
    converged: Array
    iterations: Array
    residual: Array

    @property
    def cell_voltages(self) -> Array:
        """The voltage across each cell, word line less bit line, (M, N) or (B, M, N), V."""
        return self.word_voltages - self.bit_voltages

    @property
    def cell_power(self) -> Array:
        """What all cells dissipate, () or (B,), W; the energy of a read is power times its time."""
        return jnp.sum(self.cell_voltages * self.device_currents, (-2, -1))

    @property
    def power(self) -> Array:
        """What the drivers deliver, Σ v·i over both ends of all lines, () or (B,), W."""
        return self.cell_power + self.wire_power


def solution(
    current: Array, word: Array, bit: Array, wires: Any, stats: Stats, slope: Array
) -> Solution:
    """What follows from the currents through the cells.

    Args:
        current: (B, M, N) in ampere.
        word, bit: what the drivers apply to the two lines of each cell, such as (B, M, 1) and
            (B, 1, N), in volt.
        wires: line resistances.
        stats: how well solved.
        slope: differential conductances (M, N) or (B, M, N) in siemens.
    """
    stats, slope = jax.lax.stop_gradient((stats, slope))
    # |Δ I_j| = |Σ_i s_ij Δx_ij| ≤ √(Σ_i s_ij²)·‖Δx‖, s² the slope, and ‖Δx‖ ≤ ‖residual‖; where
    # cells are not ohmic, to first order in the residual.
    bound = stats.residual[:, None] * jnp.sqrt(jnp.sum(slope, axis=-2))
    along_word, along_bit = word_drop(current, wires), bit_drop(current, wires)
    return Solution(
        currents=jnp.sum(current, axis=1),
        device_currents=current,
        word_voltages=word - along_word,
        bit_voltages=bit + along_bit,
        wire_power=jnp.sum((along_word + along_bit) * current, (-2, -1)),
        error_bound=bound,
        converged=stats.converged,
        iterations=stats.iterations,
        residual=stats.relative,
    )
