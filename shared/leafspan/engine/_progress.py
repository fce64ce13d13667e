"""A progress bar for long work."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class Progress:
    """Counts what is done, and shows it in a tqdm bar if the work takes more than a second.

    Args:
        total: Number of things to do, None if it is not known.
        show: Whether to show the bar. None shows it only in a terminal or a notebook.
        what: Text before the bar.
        unit: What is counted.
    """

    def __init__(self, total: int | None, *, show: bool | None, what: str = "Indexing", unit: str = " documents") -> None:
        self._bar: Any = None
        if show or (show is None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # without ipywidgets tqdm warns, and shows a bar of text instead
                from tqdm.auto import tqdm

            self._bar = tqdm(total=total, desc=what, unit=unit, delay=1)
        self._leaves = 0

    def advance(self, count: int) -> None:
        """Count this many more as done."""
        if self._bar is not None:
            self._bar.update(count)

    def embedded(self, leaves: int) -> None:
        """Count this many more leaves as embedded, which is shown beside the bar."""
        self._leaves += leaves
        if self._bar is not None:
            self._bar.set_postfix(leaves=self._leaves, refresh=False)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
