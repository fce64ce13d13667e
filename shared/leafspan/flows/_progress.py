"""A progress bar for long work."""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

from leafspan.checks import check_flag

_TICK = 1.0  # seconds until the bar appears, and between its updates
_BAR = 10  # columns that a bar needs
_TIME = 16  # columns for elapsed and remaining time, in brackets


class Progress:
    """A line of text on standard error with the current work and how much of it is done.

    It appears after a second, so that short work shows no line. Then it is written at least once a second, so that it moves
    even while a single step takes long. It fits the terminal: in a narrow one the bar and the time are left out first, then
    the counts. In a notebook it is text, too.
    """

    def __init__(self, total: int | None, *, show: bool | None, what: str, unit: str = " leaves") -> None:
        if show is not None:
            check_flag("progress", show)
        self._what = what
        self._unit = unit
        self._counts: str | None = None
        self._bar: Any = None
        self._closed = threading.Event()
        self._closing = threading.Lock()
        if show or (show is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
            from tqdm.std import tqdm

            delay = 0 if show else _TICK
            self._bar = tqdm(
                total=total, file=sys.stderr, dynamic_ncols=True, miniters=0, smoothing=0, delay=delay, bar_format=what
            )
            self._bar.dynamic_ncols = _known_size(self._bar.dynamic_ncols)
            self._layout()
            threading.Thread(target=self._tick, name="leafspan progress", daemon=True).start()

    def advance(self, count: int) -> None:
        """Add to the number of done steps."""
        if self._bar is not None:
            self._bar.n += count
            self._layout()
            self._bar.update(0)

    def say(self, what: str, counts: str, *, done: int = 0, total: int | None = None) -> None:
        if self._bar is not None:
            self._what, self._counts = what, counts
            self._bar.total = total or None
            self._bar.n = max(self._bar.n, done)
            self._layout()
            self._bar.update(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the line as it is."""
        if self._bar is not None:
            with self._closing:
                self._closed.set()
                self._bar.close()

    def _layout(self) -> None:
        """Choose the parts of the line that fit."""
        bar = self._bar
        columns = bar.format_dict["ncols"]
        n, total = bar.n, bar.total
        counts = self._counts
        if counts is None:
            counts = f"{n:,}/{total:,}{self._unit}" if total else f"{n:,}{self._unit}"
        share = "{percentage:3.0f}%" if total else ""
        words = f"{self._what}: {share} {counts}" if total else f"{self._what}: {counts}"
        time = " [{elapsed}<{remaining}]" if total else " [{elapsed}]"
        whole = f"{self._what}: {share}|{{bar}}| {counts}{time}" if total else words + time
        if not columns or len(self._what) + len(counts) + 10 + _BAR + _TIME <= columns:
            bar.bar_format = whole
        elif len(self._what) + len(counts) + 8 <= columns:
            bar.bar_format = words
        else:
            bar.bar_format = f"{share} {self._what}" if total else self._what

    def _tick(self) -> None:
        while not self._closed.wait(_TICK):
            with self._closing:
                if not self._closed.is_set():
                    self._bar.delay = 0  # from now on it also appears at the end
                    self._layout()
                    self._bar.refresh()


def _known_size(size: Any) -> Any:
    """Wrap tqdm's function for a terminal's columns and rows, so that sizes of 0 are unknown sizes.

    Terminals without a set size, as in containers and under ``script``, report 0, and tqdm would then show no bar.
    """

    def size_or_none(stream: Any) -> tuple[int | None, int | None]:
        columns, rows = size(stream) if size is not None else (None, None)
        return (columns if columns and columns > 0 else None), (rows if rows and rows > 0 else None)

    return size_or_none
