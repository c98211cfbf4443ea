"""`jaxbar run CONFIG.toml`."""

import argparse
import dataclasses
import sys
import warnings
from typing import Any

from rich.console import Console
from rich.table import Table

from .. import experiment, plots, settings
from ..progress import shown
from ._common import add_command, add_settings, console

EXAMPLES = """  jaxbar run configs/quickstart.toml
  jaxbar run configs/quickstart.toml --set crossbar.wires.word=2.5 --set seed=1
  jaxbar run configs/mnist_mlp.toml --set data.name=mnist --set data.path=MNIST --out runs/full
"""


def add(commands: Any) -> None:
    """Adds the command to the parsers of all."""
    about = "train a network, map it onto tiles, train it through their wires; report each accuracy"
    parser = add_command(commands, "run", about, EXAMPLES)
    parser.set_defaults(command=_run)
    add_settings(parser)
    parser.add_argument("--out", metavar="DIR", help="folder for the report and the plots")
    parser.add_argument("--no-plots", action="store_true", help="draw nothing")


def _run(options: argparse.Namespace) -> int:
    chosen = settings.load(options.config, options.overrides)
    if options.out is not None:
        chosen = dataclasses.replace(chosen, output=options.out)
    out, err = console(), Console(stderr=True)
    # Warnings would tear the progress bar; they are told after it.
    with warnings.catch_warnings(record=True) as caught, shown(err) as progress:
        warnings.simplefilter("always", RuntimeWarning)
        report = experiment.run(chosen, progress, draw=not options.no_plots)
    for text in dict.fromkeys(str(w.message) for w in caught):
        print(f"jaxbar: warning: {text}", file=sys.stderr)
    out.print(_table(report))
    files = ["report.json", *report["plots"]]
    print(f"{', '.join(files)} in {chosen.output}")
    if not (options.no_plots or plots.available()):
        print("no plots without matplotlib: pip install 'jaxbar[plot]'")
    return 0


def _table(report: dict[str, Any]) -> Table:
    counts = report["data"]
    name = report["settings"]["data"]["name"]
    what = "rows" if name == "random" else "images"
    table = Table(
        title=f"{name}: {counts['train']} training and {counts['test']} test {what}",
        title_justify="left",
    )
    table.add_column("network")
    table.add_column("test accuracy (%)", justify="right")
    table.add_column("uncalibrated (%)", justify="right")
    table.add_column("output error (%)", justify="right")
    table.add_column("time (s)", justify="right")
    for key, stage in report["stages"].items():

        def percent(entry: str, stage: dict[str, Any] = stage) -> str:
            return f"{100 * stage[entry]:.1f}" if entry in stage else ""

        columns = map(percent, ("accuracy", "uncalibrated", "output_error"))
        table.add_row(experiment.STAGES[key], *columns, f"{stage['seconds']:.1f}")
    return table
