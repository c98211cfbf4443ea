"""The converters around a tile, and their ranges."""

from .quantize import quantize as quantize
from .ranges import covering_range as covering_range
