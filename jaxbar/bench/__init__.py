"""Benchmarks: jaxbar's times, memory and errors beside other programs', in one process.

    rows = jaxbar.bench.run(["mild-*"], progress=show)
    print(jaxbar.bench.markdown(rows))

Needs scipy; klujax and badcrossbar are timed where they are installed.
"""

import fnmatch
from collections.abc import Iterable, Iterator
from typing import Any

import jax

from .._check import check_choice, check_count
from ..progress import Show
from . import networks, tiles
from .job import Job, measure
from .machine import blas, one_blas_thread
from .machine import header as header
from .show import markdown as markdown
from .show import table as table

_TILES = {
    f"{severity}-{n}x{inputs}": (severity, n, inputs)
    for severity in tiles.SEVERITY
    for n in tiles.SIZES
    for inputs in tiles.INPUTS
}


def names() -> list[str]:
    """The workloads: tiles as ``severity-NxB`` (N×N cells, B inputs), layers, and training."""
    return [*_TILES, *networks.LAYERS, "training"]


def select(patterns: Iterable[str]) -> list[str]:
    """The workloads of names, patterns such as "mild-*" and configuration files, each once.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a name is unknown, or a pattern matches none.
    """
    found: list[str] = []
    for pattern in patterns:
        if pattern.endswith(".toml"):
            networks.layer_of(pattern)  # complains now
            found.append(pattern)
            continue
        matches = fnmatch.filter(names(), pattern)
        if not matches:
            check_choice("workload", pattern, names())
        found += matches
    return list(dict.fromkeys(found))


def run(
    names: Iterable[str],
    *,
    dtype: str = "float32",
    peers: bool = True,
    progress: Show,
    repeats: int = 15,
) -> list[dict[str, Any]]:
    """Times workloads.

    Args:
        names: of workloads, patterns such as "mild-*", or paths of configuration files
            (.toml), whose first layer is calibrated.
        dtype: of jaxbar's numbers, "float32" (default) or "float64", which is solved to a
            tolerance of 1e-10. The peers always use float64.
        peers: whether the other programs are timed too; SuperLU gives the errors all the same.
        progress: called as ``progress("benchmark", rows done, rows in all)``.
        repeats: calls at most; five are made in any case, and then no more after 5 s.

    Returns:
        A dict for each row: workload, kind ("forward", "gradient", "tune", "digital" or
        "step"), dtype, first_s (the first call in seconds, compilation included), median_ms,
        low_ms and high_ms (10th and 90th percentile), runs, peak_mib (memory, or None), error
        (the largest of the result relative to its largest entry, or None), and for each peer
        that ran {peer}_ms (median) and {peer}_ratio (over jaxbar's).

    Raises:
        ValueError: an argument is not allowed; the message names it.
    """
    return list(rows(names, dtype=dtype, peers=peers, progress=progress, repeats=repeats))


def rows(
    names: Iterable[str],
    *,
    dtype: str = "float32",
    peers: bool = True,
    progress: Show,
    repeats: int = 15,
) -> Iterator[dict[str, Any]]:
    """As `run`, each row as soon as it is found: what there is survives an interruption."""
    chosen = select(names)
    check_choice("dtype", dtype, ("float32", "float64"))
    check_count("repeats", repeats)
    return _rows(chosen, dtype, peers, progress, repeats)


def _rows(
    chosen: list[str], dtype: str, peers: bool, progress: Show, repeats: int
) -> Iterator[dict[str, Any]]:
    blas()
    total, done = sum(map(_count, chosen)), 0
    progress("benchmark", done, total)
    for name in chosen:
        # Entered anew for each step: a generator must not hold what its caller would then see.
        jobs = _jobs(name, dtype)
        while True:
            with jax.enable_x64(dtype == "float64"), one_blas_thread():
                job = next(jobs, None)
                row = None if job is None else measure(job, dtype, peers=peers, repeats=repeats)
            if row is None:
                break
            done += 1
            progress("benchmark", done, total)
            yield row


def _jobs(name: str, dtype: str) -> Iterator[Job]:
    if name in _TILES:
        return tiles.jobs(name, *_TILES[name], dtype)
    layer = _layer(name)
    if layer is not None:
        return networks.layer_jobs(name, layer, dtype)
    return networks.training_jobs(dtype)


def _layer(name: str) -> networks.Layer | None:
    return networks.layer_of(name) if name.endswith(".toml") else networks.LAYERS.get(name)


def _count(name: str) -> int:
    """The rows of a workload."""
    layer = _layer(name)
    if layer is not None:
        return 1 + layer.forward
    return 2 if name in _TILES else 1 + len(networks.STEPS)
