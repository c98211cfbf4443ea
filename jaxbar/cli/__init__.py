"""The command line: `jaxbar run`, `jaxbar plan` and `jaxbar bench`."""

import argparse
import os
import sys
from collections.abc import Sequence

from ..report import package_version
from . import bench, plan, run

# Trying Triton's forms of five small products takes half the compilation of a training step on
# an H200, and gains nothing over cuBLAS there.
_XLA_FLAG = "xla_gpu_enable_triton_gemm"

_EXAMPLES = f"examples:\n{run.EXAMPLES}{plan.EXAMPLES}{bench.EXAMPLES}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command of the command line.

    Args:
        arguments: None (default): those of the process.

    Returns:
        The exit status: 0, 2 for an error of the user's, 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    flags = os.environ.get("XLA_FLAGS", "")
    if _XLA_FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{_XLA_FLAG}=false".strip()
    try:
        return options.command(options)
    except KeyboardInterrupt:
        print("jaxbar: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, MemoryError, ModuleNotFoundError) as error:
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
    for command in (run, plan, bench):
        command.add(commands)
    return parser
