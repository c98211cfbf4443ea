"""How a tile is solved: the method, its limits, and the rule that chooses one."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax import Array

from .._check import check_choice
from .._device import platform
from . import fused
from .batch import worst_of_batch
from .wires import Wires

METHODS = ("auto", "cg", "cg_library", "direct", "dense", "fused")


@dataclasses.dataclass(frozen=True)
class Solver:
    """The method for the linear system of a tile and when it stops.

    Args:
        method: ``"cg"``, conjugate gradients without any matrix; ``"cg_library"``, the same
            with the loop of `jax.scipy.sparse.linalg` (does not count iterations: −1);
            ``"direct"``, column elimination by dense M×M inverses, for harsh tiles with many
            inputs; ``"dense"``, LU of the nodal matrix, the oracle for small tiles, needs all
            resistances > 0; ``"fused"``, conjugate gradients in one GPU kernel, float32 and up
            to 128×128 cells; ``"auto"`` (default): fused where there is a GPU and the tile
            fits, else the faster of cg and direct, see `use_direct`.
        tolerance: bound on ‖residual‖ / ‖s∘drive‖ of the symmetric system
            (Id + s∘R(s∘·)) x = s∘drive, s = √g. None (default): 1e-7 in float32, 1e-12 in
            float64, both just above what rounding allows.
        max_iterations: bound on the conjugate-gradient iterations of one input, and on the
            steps of Newton's method where cells are not ohmic; default 10 000.

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


def drop_estimate(g: Array, wires: Wires) -> Array:
    """ρ ≈ 0.8·r·mean(g)·n²: the drop along a tile's lines relative to the drive, roughly."""
    m, n = g.shape
    word = wires.source * n + wires.word * 0.4 * n * n
    bit = wires.sense * m + wires.bit * 0.4 * m * m
    return jnp.mean(g) * (word + bit)


def expected_iterations(rho: Array | float, tolerance: float) -> Array:
    """Conjugate-gradient iterations on a tile of drop ρ.

    (4 + 3.3·√ρ) at a tolerance of 1e-6, within 15 % of what tiles of 32 to 512 cells a side
    with ρ from 0.07 to 7000 took, and proportional to the digits asked for.
    """
    return (4.0 + 3.3 * jnp.sqrt(rho)) * math.log(2.0 / tolerance) / math.log(2.0 / 1e-6)


# A tile of cells of 1 kohm, all alike, with 10 ohm a segment is taken for the harshest: where
# elimination is not the faster for it, a program that could eliminate would only cost memory.
_HARSHEST = 10.0 / 1e3


def candidates(
    solver: Solver, shape: tuple[int, ...], dtype: jnp.dtype, inputs: int, plain: bool = True
) -> tuple[str, ...]:
    """The methods that a program may use for `inputs` inputs of a tile (M, N).

    One, or ("cg", "direct") where `use_direct` decides when the conductances are known.
    Wires that are not `plain` have but conjugate gradients.

    Raises:
        ValueError: the method that was asked for does not take such tiles or wires.
    """
    if not plain:
        if solver.method not in ("auto", "cg", "cg_library"):
            raise ValueError(
                f"Solver.method = {solver.method!r} with wires given by segment or with far ends: "
                "only conjugate gradients take them; use 'auto' or 'cg'"
            )
        return ("cg" if solver.method == "auto" else solver.method,)
    if solver.method == "fused" and not fused.fits(shape, dtype):
        raise ValueError(
            f"Solver.method = 'fused' on a tile of {shape} in {jnp.dtype(dtype).name}: it takes "
            "float32 and up to 128×128 cells (each side counts as the next power of 2); use "
            "'auto'"
        )
    if solver.method != "auto":
        return (solver.method,)
    gpu = platform() == "gpu"
    if gpu and fused.fits(shape, dtype):
        return ("fused",)
    with jax.ensure_compile_time_eval():
        # The ratio of the costs is monotone in the number of tiles, which is not known here.
        extremes = (1.0, 1e9) if gpu else (1.0,)
        tolerance, (m, n) = solver.tolerance_for(dtype), shape
        worst = _HARSHEST * (0.4 * m * m + m + 0.4 * n * n + n)  # as `drop_estimate`
        if any(_direct_is_faster(shape, inputs, tolerance, worst, tiles) for tiles in extremes):
            return ("cg", "direct")
    return ("cg",)


def use_direct(g: Array, wires: Wires, inputs: int, tolerance: float) -> Array:
    """The rule of ``method="auto"``: whether column elimination is the faster.

    It compares measured costs (float32, in seconds; only their ratio matters): conjugate
    gradients pay for each of `expected_iterations`, cell and input; the elimination pays
    for three M×M inverses or products a column and for 8·M² multiply-adds a column and
    input. On a GPU each step also has a latency, shared by all tiles of a `jax.vmap`.
    """
    worst = worst_of_batch(drop_estimate(g, wires), jnp.ones((), g.dtype))
    return _direct_is_faster(g.shape, inputs, tolerance, *worst)


def _direct_is_faster(
    shape: tuple[int, ...], inputs: int, tolerance: float, rho: Array | float, tiles: Array | float
) -> Array:
    m, n = shape
    iterations = expected_iterations(rho, tolerance)
    cells = tiles * inputs * m * n
    if platform() == "cpu":
        direct = 2.5e-11 * n * tiles * (3.0 * m**3 + 8.0 * inputs * m**2)
        return direct < iterations * 1.1e-9 * cells
    direct = n * (2.5e-4 + tiles * 2.5e-9 * m**1.55) + 2.4e-13 * m * cells
    return direct < iterations * (4e-5 + 3.5e-11 * cells)
