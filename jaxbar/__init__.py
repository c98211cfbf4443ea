"""jaxbar: exact, differentiable memristive crossbar tiles in JAX."""

from .circuit import Ohmic as Ohmic
from .circuit import Solution as Solution
from .circuit import Solver as Solver
from .circuit import Wires as Wires
from .circuit import effective_conductance as effective_conductance
from .circuit import nodal_matrix as nodal_matrix
from .circuit import solve as solve
