"""Which kind of device a program will run on, and the memory that it has."""

import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np

# What a plan may use of the memory that is free when it is made; the rest is for the arrays
# of the user and for fragmentation.
SHARE = 0.8

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}i": 1024**k for k, unit in enumerate("KMGT", 1)}


def device() -> Any:
    """The device that compiled functions run on, unless their arguments say otherwise.

    The one of `jax.default_device` where that is set, else the first.
    """
    chosen = jax.config.jax_default_device
    if chosen is None:
        return jax.devices()[0]
    return jax.devices(chosen)[0] if isinstance(chosen, str) else chosen


def platform() -> str:
    """The kind of `device`: "cpu", "gpu", …"""
    return device().platform


def parse_bytes(text: int | str) -> int:
    """A size in bytes from a number or from a text such as "512 MiB", "2GiB" or "1.5GB".

    Raises:
        ValueError: it is neither, or is not > 0.
    """
    if isinstance(text, bool) or not isinstance(text, int | np.integer | str):
        raise ValueError(f"{text!r}: must be a number of bytes or a text such as '2GiB'")
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?i?)B?\s*", str(text), re.IGNORECASE)
    unit = "" if match is None else match[2].upper().replace("I", "i")
    size = 0 if match is None or unit not in _UNITS else int(float(match[1]) * _UNITS[unit])
    if size < 1:
        raise ValueError(
            f"{text!r}: must be a number of bytes ≥ 1 or a text such as '512MiB' or '2GiB'"
        )
    return size


def format_bytes(size: float) -> str:
    """A size in bytes as people read it, such as "1.5 GiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def free_bytes(device: Any) -> int:
    """The memory of a device that is not in use, in bytes.

    Of a GPU, what its allocator may still hand out; of the CPU, the available memory of the
    machine or what its control group leaves, whichever is less.
    """
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return max(0, stats["bytes_limit"] - stats.get("bytes_in_use", 0))
    found = [_available(), *_group()]
    known = [size for size in found if size is not None]
    return min(known) if known else 4 * 1024**3  # no /proc: assume little


def _available() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return _installed()
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _installed() -> int | None:
    """Half of the memory of a machine that does not tell what is available."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None


def _group(root: Path = Path("/sys/fs/cgroup")) -> list[int | None]:
    """What the control group leaves, by its version 2 and 1 files; empty without a limit."""
    files = [
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ]
    found: list[int | None] = []
    for limit, used in files:
        try:
            most = int((root / limit).read_text(encoding="ascii"))
            found.append(max(0, most - int((root / used).read_text(encoding="ascii"))))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return found
