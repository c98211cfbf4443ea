"""One tile as a circuit: pure functions of its conductances, drives and wires."""

from .bias import Bias as Bias
from .cells import Ohmic as Ohmic
from .cells import Polynomial as Polynomial
from .cells import PooleFrenkel as PooleFrenkel
from .cells import Selector as Selector
from .cells import Sinh as Sinh
from .cells import Tabulated as Tabulated
from .cells import Transistor as Transistor
from .effective import effective_conductance as effective_conductance
from .margin import ReadMargin as ReadMargin
from .margin import half_select as half_select
from .margin import read_margin as read_margin
from .nodal import nodal_drive as nodal_drive
from .nodal import nodal_matrix as nodal_matrix
from .separate import solve_source_lines as solve_source_lines
from .solution import Solution as Solution
from .solve import solve as solve
from .solver import Solver as Solver
from .source_lines import SourceLines as SourceLines
from .wires import Wires as Wires
