"""A progress bar for long work."""

from __future__ import annotations

import sys
import threading
from typing import Any

from leafspan.checks import check_flag

_TICK = 1.0  # seconds after which the bar appears, and then shows the time again
_BAR = 10  # columns that a bar needs
_TIME = 16  # columns of the time gone and the time left, in brackets


class Progress:
    """A line of text on standard error that says what is being done, and how much of it is done.

    It appears after a second, so that short work shows nothing, and is written again at least each second, so that it is
    seen to move while a single step takes long. It fits the terminal: in a narrow one the bar and the time are left out
    first, then the counts. It is text in a notebook, too.

    Raises:
        InvalidArgument: if ``show`` is neither True nor False nor None.
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
        """Count this many more as done."""
        if self._bar is not None:
            self._bar.n += count
            self._layout()
            self._bar.update(0)

    def say(self, what: str, counts: str, *, done: int = 0, total: int | None = None) -> None:
        """Show what is being done now."""
        if self._bar is not None:
            self._what, self._counts = what, counts
            self._bar.total = total or None
            self._bar.n = max(self._bar.n, done)
            self._layout()
            self._bar.update(0)

    def close(self) -> None:
        """Leave the line as it stands."""
        if self._bar is not None:
            with self._closing:
                self._closed.set()
                self._bar.close()

    def _layout(self) -> None:
        """Choose what of the line has room."""
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
                    self._bar.delay = 0  # from now on it is shown at the end, too
                    self._layout()
                    self._bar.refresh()


def _known_size(size: Any) -> Any:
    """A function from a stream to columns and rows, of tqdm's, which writes nothing where a terminal has no rows.

    Terminals that nobody has given a size, as in containers and under ``script``, say that they have none.
    """

    def known(stream: Any) -> tuple[int | None, int | None]:
        columns, rows = size(stream) if size is not None else (None, None)
        return (columns if columns and columns > 0 else None), (rows if rows and rows > 0 else None)

    return known
