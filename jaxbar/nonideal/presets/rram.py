"""Oxide memories."""

from typing import Any

from ..._check import check_choice
from ..base import NonIdeality
from ..drift import Relaxation
from ..programming import ProgrammingNoise, TimedProgrammingNoise

DAY = 86400.0
# σ in µS at 40 µS, for u = g/g_max, at times after the write.
WAN = {
    1.0: (0.348, 16.030, -43.853, 45.393, -16.815),
    DAY: (0.701, 22.086, -50.773, 47.095, -16.458),
    2 * DAY: (0.782, 20.274, -43.507, 37.062, -11.934),
}
# σ and g in µS.
WAN_CUBIC = (1.053, 2.374e-1, -1.167e-2, 1.536e-4)
MILO = (4.782321, -0.009107)
# σ and g in µS, for write–verify accepting this share of the target.
CMO = {0.002: (0.00081107, 0.00106879), 0.02: (0.0112185391, 0.01129027418)}


def rram_wan(time: float = 1.0, fit: str = "quartic") -> tuple[NonIdeality, ...]:
    """The RRAM of NeuRRAM, Wan et al., Nature 608 (2022): spread after relaxation.

    Args:
        time: second after the write, one of those measured: 1 (default), 86400 or 172800.
        fit: to their Extended Data Fig. 3. ``"quartic"`` (default), of aihwkit, in u = g/g_max;
            its coefficients hold at 40 µS, and σ scales with g_on of the range over this.
            ``"cubic"``, of CrossSim, in g, for up to 39.26 µS and 1 s only.

    Raises:
        ValueError: a time that was not measured, or another fit.
    """
    check_choice("fit", fit, ("quartic", "cubic"))
    if fit == "cubic":
        cubic = TimedProgrammingNoise(
            (1.0,), (WAN_CUBIC,), time=time, g_max=1e-6, fitted=(0.0, 39.26e-6)
        )
        return (cubic,)
    table = tuple(tuple(c / 40 for c in row) for row in WAN.values())
    return (TimedProgrammingNoise(tuple(WAN), table, time=time),)


def rram_milo() -> tuple[NonIdeality, ...]:
    """HfO₂ RRAM written by IGVVA-100, Milo et al., IRPS 2021: σ = 4.782321 − 0.009107g, µS.

    CrossSim's fit to their Fig. 4, for 50 to 225 µS; nothing was published on its time
    dependence. The cell law that belongs to it is `Polynomial.milo`.
    """
    return (ProgrammingNoise(MILO, g_max=1e-6, fitted=(50e-6, 225e-6)),)


def cmo_hfo2(time: Any = 0.0, acceptance: float = 0.02) -> tuple[NonIdeality, ...]:
    """Conductive metal oxide on HfO₂, Falcone et al., Adv. Funct. Mater. 2025; 9 to 88.2 µS.

    σ = 0.00081 + 0.00107g with 0.2 % acceptance and 0.0112 + 0.0113g with 2 %, both in µS;
    relaxation by −0.0890 ln t with a spread of 0.0420 ln t + 0.4118 µS, held in the range. The
    constants are those of the model in aihwkit.

    Args:
        time: second since the write, 0 (default) or ≥ 1.
        acceptance: of the write–verify loop as a share of the target, 0.02 (default) or 0.002.

    Raises:
        ValueError: another acceptance, or a time between 0 and 1 s.
    """
    if acceptance not in CMO:
        raise ValueError(f"acceptance = {acceptance!r}: must be 0.002 or 0.02")
    written = ProgrammingNoise(CMO[acceptance], g_max=1e-6, fitted=(9e-6, 88.2e-6))
    moved = Relaxation(-0.08900206e-6, 0.04201137e-6, 0.41183342e-6, time=time, clip=True)
    return written, moved
