"""The voltages across all cells while some cells of one word line are written."""

import jax.numpy as jnp
from jax import Array

from ..circuit import Bias, Solver, Wires, solve

# Unselected word lines are at this part of the voltage, unselected bit lines at 1 less it.
SHARES = {"V/2": 1 / 2, "V/3": 1 / 3}


def line_voltages(
    scheme: str, rows: int, row: Array, pulses: Array, selected: Array
) -> tuple[Array, Array]:
    """Word-line voltages (M,) and bit-line voltages (N,) in volt, as `Bias.write` for many cells.

    The selected word line is at the highest of the pulses, V, and the bit lines of the selected
    cells are at what V leaves of their pulses. All pulses have one polarity: with both, the
    cells of other rows would see more than half a pulse.

    Args:
        scheme: "V/2" or "V/3".
        rows: M.
        row: the selected word line, from 0.
        pulses: volt, (N,), of one sign where selected.
        selected: which cells of the row are written, bool (N,).
    """
    pulses = jnp.where(selected, pulses, 0.0)
    highest = pulses[jnp.argmax(jnp.abs(pulses))]
    share = SHARES[scheme]
    word = jnp.where(jnp.arange(rows) == row, highest, share * highest)
    return word, jnp.where(selected, highest - pulses, (1 - share) * highest)


def cell_voltages(
    word: Array, bit: Array, g: Array, wires: Wires | None, solver: Solver | None
) -> tuple[Array, Array]:
    """Volt across each cell (M, N) of conductances g in siemens, and whether the solve converged.

    wires: None for perfect lines.
    """
    if wires is None:
        return word[:, None] - bit, jnp.ones((), bool)
    found = solve(g, Bias(word, bit), wires, solver=solver)
    return found.cell_voltages, found.converged
