"""`jaxbar bench [WORKLOAD…]`: times, memory and errors beside other programs'."""

import argparse
import json
import sys
from typing import Any

from rich.console import Console

from .. import bench
from ..progress import shown
from ._common import add_command, console

EXAMPLES = """  jaxbar bench 'mild-128*' passive_128
  jaxbar bench --dtype float64 --json > bench.json
"""


def add(commands: Any) -> None:
    """Adds the command to the parsers of all."""
    about = "time named workloads on this machine beside the peers that are installed"
    parser = add_command(commands, "bench", about, EXAMPLES)
    parser.set_defaults(command=_bench)
    parser.add_argument(
        "workloads",
        metavar="WORKLOAD",
        nargs="*",
        default=["*"],
        help=f"names or patterns of {', '.join(bench.names())}; default: all",
    )
    parser.add_argument("--dtype", default="float32", help="float32 (default) or float64")
    parser.add_argument("--repeats", type=int, default=15, help="calls at most (default: 15)")
    parser.add_argument("--no-peers", action="store_true", help="time jaxbar alone")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print a table in Markdown")


def _bench(options: argparse.Namespace) -> int:
    names = bench.select(options.workloads)
    header = bench.header()
    if "warning" in header:
        print(f"jaxbar: warning: {header['warning']}", file=sys.stderr)
    rows: list[dict[str, Any]] = []
    status = 0
    try:
        with shown(Console(stderr=True)) as progress:
            for row in bench.rows(
                names,
                dtype=options.dtype,
                peers=not options.no_peers,
                progress=progress,
                repeats=options.repeats,
            ):
                rows.append(row)
    except KeyboardInterrupt:  # what there is took its time
        print("jaxbar: interrupted", file=sys.stderr)
        status = 130
    if options.json:
        print(json.dumps({**header, "rows": rows}, indent=2))
        return status
    versions = ", ".join(f"{name} {v}" for name, v in header["versions"].items() if v[0].isdigit())
    print(f"{header['device']}, {header['cores']} cores, {header['date'][:10]}: {versions}")
    if options.markdown:
        print(bench.markdown(rows))
    elif rows:
        console().print(bench.table(rows))
    return status
