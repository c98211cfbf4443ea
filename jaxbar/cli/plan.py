"""`jaxbar plan CONFIG.toml`: the memory of a run, before it is asked for."""

import argparse
import itertools
import json
from typing import Any

import jax.numpy as jnp
from rich.table import Table

from .. import crossbar, settings
from .._device import format_bytes
from ..experiment import sizes
from ..planning import Plan
from ._common import add_command, add_settings, console

EXAMPLES = """  jaxbar plan configs/passive_512.toml
  jaxbar plan configs/mnist_mlp.toml --set crossbar.memory_budget=512MiB
"""


def add(commands: Any) -> None:
    """Adds the command to the parsers of all."""
    about = "show the tiles of each layer, their memory, and the chunks that fit the budget"
    parser = add_command(commands, "plan", about, EXAMPLES)
    parser.set_defaults(command=_plan)
    add_settings(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, sizes in bytes")


def _plan(options: argparse.Namespace) -> int:
    chosen = settings.load(options.config, options.overrides)
    rows = [_row(*work, chosen) for work in _work(chosen)]
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    if chosen.crossbar.wires is None and chosen.crossbar.is_linear:
        print("the wires are ideal: no tile is solved")
    console().print(_table(rows))
    return 0


def _work(chosen: settings.RunSettings) -> list[tuple[str, int, tuple[int, int], int]]:
    """(what, layer, shape, inputs) of each layer in the training steps and in the calibration."""
    shapes = list(itertools.pairwise(sizes(chosen)))
    steps = [("train", chosen.retraining.batch_size)] if chosen.retraining.epochs else []
    return [
        (what, layer, shape, inputs)
        for what, inputs in [*steps, ("tune", chosen.tune_images)]
        for layer, shape in enumerate(shapes)
    ]


def _row(
    what: str,
    layer: int,
    shape: tuple[int, int],
    inputs: int,
    chosen: settings.RunSettings,
) -> dict[str, Any]:
    how: Plan = crossbar.plan(shape, inputs, chosen.crossbar, jnp.float32)
    filled = shape[0] * shape[1] * (2 if chosen.crossbar.paired else 1)
    cells = how.tiles * chosen.crossbar.tile_shape[0] * chosen.crossbar.tile_shape[1]
    return {
        "work": what,
        "layer": layer,
        "shape": list(shape),
        "tiles": how.tiles,
        "tile_shape": list(chosen.crossbar.tile_shape),
        "used": filled / cells,
        "inputs": how.inputs,
        "bytes_each": how.each,
        "bytes_tile": how.tile,
        "tile_chunk": how.tile_chunk,
        "input_chunk": how.input_chunk,
        "chunks": list(how.chunks),
        "method": how.solver.method,
        "peak": how.peak,
        "budget": how.budget,
        "device": how.device,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    first = rows[0]
    m, n = first["tile_shape"]
    table = Table(
        title=f"tiles of {m}×{n}, {format_bytes(first['budget'])} a layer on {first['device']}",
        title_justify="left",
    )
    for head in ("work", "layer"):
        table.add_column(head, no_wrap=True)
    for head in ("tiles", "in use (%)", "inputs", "one input", "at a time", "chunks", "peak"):
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(
            row["work"],
            f"{row['layer']} {'→'.join(map(str, row['shape']))}",
            str(row["tiles"]),
            f"{100 * row['used']:.0f}",
            str(row["inputs"]),
            format_bytes(row["bytes_each"]),
            f"{row['tile_chunk']} × {row['input_chunk']}",
            " × ".join(map(str, row["chunks"])),
            format_bytes(row["peak"]),
        )
    table.caption = (
        "inputs: of each tile, or the unit drives that make its matrix; one input: its bytes "
        "on one tile; at a time: tiles × inputs solved together"
    )
    return table
