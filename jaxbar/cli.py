"""The command line: `jaxbar run CONFIG.toml`."""

import argparse
import dataclasses
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from . import experiment, plots, settings
from .progress import shown
from .report import package_version

_EXAMPLES = """examples:
  jaxbar run configs/quickstart.toml
  jaxbar run configs/quickstart.toml --set crossbar.wires.word=2.5 --set seed=1
  jaxbar run configs/mnist_mlp.toml --set data.name=mnist --set data.path=MNIST --out runs/full
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command of the command line.

    Args:
        arguments: None (default): those of the process.

    Returns:
        The exit status: 0, 2 for an error of the user's, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except KeyboardInterrupt:
        print("jaxbar: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ModuleNotFoundError) as error:
        if options.debug:
            raise
        print(f"jaxbar: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxbar",
        description="Exact, differentiable memristive crossbar tiles.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = f"jaxbar {package_version('jaxbar')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    return parser


def _add_run(commands: Any) -> None:
    about = "train a network, map it onto tiles, train it through their wires"
    run = commands.add_parser(
        "run",
        help=about,
        description=f"{about[0].upper()}{about[1:]}; report each accuracy.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.set_defaults(command=_run)
    run.add_argument("config", metavar="CONFIG.toml", help="the settings; see configs/")
    run.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the file, such as crossbar.r_on=2e3; may be repeated",
    )
    run.add_argument("--out", metavar="DIR", help="folder for the report and the plots")
    run.add_argument("--no-plots", action="store_true", help="draw nothing")
    run.add_argument("--debug", action="store_true", help="show the traceback of an error")


def _run(options: argparse.Namespace) -> int:
    chosen = settings.load(options.config, options.overrides)
    if options.out is not None:
        chosen = dataclasses.replace(chosen, output=options.out)
    out, err = Console(), Console(stderr=True)
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
    table = Table(
        title=f"{name}: {counts['train']} training and {counts['test']} test images",
        title_justify="left",
    )
    table.add_column("network")
    table.add_column("test accuracy (%)", justify="right")
    table.add_column("uncalibrated (%)", justify="right")
    table.add_column("time (s)", justify="right")
    for key, stage in report["stages"].items():
        raw = f"{100 * stage['uncalibrated']:.1f}" if "uncalibrated" in stage else ""
        accuracy, seconds = f"{100 * stage['accuracy']:.1f}", f"{stage['seconds']:.1f}"
        table.add_row(experiment.STAGES[key], accuracy, raw, seconds)
    return table
