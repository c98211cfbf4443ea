"""Cells of any law in their network: which method takes them."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from . import gated, newton
from .cells import Ohmic
from .linear import Stats
from .solver import Solver
from .wires import Wires


def is_ohmic(cell: Any) -> bool:
    """Whether the tile is linear in its drives."""
    return isinstance(cell, Ohmic)


def needs_bit_voltage(cell: Any) -> bool:
    """Whether the law is ``current(g, voltage, bit_voltage)``."""
    return bool(getattr(cell, "needs_bit_voltage", False))


def check_cell(cell: Any) -> None:
    """Raises ValueError unless it is a cell law."""
    name = type(cell).__name__
    if isinstance(cell, type) or not callable(getattr(cell, "current", None)):
        raise ValueError(
            f"cell = {cell!r}: a cell law has a method current(g, voltage), such as jaxbar.Ohmic()"
        )
    if jax.tree.leaves(cell) == [cell]:
        raise ValueError(
            f"cell = {name}: a cell law must be a pytree of its parameters; decorate it with "
            "jax.tree_util.register_dataclass and dataclasses.dataclass(frozen=True)"
        )


def check_method(solver: Solver, what: str) -> None:
    """Raises ValueError unless the method takes what only Newton's method solves."""
    if solver.method not in ("auto", "cg"):
        raise ValueError(
            f"Solver.method = {solver.method!r} with {what}: each step of Newton's method is "
            "solved iteratively; use 'auto' or 'cg'"
        )


def cell_currents(
    solver: Solver, cell: Any, g: Array, v: Array, v_bit: Array, wires: Wires
) -> tuple[Array, Stats]:
    """The current through each cell (B, M, N) in ampere, and its quality.

    Args:
        solver: tolerance and bounds.
        cell: the law.
        g: conductances (M, N), or (B, M, N) for each input its own, in siemens.
        v, v_bit: drives (B, M) and (B, N) of the word and the bit lines, in volt.
        wires: line resistances.
    """
    if needs_bit_voltage(cell):
        return gated.currents(solver, cell, g, v, v_bit, wires)
    drive = v[:, :, None] - v_bit[:, None, :]
    (u, _), stats = newton.voltages(solver, cell, g, drive, wires)
    return cell.current(g, u), stats


def without_wires(cell: Any, g: Array, v: Array, v_bit: Array) -> Array:
    """The same where the lines are perfect: the law at what the drivers apply."""
    drive = v[:, :, None] - v_bit[:, None, :]
    if needs_bit_voltage(cell):
        bit = jnp.broadcast_to(v_bit[:, None, :], drive.shape)
        return cell.current(g, drive, bit)
    return cell.current(g, drive)
