"""What keeps conductances from being what they should be: pure functions (g, key) -> g.

Each non-ideality is a frozen pytree with ``apply(g, key, *, used, g_range)``; `compose` applies
several in one order, `read` adds the noise of a reading, `at_time` moves all in time.
"""

from .base import Kind as Kind
from .base import NonIdeality as NonIdeality
from .compensation import compensation as compensation
from .compose import at_time as at_time
from .compose import compose as compose
from .compose import ordered as ordered
from .compose import read as read
from .drift import Drift as Drift
from .drift import Relaxation as Relaxation
from .endurance import Endurance as Endurance
from .faults import HEALTHY as HEALTHY
from .faults import OFF as OFF
from .faults import ON as ON
from .faults import UNFORMED as UNFORMED
from .faults import Clusters as Clusters
from .faults import FaultMap as FaultMap
from .faults import StuckFaults as StuckFaults
from .laws import Branch as Branch
from .laws import Law as Law
from .laws import LogLinear as LogLinear
from .laws import PowerLaw as PowerLaw
from .presets import PRESETS as PRESETS
from .presets import RANGES as RANGES
from .presets import cmo_hfo2 as cmo_hfo2
from .presets import hermes as hermes
from .presets import pcm as pcm
from .presets import rram_milo as rram_milo
from .presets import rram_wan as rram_wan
from .presets import sonos as sonos
from .programming import ProgrammingNoise as ProgrammingNoise
from .programming import TimedProgrammingNoise as TimedProgrammingNoise
from .reading import FlickerNoise as FlickerNoise
from .reading import ReadNoise as ReadNoise
from .states import FiniteStates as FiniteStates
from .variation import CycleVariation as CycleVariation
from .variation import DeviceVariation as DeviceVariation
