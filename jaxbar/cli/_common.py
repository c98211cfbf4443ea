"""What the commands share: their parsers, and the settings that they read."""

import argparse
from typing import Any

from rich.console import Console

# What is no terminal, such as a file, shortens no line.
_WIDTH = 200


def add_command(commands: Any, name: str, about: str, examples: str) -> argparse.ArgumentParser:
    """A parser of a command, with its help and the option that every command has."""
    parser = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The arguments that name a configuration and change it."""
    parser.add_argument("config", metavar="CONFIG.toml", help="the settings; see configs/")
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the file, such as crossbar.r_on=2e3; may be repeated",
    )


def console() -> Console:
    """Where tables are printed."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDTH)
