"""Memristor models: a state and a voltage in, the next state out.

Every model is a frozen pytree whose leaves are its physical parameters, numbers or arrays: arrays
make an array of devices that differ. What all share stands in `Device`.
"""

from .common import Device as Device
from .data_driven_2018 import DataDriven2018 as DataDriven2018
from .data_driven_2021 import DataDriven2021 as DataDriven2021
from .linear_ion_drift import LinearIonDrift as LinearIonDrift
from .simulate import Trajectory as Trajectory
from .stanford_pku import StanfordPKU as StanfordPKU
from .varied import LogNormal as LogNormal
from .varied import Normal as Normal
from .varied import Uniform as Uniform
from .varied import varied as varied
from .vteam import VTEAM as VTEAM
from .windows import Biolek as Biolek
from .windows import Joglekar as Joglekar
from .windows import Prodromakis as Prodromakis
from .windows import Window as Window
