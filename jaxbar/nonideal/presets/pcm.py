"""Phase-change memory."""

from typing import Any

from ..._check import check_choice
from ..base import NonIdeality
from ..drift import Drift
from ..laws import Branch, LogLinear, PowerLaw
from ..programming import ProgrammingNoise
from ..reading import FlickerNoise

# Coefficients in µS at g_max = 25 µS, for u = g/g_max.
NANDAKUMAR = (0.26348, 1.9650, -1.1731)
# In µS, for g in µS.
JOSHI = (0.28638599, 0.07585724, -0.00178767)
# In µS at these g_max, for u = g/g_max.
HERMES = {
    1: (10.35, (0.15781817, 2.32443916, -2.16310839, 0.68841818)),
    2: (20.7, (0.16603222, 4.71806468, -8.48101252, 4.68961419)),
}


def pcm(time: Any = 0.0, fit: str = "nandakumar") -> tuple[NonIdeality, ...]:
    """Doped-GST mushroom cells: programming noise, drift and 1/f read noise; 0 to 25 µS.

    Nandakumar et al., ICECS 2019, and Joshi et al., Nature Communications 11 (2020), with the
    constants of their statistical model in aihwkit: σ = (g_max/25 µS)(0.26348 + 1.9650u −
    1.1731u²) µS; ν = |μ + σ_ν z|, μ = −0.0155 ln u + 0.0244 in [0.049, 0.1], σ_ν = −0.0125 ln u −
    0.0059 in [0.008, 0.045], t_0 = 20 s; Q = 0.0088/u^0.65 ≤ 0.2, t_read = 250 ns. g_max is g_on
    of the range.

    Args:
        time: second since the first reading, ≥ 0; default 0.
        fit: of the programming noise. ``"nandakumar"`` (default), or ``"joshi"``: CrossSim's fit
            to Fig. 3b of Joshi et al., −0.00178767g² + 0.07585724g + 0.28638599, σ and g in µS,
            which does not scale with the range and holds to 25 µS.
    """
    check_choice("fit", fit, ("nandakumar", "joshi"))
    if fit == "nandakumar":
        written = ProgrammingNoise(tuple(c / 25 for c in NANDAKUMAR))
    else:
        # In µS, σ(g) is σ/g_max of u at a g_max of 1 µS.
        written = ProgrammingNoise(JOSHI, g_max=1e-6, fitted=(0.0, 25e-6))
    drift = Drift(
        nu=LogLinear(-0.0155, 0.0244, 0.049, 0.1),
        sigma=LogLinear(-0.0125, -0.0059, 0.008, 0.045),
        t_0=20.0,
        time=time,
    )
    return written, drift, FlickerNoise(PowerLaw(0.0088, -0.65, 0.2), 20.0, 250e-9, time)


def hermes(time: Any = 0.0, devices: int = 2) -> tuple[NonIdeality, ...]:
    """The cells of IBM's Hermes chip: programming noise, drift and 1/f read noise.

    Le Gallo et al., Nature Electronics 6 (2023); Khaddam-Aljameh et al., JSSC 57 (2022), with
    the constants of the model in aihwkit. A cell is what carries one polarity of a weight:
    one device of up to 10.35 µS, or two in parallel of up to 20.7 µS. g_max is g_on of the
    range; t_0 is 300 s with two devices and 200 s with one, t_read 512 ns.

    Args:
        time: second since the first reading, ≥ 0; default 0.
        devices: 2 (default) or 1, of a cell.

    Raises:
        ValueError: another number of devices.
    """
    if devices not in HERMES:
        raise ValueError(f"devices = {devices!r}: must be 1 or 2")
    g_max, coefficients = HERMES[devices]
    written = ProgrammingNoise(tuple(c / g_max for c in coefficients), fitted=(0.0, g_max * 1e-6))
    mean = Branch(0.0945, LogLinear(-0.0387, -0.0182, 0.0720, 0.13), (0.0736, -0.0126, -0.0436))
    if devices == 1:
        t_0 = 200.0
        sigma = Branch(0.3039, LogLinear(-0.0120, -0.0023, 0.0124, 0.04), (0.0104, 0.0116, -0.0165))
        q = Branch(
            0.1591, LogLinear(-0.0078, 0.0038, 0.0179, 0.04), (0.0088, 0.0768, -0.1352, 0.0664)
        )
    else:
        t_0 = 300.0
        sigma = Branch(0.3055, LogLinear(-0.0117, -0.0057, 0.0091, 0.04), (0.0073, 0.0093, -0.0118))
        q = Branch(
            0.16, LogLinear(-0.0117, -0.0069, 0.015, 0.04), (0.0123, 0.0211, -0.0280, 0.0069)
        )
    return written, Drift(mean, sigma, t_0, time), FlickerNoise(q, t_0, 512e-9, time)
