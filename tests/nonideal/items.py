"""One of each non-ideality, and tiles to apply them to."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxbar import nonideal as ni

# Programs this small run at once and compile for long.
quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})

G_RANGE = (2e-6, 2e-5)

ITEMS = {
    "states": ni.FiniteStates(5),
    "resistances": ni.FiniteStates(5, spacing="resistance"),
    "levels": ni.FiniteStates(levels=[2e-6, 3e-6, 9e-6, 2e-5]),
    "programming": ni.ProgrammingNoise((0.02, 0.03)),
    "timed": ni.TimedProgrammingNoise((1.0, 9.0), ((0.01,), (0.03,)), time=9.0),
    "device": ni.DeviceVariation((0.1, 0.3)),
    "device normal": ni.DeviceVariation(0.05, "normal", "conductance", scale="range"),
    "cycle": ni.CycleVariation(0.05, "normal", "resistance"),
    "sudden": ni.Endurance(1e6, p_lrs=(1e3, 0.1, 0.2), stable_lrs=3e5),
    "gradual": ni.Endurance(
        1e6, (1e2, 0.1, 0.2, 0.05), (1e3, 0.1, 0.2, -0.05), mode="gradual", temperature=350.0
    ),
    "drift": ni.Drift(0.05, 0.01, time=1e4),
    "retention": ni.Drift(0.1, t_0=1e-2, time=1e4, clock="write"),
    "relaxation": ni.Relaxation(-1e-7, 1e-8, 2e-7, time=1e4),
    "faults": ni.StuckFaults(0.1, 0.05, 0.02),
    "clusters": ni.StuckFaults(0.1, 0.05, clusters=ni.Clusters(6.0, 1.0)),
    "map": ni.FaultMap(np.arange(20).reshape(4, 5) % 4),
    "read": ni.ReadNoise(0.05),
    "flicker": ni.FlickerNoise(ni.PowerLaw(0.0088, -0.65, 0.2), 20.0, 250e-9, 1e3),
}


def tiles(rng, dtype=np.float32, shape=(3, 4, 5)):
    """Targets within the range, ends included; and the mask of cells in use."""
    g = rng.uniform(*G_RANGE, shape).astype(dtype)
    g[0, 0, :2] = G_RANGE
    used = np.ones(shape, bool)
    used[:, -1] = False
    used[1:, :, -2:] = False
    return jnp.asarray(np.where(used, g, 0.0).astype(dtype)), used
