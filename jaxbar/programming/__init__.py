"""Write-verify: pulses that bring the devices of a tile to their conductances."""

from .protocol import WriteVerify as WriteVerify
from .rules import Status as Status
from .write import Programmed as Programmed
from .write import write_verify as write_verify
