"""The rows of a benchmark as a table, on a terminal and in Markdown."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

_TEXT = 2  # columns that are no numbers


def number(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits, without an exponent; "" for None."""
    if value is None:
        return ""
    text = f"{value:#.{digits}g}"
    text = f"{float(text):.0f}" if "e" in text else text.rstrip(".")
    return text


def _grid(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The heads of the columns, and the cells of each row."""
    peers = list(dict.fromkeys(key[:-6] for row in rows for key in row if key.endswith("_ratio")))
    heads = ["workload", "kind", "first (s)", "median (ms)", "10–90 % (ms)", "memory (MiB)"]
    heads += ["error", *(f"{peer} (×)" for peer in peers)]
    return heads, [_cells(row, peers) for row in rows]


def _cells(row: dict[str, Any], peers: list[str]) -> list[str]:
    cells = [row["workload"], row["kind"], number(row["first_s"], 2)]
    cells += [number(row["median_ms"]), f"{number(row['low_ms'])}–{number(row['high_ms'])}"]
    cells.append(number(row["peak_mib"], 2))
    cells.append("" if row["error"] is None else f"{row['error']:.0e}")
    return cells + [number(row.get(f"{peer}_ratio"), 2) for peer in peers]


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """The rows of `run` as a table for the terminal."""
    heads, body = _grid(rows)
    dtypes = ", ".join(dict.fromkeys(row["dtype"] for row in rows))
    found = Table(title=f"{dtypes}; ×: a peer's time over jaxbar's", title_justify="left")
    for k, head in enumerate(heads):
        found.add_column(head, justify="left" if k < _TEXT else "right", no_wrap=k < _TEXT)
    for cells in body:
        found.add_row(*cells)
    return found


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The rows of `run` as a table in Markdown, with an end of line."""
    heads, body = _grid(rows)
    rule = ["---" if k < _TEXT else "---:" for k in range(len(heads))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, rule, *body))
