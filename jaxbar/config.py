"""What a layer's crossbar is made of: one frozen, validated description."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import devices, nonideal
from ._check import check_choice, check_count, check_number, concrete, is_count
from ._device import parse_bytes
from ._pytree import register
from .circuit import Ohmic, Solver, SourceLines, Wires, cells
from .circuit.laws import check_cell, check_method, is_ohmic
from .circuit.separate import check_source_cell
from .devices import Device
from .nonideal import Kind, NonIdeality, ordered
from .nonideal.compensation import SCOPES
from .parse import Choices
from .programming import WriteVerify

MAPPINGS = ("differential", "interleaved", "offset")
SCALES = ("layer", "column")
UNUSED = ("off", "open")
ON_MEMORY = ("cpu", "error")
# What a configuration file may name; a program may pass laws of its own.
LINES = {"Wires": Wires, "SourceLines": SourceLines}
LAWS: dict[str, type] = {
    law.__name__: law
    for law in (
        cells.Ohmic,
        cells.Sinh,
        cells.Polynomial,
        cells.PooleFrenkel,
        cells.Selector,
        cells.Transistor,
        cells.Tabulated,
    )
}
MODELS: dict[str, type] = {
    model.__name__: model
    for model in (
        devices.DataDriven2018,
        devices.DataDriven2021,
        devices.LinearIonDrift,
        devices.StanfordPKU,
        devices.VTEAM,
    )
}
# Presets are several at once.
NONIDEAL: dict[str, Callable[..., Any]] = {
    **{
        item.__name__: item
        for item in (
            nonideal.CycleVariation,
            nonideal.DeviceVariation,
            nonideal.Drift,
            nonideal.Endurance,
            nonideal.FiniteStates,
            nonideal.FlickerNoise,
            nonideal.ProgrammingNoise,
            nonideal.ReadNoise,
            nonideal.Relaxation,
            nonideal.StuckFaults,
        )
    },
    **nonideal.PRESETS,
}


def _check_bits(name: str, bits: int | None) -> None:
    if bits is not None:
        check_count(name, bits, "an int ≥ 1, or None for an ideal converter")


def _positive(x: np.ndarray) -> np.ndarray:
    return (x > 0.0) & (x < math.inf)


@dataclasses.dataclass(frozen=True)
class DAC:
    """The converters that drive the word lines.

    Args:
        bits: resolution of the symmetric quantiser; None (default) is ideal: no steps and no
            clipping. With bits, inputs beyond ± the layer's input scale clip.
    """

    bits: int | None = None

    def __post_init__(self) -> None:
        _check_bits("dac.bits", self.bits)


@dataclasses.dataclass(frozen=True)
class ADC:
    """The converters that read the current of each output of each tile.

    Args:
        bits: resolution of the symmetric linear quantiser; None (default) is ideal.
        range: the largest current it tells apart, in ampere; None (default): set by `tune`,
            and until then the largest current that the tile could draw without wires.
        overflow: the fraction of the currents seen by `tune` that may lie outside the range
            it sets; default 0.
    """

    bits: int | None = None
    range: float | None = None
    overflow: float = 0.0

    def __post_init__(self) -> None:
        _check_bits("adc.bits", self.bits)
        if self.range is not None:
            allowed = "A: must be > 0, or None to have `tune` set it"
            check_number("adc.range", self.range, _positive, allowed)
        allowed = "must be a fraction in [0, 1)"
        check_number("adc.overflow", self.overflow, lambda x: (x >= 0.0) & (x < 1.0), allowed)


@register("wires", "cell", "r_on", "r_off", "v_max", "device", "programming", "nonideal")
@dataclasses.dataclass(frozen=True)
class CrossbarConfig:
    """The crossbar that carries a layer's weights.

    A pytree whose leaves are the physical quantities (wires, cell, r_on, r_off, v_max and what
    devices, programming and non-idealities are made of), so that they can be swept or
    differentiated; all else is static.

    Args:
        tile_shape: word lines and bit lines of a tile; default (128, 128).
        wires: line resistances in ohm; None (default): ideal wires. With `SourceLines` an input
            gates the cells of its row, as a share of their conductance, while all source lines
            are at v_max; inputs of either sign are read one after the other.
        cell: law of the cells, see `jaxbar.circuit.cells`; default `Ohmic()`. Tiles of other
            laws are solved for each input. Weights are mapped to g as for ohmic cells.
        r_on: lowest cell resistance in ohm; None (default): that of the device, else 1e5.
        r_off: highest cell resistance in ohm, may be inf; None (default): that of the device,
            else 1e6.
        mapping: ``"differential"`` (default): two arrays, for the positive and the negative
            part of the weights, subtracted after the solve; ``"interleaved"``: both parts on
            neighbouring bit lines of one array, which share its word lines; ``"offset"``: one
            array with zero at mid conductance, and the current of such a bit line without wires
            subtracted digitally.
        scale: one largest weight per ``"layer"`` (default) or per ``"column"``.
        clip_percentile: the percentile of |w| in (0, 100] that is the largest weight; larger
            ones clip. None (default): no clipping.
        unused: cells of a tile that carry no weight are at r_off (``"off"``, default) or
            ``"open"``.
        v_max: largest word-line voltage in volt; default 0.3.
        device: a model of `jaxbar.devices` that `program` brings to its conductances by pulses;
            its parameters are scalars or broadcast to tiles. None (default): cells are at their
            targets at once.
        programming: the pulses; None (default): those of `WriteVerify()` if there is a device.
        nonideal: what keeps conductances from being what they should be, see `jaxbar.nonideal`,
            from `program` on; at most one of each kind, in any order. Default ().
        compensation: of drift, digitally, by one factor for the ``"layer"``, each ``"tile"`` or
            each ``"column"`` of a tile, see `jaxbar.nonideal.compensation`; None (default): none.
        input_scale: the input that is driven with v_max; `tune` replaces it. Default 1.0.
        dac: the input converters; default `DAC()`, ideal. None means ideal too.
        adc: the output converters; default `ADC()`, ideal. None means ideal too.
        solver: how tiles are solved; default `Solver()`.
        tile_chunk: tiles solved at a time at most; None (default): as many as fit on a GPU,
            one on a CPU.
        memory_budget: bytes that solving the layer may take, as a number or a text such as
            "2GiB"; None (default): 80 % of what the device has free. Tiles and inputs are
            solved in chunks that fit, see `jaxbar.plan`.
        on_memory: where not even one input of one tile fits a GPU, ``"cpu"`` (default) solves
            on the CPU, with a warning, and ``"error"`` raises a `MemoryBudgetError`.

    Raises:
        ValueError: a value is out of range; the message names it and what is allowed.
    """

    tile_shape: tuple[int, int] = (128, 128)
    wires: Wires | SourceLines | None = dataclasses.field(
        default=None,
        metadata={"choices": Choices("kind", "Wires", LINES)},
    )
    cell: Any = dataclasses.field(
        default_factory=Ohmic, metadata={"choices": Choices("law", None, LAWS)}
    )
    r_on: Any = None
    r_off: Any = None
    mapping: str = "differential"
    scale: str = "layer"
    clip_percentile: float | None = None
    unused: str = "off"
    v_max: Any = 0.3
    device: Device | None = dataclasses.field(
        default=None, metadata={"choices": Choices("model", None, MODELS)}
    )
    programming: WriteVerify | None = None
    nonideal: tuple[NonIdeality, ...] = dataclasses.field(
        default=(), metadata={"choices": Choices("kind", None, NONIDEAL)}
    )
    compensation: str | None = None
    input_scale: float = 1.0
    dac: DAC = DAC()
    adc: ADC = ADC()
    solver: Solver = dataclasses.field(default_factory=Solver)
    tile_chunk: int | None = None
    memory_budget: int | str | None = None
    on_memory: str = "cpu"

    def __post_init__(self) -> None:
        shape = self.tile_shape
        if not (
            isinstance(shape, tuple | list) and len(shape) == 2 and all(is_count(n) for n in shape)
        ):
            raise ValueError(
                f"tile_shape = {shape!r}: must be two ints ≥ 1, (word lines, bit lines)"
            )
        object.__setattr__(self, "tile_shape", tuple(shape))
        for name, default in (("dac", DAC()), ("adc", ADC()), ("cell", Ohmic())):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name, kind in (("dac", DAC), ("adc", ADC), ("solver", Solver)):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(
                    f"{name} = {getattr(self, name)!r}: must be a jaxbar.{kind.__name__}"
                )
        check_choice("mapping", self.mapping, MAPPINGS)
        check_choice("scale", self.scale, SCALES)
        check_choice("unused", self.unused, UNUSED)
        clip = self.clip_percentile
        if clip is not None:
            allowed = "must lie in (0, 100], or be None"
            check_number("clip_percentile", clip, lambda x: 0.0 < x <= 100.0, allowed)
        check_number("input_scale", self.input_scale, _positive, "must be > 0 and finite")
        if self.tile_chunk is not None:
            check_count("tile_chunk", self.tile_chunk, "an int ≥ 1, or None")
        if self.memory_budget is not None:
            try:
                parse_bytes(self.memory_budget)
            except ValueError as error:
                raise ValueError(f"memory_budget = {error}") from None
        check_choice("on_memory", self.on_memory, ON_MEMORY)
        if self.mapping == "interleaved" and self.tile_shape[1] % 2:
            raise ValueError(
                f"tile_shape = {self.tile_shape}: mapping = 'interleaved' takes an even number of "
                "bit lines, in pairs"
            )
        if not isinstance(self.wires, Wires | SourceLines | None):
            raise ValueError(
                f"wires = {self.wires!r}: must be a jaxbar.Wires, a jaxbar.SourceLines, or None "
                "for ideal"
            )
        check_cell(self.cell)
        if isinstance(self.wires, SourceLines):
            check_source_cell(self.cell)
        if not self.is_linear:
            check_method(self.solver, "cells that are not ohmic or source lines")
        self._check_writing()
        for name in ("r_on", "v_max"):
            check_number(name, getattr(self, name), _positive, "must be > 0 and finite")
        allowed = f"ohm: must be > r_on = {self.r_on} ohm (inf is allowed)"
        r_on = concrete(self.r_on)
        check_number("r_off", self.r_off, lambda x: x > (0.0 if r_on is None else r_on), allowed)

    def _check_writing(self) -> None:
        """Checks device, programming and nonideal, and takes the range from the device."""
        for name, kind, allowed in (
            ("device", Device, "a model of jaxbar.devices"),
            ("programming", WriteVerify, "a jaxbar.programming.WriteVerify"),
        ):
            if not isinstance(getattr(self, name), kind | None):
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be {allowed}, or None")
        if self.compensation is not None:
            check_choice("compensation", self.compensation, SCOPES)
        items = ordered(self.nonideal)
        object.__setattr__(self, "nonideal", items)
        if self.device is None:
            if self.programming is not None:
                raise ValueError("programming without device: name the device that is written")
        elif any(item.kind == Kind.PROGRAMMING for item in items):
            raise ValueError(
                "nonideal has programming noise, with a device that is programmed by pulses: "
                "leave one of them out"
            )
        for name, default in (("r_on", 1e5), ("r_off", 1e6)):
            if getattr(self, name) is None:
                value = default if self.device is None else getattr(self.device, name)
                if np.ndim(value):
                    raise ValueError(
                        f"{name} = None with devices that differ: give the range of the mapping"
                    )
                object.__setattr__(self, name, value)
        network = self.programming is not None and self.programming.voltages == "network"
        if network and isinstance(self.wires, SourceLines):
            raise ValueError(
                "programming.voltages = 'network' with source lines: use 'ideal', or wires"
            )

    def replace(self, **changes: Any) -> "CrossbarConfig":
        """A copy with some fields changed, validated again."""
        return dataclasses.replace(self, **changes)

    @property
    def paired(self) -> bool:
        """Whether a weight is the difference of two cells."""
        return self.mapping in ("differential", "interleaved")

    @property
    def is_linear(self) -> bool:
        """Whether the currents are linear in the inputs: tiles are then matrices."""
        return is_ohmic(self.cell) and not isinstance(self.wires, SourceLines)

    @property
    def is_written(self) -> bool:
        """Whether writing leaves cells elsewhere than at their targets."""
        return self.device is not None or bool(self.nonideal)

    @property
    def g_on(self) -> Any:
        """Highest cell conductance in siemens."""
        return 1.0 / self.r_on

    @property
    def g_off(self) -> Any:
        """Lowest cell conductance in siemens."""
        return 1.0 / self.r_off

    @property
    def g_unused(self) -> Any:
        """Conductance of the cells that carry no weight, in siemens."""
        return self.g_off if self.unused == "off" else 0.0
