"""jaxbar: exact, differentiable memristive crossbar tiles in JAX."""

from . import nn as nn
from .circuit import Ohmic as Ohmic
from .circuit import Polynomial as Polynomial
from .circuit import PooleFrenkel as PooleFrenkel
from .circuit import Selector as Selector
from .circuit import Sinh as Sinh
from .circuit import Solution as Solution
from .circuit import Solver as Solver
from .circuit import Tabulated as Tabulated
from .circuit import Wires as Wires
from .circuit import effective_conductance as effective_conductance
from .circuit import nodal_matrix as nodal_matrix
from .circuit import solve as solve
from .config import ADC as ADC
from .config import DAC as DAC
from .config import CrossbarConfig as CrossbarConfig
from .nn import patch_model as patch_model
from .nn import program as program
from .nn import reconfigure as reconfigure
from .nn import tune as tune
from .planning import MemoryBudgetError as MemoryBudgetError
from .planning import MemoryBudgetWarning as MemoryBudgetWarning
from .planning import Plan as Plan
from .planning import plan as plan
