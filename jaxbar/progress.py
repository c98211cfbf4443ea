"""Progress of a long job: bars with the time left on a terminal, sparse lines elsewhere."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

# Without a terminal, a job that goes on says so this often, in seconds.
_EVERY = 10.0

Show = Callable[[str, int, int], None]


@contextlib.contextmanager
def shown(console: Console) -> Iterator[Show]:
    """Yields a function (what, done, total) that shows how far each job is.

    Args:
        console: where; one that is no terminal gets a line when a job ends and every ten
            seconds until then, without control codes.
    """
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console) as bars:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield show


def _lines(console: Console) -> Show:
    began: dict[str, float] = {}
    said: dict[str, float] = {}

    def show(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        start = began.setdefault(what, now)
        if done < total and now - said.setdefault(what, now) < _EVERY:
            return
        said[what] = now
        text = f"{what}: {done}/{total}, {now - start:.0f} s"
        if 0 < done < total:
            text += f", about {(now - start) * (total - done) / done:.0f} s left"
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    return show
