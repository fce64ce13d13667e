"""Chooses the size of writes so that an event loop can run in between."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import wraps
from typing import Any

from leafspan.flows import Call

_SECONDS = 0.055  # target for one write; some take twice as long, when Chroma merges parts of its word index
_FEWEST = 100  # records. Below that, the fixed cost of a write dominates


class Portions:
    """The size of the next write, so that each takes about the same time.

    Chroma in this process blocks all other Python code while it writes. The time depends on the texts, on the number of
    vectors that are not in its files yet, and on the machine. So leafspan measures each write, and uses the faster one of
    the last two: the slower one may have waited for another process, or for other work of the machine.
    """

    def __init__(self) -> None:
        self._size = _FEWEST
        self._rates: tuple[float, ...] = ()  # records a second, of the last writes

    def next(self, remaining: int) -> int:
        """Return the number of records of the next write."""
        return -(-remaining // max(round(remaining / self._size), 1))

    def measured(self, call: Call, records: int) -> Call:
        """Return the same call, with its time measured."""
        function = call.function
        assert function is not None

        @wraps(function)
        def measured(*arguments: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            result = function(*arguments, **options)
            self.note(records, time.perf_counter() - begun)
            return result

        return replace(call, function=measured)

    def note(self, records: int, seconds: float) -> None:
        """Note how long a write of this many records took."""
        if records < _FEWEST:
            return  # too small to predict larger ones
        self._rates = (*self._rates[-1:], records / max(seconds, 1e-6))
        self._size = int(min(max(max(self._rates) * _SECONDS, _FEWEST), 2 * self._size))
