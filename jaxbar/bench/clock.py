"""Timing of functions that take turns, and the memory that one call takes."""

import contextlib
import ctypes
import dataclasses
import gc
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

_MIB = 2**20
# Where there is one, writing 5 to it sets the peak of the process to what is in use.
_RESET = Path("/proc/self/clear_refs")


@dataclasses.dataclass(frozen=True)
class Runner:
    """A function in a race.

    Args:
        call: without arguments; what it returns is waited for.
        least, most: calls.
        seconds: after which no further call starts, once there were `least`.
        every: it runs in every so many-th round.
    """

    call: Callable[[], Any]
    least: int
    most: int
    seconds: float
    every: int = 1

    def goes_on(self, times: list[float]) -> bool:
        """Whether it wants another call after calls that took these seconds."""
        return len(times) < self.least or (len(times) < self.most and sum(times) < self.seconds)


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, in seconds, and its value."""
    start = time.perf_counter()
    value = jax.block_until_ready(call())
    return time.perf_counter() - start, value


def race(runners: Mapping[str, Runner]) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The seconds of each call, and the last value, of functions that run in turns.

    In turns, so that what else the machine does meets all of them.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    values: dict[str, Any] = {}
    for turn in itertools.count():
        left = {name: r for name, r in runners.items() if r.goes_on(times[name])}
        if not left:
            break
        for name, runner in left.items():
            if turn % runner.every == 0:
                values.pop(name, None)  # its memory is free for the next
                taken, values[name] = seconds(runner.call)
                times[name].append(taken)
    return times, values


def spread(times: list[float]) -> tuple[float, float, float]:
    """The 10th percentile, median and 90th percentile in ms of seconds."""
    low, median, high = (1e3 * float(x) for x in np.percentile(times, [10, 50, 90]))
    return low, median, high


def peak_mib(call: Callable[[], Any], lower: Callable[[], Any] | None) -> float | None:
    """The memory that a call takes beyond what is in use before it, in MiB, or None: unknown.

    On a CPU, the growth of the process's peak; `call` must be compiled already. On other
    devices, XLA's own account of the program.

    Args:
        call: without arguments.
        lower: gives the lowered program; None: there is no single one.
    """
    if jax.devices()[0].platform == "cpu":
        return _growth(call)
    account = None if lower is None else lower().compile().memory_analysis()
    if account is None:
        return None
    size = account.argument_size_in_bytes + account.output_size_in_bytes
    return (size + account.temp_size_in_bytes - account.alias_size_in_bytes) / _MIB


def _growth(call: Callable[[], Any]) -> float | None:
    if not _RESET.exists():
        return None
    try:
        with _fresh_memory() as release:
            jax.block_until_ready(call())
            gc.collect()
            release()
            _RESET.write_text("5", encoding="ascii")
            before = _status("VmRSS")
            jax.block_until_ready(call())
            return max(0, _status("VmHWM") - before) / _MIB
    except OSError:
        return None


@contextlib.contextmanager
def _fresh_memory() -> Iterator[Callable[[], None]]:
    """Makes glibc return freed memory to the system: what it keeps would be used again unseen.

    Yields a function that returns what the main thread has freed; other threads return theirs
    as they free the next large block.
    """
    library = ctypes.CDLL(None)
    if not (hasattr(library, "mallopt") and hasattr(library, "malloc_trim")):
        yield lambda: None
        return
    trim_threshold, mmap_threshold = -1, -3  # names of the options in malloc.h
    library.mallopt(trim_threshold, 0)
    library.mallopt(mmap_threshold, 64 * 1024)
    try:
        yield lambda: library.malloc_trim(0)
    finally:  # where its own adaptation ends in a process that has freed large blocks
        library.mallopt(mmap_threshold, 32 * _MIB)
        library.mallopt(trim_threshold, 64 * _MIB)


def _status(field: str) -> int:
    """A size from the process's status, in bytes."""
    text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    match = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    if match is None:
        raise OSError(f"no {field} in /proc/self/status")
    return int(match[1]) * 1024
