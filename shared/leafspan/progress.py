"""A progress bar for long work."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class Progress:
    """How much is done so far, shown by tqdm once the work has taken a second.

    ``show``: True or False, or None for only where a person is watching (a terminal or a notebook).
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
        """So many more are done."""
        if self._bar is not None:
            self._bar.update(count)

    def embedded(self, leaves: int) -> None:
        """So many more leaves are embedded."""
        self._leaves += leaves
        if self._bar is not None:
            self._bar.set_postfix(leaves=self._leaves, refresh=False)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
