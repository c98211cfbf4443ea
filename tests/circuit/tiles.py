"""Tiles for the tests: ground truth from other programs, and random ones of every severity."""

import pathlib

import numpy as np

from jaxbar import Wires

TRUTH = pathlib.Path(__file__).parent.parent / "truth"
CASES = sorted(path.stem for kind in ("lin", "passive") for path in TRUTH.glob(f"{kind}_*.npz"))
SINH = sorted(path.stem for path in TRUTH.glob("sinh_*.npz"))


def load(case):
    """(g, v, v_bit, wires, currents, word voltages, bit voltages) of a truth file, float64."""
    found = np.load(TRUTH / f"{case}.npz").items()
    d = {key: np.asarray(x, np.float64) for key, x in found if x.dtype.kind != "U"}
    if not case.startswith("passive"):
        # ngspice: a full segment before the first and after the last cell
        source, sense = d["r_source"] + d["r_wl"], d["r_sense"] + d["r_bl"]
        wires = Wires(float(source), float(d["r_wl"]), float(d["r_bl"]), float(sense))
        return d["G"], d["V"], None, wires, d["I_out"][None], d["V_wl"][None], d["V_bl"][None]
    end, line = float(d["R_source"]), float(d["R_line"])
    wires = Wires(source=end, word=line, bit=line, sense=end)
    return (
        *(d["G"], d["V_WL"], d["V_BL"], wires),
        *(d["I_ref_f64"], d["V_wl_nodes_ref"], d["V_bl_nodes_ref"]),
    )


def steepness(case):
    """k of the sinh cells of a truth file, 1/V."""
    return float(np.load(TRUTH / f"{case}.npz")["k"])


# name: (lowest and highest cell resistance, ohm a segment)
SEVERITY = {"mild": (1e5, 1e6, 2.0), "harsh": (1.8e3, 2.5e3, 5.0), "extreme": (1e2, 2e2, 5.0)}


def random_tile(rng, shape, severity="harsh", inputs=2, dtype=np.float64):
    """(g, v, v_bit, wires): four different resistances, drives of both signs."""
    low, high, r = SEVERITY[severity]
    g = 1.0 / rng.uniform(low, high, shape)
    v = rng.uniform(-0.3, 0.3, (inputs, shape[0]))
    v_bit = rng.uniform(-0.1, 0.1, (inputs, shape[1]))
    wires = Wires(source=1.5 * r, word=r, bit=0.8 * r, sense=2.0 * r)
    return g.astype(dtype), v.astype(dtype), v_bit.astype(dtype), wires
