"""A row of a benchmark: what is timed, what it is compared with, and how."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .clock import Runner, peak_mib, race, seconds, spread
from .peers import Prepare


@dataclasses.dataclass(frozen=True)
class Job:
    """The work of one row.

    Attributes:
        workload, kind: name the row.
        call: jaxbar's, without arguments; the first call compiles.
        lower: gives its lowered program, where it is a single one.
        peers: by name, what prepares the same work by another program; it gives the call, or
            None where that program cannot do it. "superlu" is the reference of the errors.
    """

    workload: str
    kind: str
    call: Callable[[], Any]
    lower: Callable[[], Any] | None = None
    peers: Mapping[str, Prepare] = dataclasses.field(default_factory=dict)


def measure(job: Job, dtype: str, *, peers: bool, repeats: int) -> dict[str, Any]:
    """The row of a job; see `jaxbar.bench.run`."""
    first, value = seconds(job.call)
    del value
    peak = peak_mib(job.call, job.lower)
    runners = {"jaxbar": Runner(job.call, min(5, repeats), repeats, seconds=5.0)}
    if peers:
        for name, prepare in job.peers.items():
            call = prepare()
            if call is not None:
                most = 1 if name == "badcrossbar" else 3
                # Every other round, so that they are spread over jaxbar's.
                runners[name] = Runner(call, 1, most, seconds=15.0, every=2)
    times, values = race(runners)
    if not peers and "superlu" in job.peers:
        reference = job.peers["superlu"]()
        values["superlu"] = None if reference is None else reference()
    low, median, high = spread(times["jaxbar"])
    row: dict[str, Any] = {
        "workload": job.workload,
        "kind": job.kind,
        "dtype": dtype,
        "first_s": first,
        "median_ms": median,
        "low_ms": low,
        "high_ms": high,
        "runs": len(times["jaxbar"]),
        "peak_mib": peak,
        "error": None,
    }
    if values.get("superlu") is not None:
        row["error"] = relative_error(values["jaxbar"], values["superlu"])
    for name in runners:
        if name != "jaxbar":
            row[f"{name}_ms"] = spread(times[name])[1]
            row[f"{name}_ratio"] = row[f"{name}_ms"] / median
    return row


def relative_error(found: Any, exact: Any) -> float:
    """The largest |found − exact| relative to the largest |exact|."""
    exact = np.asarray(exact, np.float64)
    found = np.asarray(found, np.float64)
    if found.shape != exact.shape:
        raise ValueError(f"results of shapes {found.shape} and {exact.shape}: they must agree")
    return float(np.abs(found - exact).max() / np.abs(exact).max())
