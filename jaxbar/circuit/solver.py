"""How a tile is solved: the method, its limits, and the rule that chooses one."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import Array
from jax.custom_batching import custom_vmap

from .._check import check_choice
from .wires import Wires

METHODS = ("auto", "cg", "cg_library", "direct", "dense")


@dataclasses.dataclass(frozen=True)
class Solver:
    """The method for the linear system of a tile and when it stops.

    Args:
        method: ``"cg"``, conjugate gradients without any matrix; ``"cg_library"``, the same
            with the loop of `jax.scipy.sparse.linalg` (does not count iterations: −1);
            ``"direct"``, column elimination by dense M×M inverses, for harsh tiles with many
            inputs; ``"dense"``, LU of the nodal matrix, the oracle for small tiles, needs all
            resistances > 0; ``"auto"`` (default), the faster of cg and direct, see `use_direct`.
        tolerance: bound on ‖residual‖ / ‖s∘drive‖ of the symmetric system
            (Id + s∘R(s∘·)) x = s∘drive, s = √g. None (default): 1e-7 in float32, 1e-12 in
            float64, both just above what rounding allows.
        max_iterations: bound on the conjugate-gradient iterations of one input.

    Raises:
        ValueError: an argument is out of range; the message names it.
    """

    method: str = "auto"
    tolerance: float | None = None
    max_iterations: int = 10_000

    def __post_init__(self) -> None:
        check_choice("Solver.method", self.method, METHODS)
        if self.tolerance is not None and not 0.0 < self.tolerance < 1.0:
            raise ValueError(
                f"Solver.tolerance = {self.tolerance}: must lie between 0 and 1, or be None for "
                "1e-7 in float32 and 1e-12 in float64"
            )
        if not (isinstance(self.max_iterations, int) and self.max_iterations >= 1):
            raise ValueError(f"Solver.max_iterations = {self.max_iterations}: must be an int ≥ 1")

    def tolerance_for(self, dtype: jnp.dtype) -> float:
        """The tolerance in force for arrays of this dtype."""
        if self.tolerance is not None:
            return self.tolerance
        return 1e-7 if jnp.finfo(dtype).bits == 32 else 1e-12


@custom_vmap
def _largest(x: Array) -> Array:
    """The largest entry; under `jax.vmap` still one number, the largest of the batch.

    A choice made from it stays one choice, so the branch not taken is not computed.
    """
    return jnp.max(x)


@_largest.def_vmap
def _(axis_size, in_batched, x):
    return _largest(x), False


def drop_estimate(g: Array, wires: Wires) -> Array:
    """ρ ≈ 0.8·r·mean(g)·n²: the drop along a tile's lines relative to the drive, roughly."""
    m, n = g.shape
    word = wires.source * n + wires.word * 0.4 * n * n
    bit = wires.sense * m + wires.bit * 0.4 * m * m
    return jnp.mean(g) * (word + bit)


def expected_iterations(rho: Array, tolerance: float) -> Array:
    """Conjugate-gradient iterations on a tile of drop ρ.

    (4 + 3.3·√ρ) at a tolerance of 1e-6, within 15 % of what tiles of 32 to 512 cells a side
    with ρ from 0.07 to 7000 took, and proportional to the digits asked for.
    """
    return (4.0 + 3.3 * jnp.sqrt(rho)) * math.log(2.0 / tolerance) / math.log(2.0 / 1e-6)


# Seconds, measured; only their ratios matter.
_COST = {
    # platform: (cg per cell, input and iteration; direct per multiply-add; direct per column)
    "cpu": (1.1e-9, 2.0e-11, 2.0e-5),
    "gpu": (5.0e-12, 1.0e-13, 2.0e-4),
}


def use_direct(g: Array, wires: Wires, inputs: int, tolerance: float) -> Array:
    """The rule of ``method="auto"``: whether column elimination is the faster; a traced bool.

    It compares the measured costs of `expected_iterations` on the drop estimate ρ with the
    3·N·M³ + 4·inputs·N·M² multiply-adds of the elimination.
    """
    m, n = g.shape
    per_cell, per_flop, per_column = _COST["cpu" if jax.default_backend() == "cpu" else "gpu"]
    iterations = expected_iterations(_largest(drop_estimate(g, wires)), tolerance)
    cg = iterations * per_cell * inputs * m * n
    direct = n * (per_column + per_flop * (3.0 * m**3 + 4.0 * inputs * m**2))
    return direct < cg
