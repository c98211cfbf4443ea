"""Every device model, and trains of pulses that move it both ways without reaching a bound."""

import pytest

from jaxbar.devices import (
    VTEAM,
    Biolek,
    DataDriven2018,
    DataDriven2021,
    LinearIonDrift,
    Prodromakis,
    StanfordPKU,
)

# name: (device, state, voltages, dt)
CASES = {
    "linear_ion_drift": (LinearIonDrift(), 0.3, (1.0, 1.2, -0.8, 0.9), 0.1),
    "linear_ion_drift_biolek": (LinearIonDrift(window=Biolek(2)), 0.3, (1.0, -0.8, 0.9), 0.1),
    "vteam": (VTEAM(), 1.5e-9, (0.3, -0.4, 0.5, -0.3), 5e-11),
    "vteam_exponential": (
        VTEAM(law="exponential", window=Prodromakis(2, 1.1)),
        *(1.5e-9, (0.3, -0.4, 0.5, -0.3), 5e-11),
    ),
    "stanford_pku": (StanfordPKU(), 1e-9, (1.4, -1.3, 1.5, -1.4), 1e-9),
    "data_driven_2018": (DataDriven2018(), 5000.0, (0.8, -1.2, 0.7, -1.4), 1e-5),
    "data_driven_2021": (DataDriven2021(), 2300.0, (1.2, -1.4, 1.0, -1.5), 2e-7),
    "data_driven_2021_odd": (
        DataDriven2021(a_n=0.4, b_n=2.0),
        *(2300.0, (1.2, -1.4, 1.0, -1.5), 2e-7),
    ),
}
every_model = pytest.mark.parametrize("name", CASES)
