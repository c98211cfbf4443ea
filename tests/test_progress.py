"""Progress: bars on a terminal, sparse lines elsewhere."""

import io

import pytest
from rich.console import Console

from jaxbar import progress


@pytest.fixture
def clock(monkeypatch):
    """Seconds that a test sets."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_are_sparse_and_plain(clock):
    text = io.StringIO()
    with progress.shown(Console(file=text, force_terminal=False)) as show:
        for step in range(101):
            clock[0] = 0.3 * step
            show("train [a]", step, 100)
        show("next", 0, 1)
        show("next", 1, 1)
    assert text.getvalue().splitlines() == [
        "train [a]: 34/100, 10 s, about 20 s left",
        "train [a]: 68/100, 20 s, about 10 s left",
        "train [a]: 100/100, 30 s",
        "next: 1/1, 0 s",
    ]


def test_lines_come_in_time(clock):
    """They are written when they are known, not at the end."""
    text = io.StringIO()
    with progress.shown(Console(file=text, force_terminal=False)) as show:
        show("job", 1, 1)
        assert text.getvalue() == "job: 1/1, 0 s\n"


def test_a_terminal_gets_a_bar():
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=100, legacy_windows=False)
    with progress.shown(console) as show:
        show("first job", 0, 3)
        show("first job", 3, 3)
        show("second job", 1, 2)
    shown = text.getvalue()
    assert "first job" in shown
    assert "3/3" in shown
    assert "1/2" in shown
    assert "left" in shown
    assert "\x1b[" in shown


def test_an_error_passes_through():
    with (
        pytest.raises(KeyboardInterrupt),
        progress.shown(Console(file=io.StringIO(), force_terminal=True)) as show,
    ):
        show("job", 1, 2)
        raise KeyboardInterrupt
