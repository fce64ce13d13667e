"""The progress output of long work."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator

import pytest

from leafspan.flows import Progress

pty = pytest.importorskip("pty")


class Terminal(io.TextIOWrapper):
    """Standard error in a terminal of a certain width, and what was written to it."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        import fcntl
        import struct
        import termios

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        super().__init__(os.fdopen(slave, "wb", buffering=0), encoding="utf-8", write_through=True)

    def lines(self) -> list[str]:
        """Each state of the line."""
        os.set_blocking(self._master, False)
        written = b""
        while True:
            try:
                piece = os.read(self._master, 65_536)
            except (BlockingIOError, OSError):
                break
            if not piece:
                break
            written += piece
        return [line.rstrip() for line in re.split(r"[\r\n]+", written.decode()) if line.strip()]

    def close(self) -> None:
        """Close both ends."""
        if not self.closed:
            os.close(self._master)
        super().close()


@pytest.fixture
def terminal_of(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Makes standard error a terminal with this number of columns."""
    made = []

    def make(columns: int, rows: int = 24) -> Terminal:
        made.append(Terminal(columns, rows))
        monkeypatch.setattr(sys, "stderr", made[-1])
        return made[-1]

    yield make
    for terminal in made:
        terminal.close()


def shown(terminal: Terminal) -> list[str]:
    """What four steps show in a terminal."""
    bar = Progress(None, show=True, what="Reading")
    bar.say("Splitting", "1,000/4,000 characters", done=1_000, total=12_000)
    bar.say("Embedding", "20/40 leaves", done=6_000, total=12_000)
    bar.say("Writing", "40/40 leaves", done=12_000, total=12_000)
    bar.close()
    return terminal.lines()


@pytest.mark.parametrize("columns", [80, 0])
def test_a_terminal_of_no_size_shows_the_line_too(terminal_of, columns):
    assert "100%" in shown(terminal_of(columns, rows=0))[-1]


@pytest.mark.parametrize("columns", [200, 80, 50, 40, 20, 10])
def test_a_line_fits_the_terminal(terminal_of, columns):
    lines = shown(terminal_of(columns))
    assert max(map(len, lines)) <= columns
    assert "100%" in lines[-1]


def test_a_wide_terminal_shows_step_share_counts_and_time(terminal_of):
    assert re.fullmatch(r"Writing: 100%\|█+\| 40/40 leaves \[\d\d:\d\d<00:00\]", shown(terminal_of(80))[-1])


def test_a_narrow_terminal_leaves_out_the_bar_and_then_the_counts(terminal_of):
    assert shown(terminal_of(40))[-1] == "Writing: 100% 40/40 leaves"
    assert shown(terminal_of(20))[-1] == "100% Writing"


def test_without_a_total_there_is_no_share(capsys):
    bar = Progress(None, show=True, what="Reading", unit=" documents")
    bar.advance(3)
    bar.close()
    assert re.search(r"Reading: 3 documents \[\d\d:\d\d\]\n$", capsys.readouterr().err)


def test_advancing_counts_in_the_given_unit(capsys):
    bar = Progress(4_000, show=True, what="Indexing words")
    bar.advance(1_000)
    bar.advance(1_000)
    bar.close()
    assert re.search(r"Indexing words:  50%\|█+ +\| 2,000/4,000 leaves \[.*\]\n$", capsys.readouterr().err)


def test_nothing_is_written_where_nobody_watches(capsys):
    bar = Progress(4, show=None, what="Reading")
    bar.advance(4)
    bar.say("Writing", "4/4 leaves", done=4, total=4)
    bar.close()
    assert capsys.readouterr().err == ""


def test_nothing_is_written_on_request(terminal_of):
    terminal = terminal_of(80)
    bar = Progress(4, show=False, what="Reading")
    bar.advance(4)
    bar.close()
    assert terminal.lines() == []


def test_short_work_writes_nothing_in_a_terminal(monkeypatch, terminal_of):
    monkeypatch.setattr("leafspan.flows._progress._TICK", 1_000.0)
    terminal = terminal_of(80)
    bar = Progress(4, show=None, what="Reading")
    bar.advance(4)
    bar.close()
    assert terminal.lines() == []


def test_the_line_appears_though_the_first_step_takes_long(monkeypatch, terminal_of):
    monkeypatch.setattr("leafspan.flows._progress._TICK", 0.01)
    terminal = terminal_of(80)
    bar = Progress(None, show=None, what="Reading")
    lines: list[str] = []
    while not lines:  # the first step, which lasts until the line is there
        lines = terminal.lines()
    bar.close()
    assert lines[0].startswith("Reading: 0 leaves [")


def test_a_notebook_shows_the_line_as_text(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("leafspan.flows._progress._TICK", 0.001)
    bar = Progress(4, show=None, what="Reading")
    bar.advance(4)
    written = ""
    while "\r" not in written:  # the work lasts until the line is there
        written += capsys.readouterr().err
    bar.close()
    written += capsys.readouterr().err
    assert "Reading: 100%|██████████| 4/4 leaves [" in written


def test_the_bar_never_goes_back(capsys):
    bar = Progress(None, show=True, what="Splitting")
    bar.say("Writing", "3/4 leaves", done=9, total=10)
    bar.say("Splitting", "1/4 documents", done=5, total=10)
    bar.close()
    assert "Splitting:  90%" in capsys.readouterr().err.splitlines()[-1]
