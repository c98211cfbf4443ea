"""Flax layers on crossbar tiles, and what is done with models made of them."""

from .calibrate import tune as tune
from .convert import at_time as at_time
from .convert import patch_model as patch_model
from .convert import program as program
from .convert import reconfigure as reconfigure
from .linear import ConvergenceWarning as ConvergenceWarning
from .linear import Linear as Linear
from .linear import ProgrammedLinear as ProgrammedLinear
from .linear import reading as reading
from .power import Power as Power
from .power import power as power
from .report import Written as Written
from .report import written as written
