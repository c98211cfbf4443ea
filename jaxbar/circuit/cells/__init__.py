"""Cell laws: the current through a cell, given its conductance and the voltage across it.

Every law is a frozen pytree with one method, ``current(g, voltage)``: ampere, for g in siemens
(≥ 0, and 0 is open: no current) and the voltage across the cell in volt, of any sign. Both
broadcast; float32 in gives float32 out. A law

- carries no current at 0 V, and more the higher the voltage: dI/dU > 0 where g > 0;
- has finite derivatives in g, the voltage and each of its physical parameters, also at 0 V
  and at g = 0, which is what Newton's method and implicit gradients of a tile need.

Parameters are scalars (one law for the whole tile): trace, differentiate or vmap them.

A law with an attribute ``needs_bit_voltage = True`` has ``current(g, voltage, bit_voltage)``:
it depends on the potential of the bit line at the cell too, as `Transistor` does.
"""

from .ohmic import Ohmic as Ohmic
from .polynomial import Polynomial as Polynomial
from .poole_frenkel import PooleFrenkel as PooleFrenkel
from .selector import Selector as Selector
from .sinh import Sinh as Sinh
from .tabulated import Tabulated as Tabulated
from .transistor import Transistor as Transistor
