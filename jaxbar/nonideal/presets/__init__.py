"""Published chips as tuples of non-idealities, for `compose`, `read` and `at_time`.

`PRESETS` names them and `RANGES` the (g_off, g_on) in siemens that each was measured over.
"""

from collections.abc import Callable

from ..base import NonIdeality
from .pcm import hermes as hermes
from .pcm import pcm as pcm
from .rram import cmo_hfo2 as cmo_hfo2
from .rram import rram_milo as rram_milo
from .rram import rram_wan as rram_wan
from .sonos import Sonos as Sonos
from .sonos import SonosReadNoise as SonosReadNoise
from .sonos import sonos as sonos

PRESETS: dict[str, Callable[..., tuple[NonIdeality, ...]]] = {
    "pcm": pcm,
    "hermes": hermes,
    "rram_wan": rram_wan,
    "rram_milo": rram_milo,
    "cmo_hfo2": cmo_hfo2,
    "sonos": sonos,
}

RANGES: dict[str, tuple[float, float]] = {
    "pcm": (0.0, 25e-6),
    "hermes": (0.0, 20.7e-6),
    "rram_wan": (0.0, 40e-6),
    "rram_milo": (50e-6, 225e-6),
    "cmo_hfo2": (9e-6, 88.2e-6),
    "sonos": (0.0, 16e-6),
}
