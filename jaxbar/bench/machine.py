"""The machine and the programs of a benchmark, and the one thread of BLAS."""

import contextlib
import datetime
import functools
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from ..report import package_version

_PACKAGES = ("jaxbar", "jax", "jaxlib", "flax", "optax", "numpy", "scipy", "klujax", "badcrossbar")
_VARIABLE = "OPENBLAS_NUM_THREADS"


@functools.cache
def blas() -> tuple[bool, Callable[[], Any]]:
    """Whether BLAS gets one thread, and the context to run in.

    Called early: without threadpoolctl, nothing but a variable that is set before
    SciPy's library is loaded has an effect.
    """
    if os.environ.get(_VARIABLE) == "1":
        return True, contextlib.nullcontext
    if importlib.util.find_spec("threadpoolctl"):
        import scipy.linalg  # noqa: F401, its library must be there to be found
        from threadpoolctl import ThreadpoolController

        return True, functools.partial(ThreadpoolController().limit, limits=1)
    unset = _VARIABLE not in os.environ and "scipy.linalg" not in sys.modules
    if unset:
        os.environ[_VARIABLE] = "1"
    return unset, contextlib.nullcontext


def one_blas_thread() -> Any:
    """A context in which the BLAS of NumPy and SciPy has one thread, as far as that can be had.

    jaxbar is timed in it too: XLA calls the same library from threads of its own.
    """
    return blas()[1]()


def cores() -> int:
    """The CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def header() -> dict[str, Any]:
    """What the numbers of a benchmark depend on: the date, the machine and the versions.

    With a "warning" where BLAS may use more than one thread.
    """
    device = jax.devices()[0]
    found: dict[str, Any] = {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "platform": device.platform,
        "device": device.device_kind,
        "processor": _processor(),
        "cores": cores(),
        "versions": {
            "python": platform.python_version(),
            **{name: package_version(name) for name in _PACKAGES},
        },
    }
    if not blas()[0]:
        found["warning"] = (
            f"BLAS may use several threads: start with {_VARIABLE}=1 in the "
            "environment, or install threadpoolctl"
        )
    return found
