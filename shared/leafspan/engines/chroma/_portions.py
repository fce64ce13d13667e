"""How many records are written at a time, where an event loop is to go on in between."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import wraps
from typing import Any

from leafspan.flows import Call

_SECONDS = 0.055  # that one write should take; some take twice as long, when Chroma merges parts of its word index
_FEWEST = 100  # records. Below that, what each write costs by itself is most of its time


class Portions:
    """The size of the next write, so that each takes about the same time.

    Chroma in this process lets no other Python code run while it writes. How long that takes depends on the texts, on how
    many vectors are not in its files yet, and on the machine. So each write is measured, and the faster one of the last two
    counts: the other one may have waited for another process, or for something else that the machine did.
    """

    def __init__(self) -> None:
        self._size = _FEWEST
        self._rates: tuple[float, ...] = ()  # records a second, of the last writes

    def next(self, remaining: int) -> int:
        """Number of records of the next write."""
        return -(-remaining // max(round(remaining / self._size), 1))

    def measured(self, call: Call, records: int) -> Call:
        """The same call, which notes how long it takes."""
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
        """Note how long a write of so many records has taken."""
        if records < _FEWEST:
            return  # it says nothing of larger ones
        self._rates = (*self._rates[-1:], records / max(seconds, 1e-6))
        self._size = int(min(max(max(self._rates) * _SECONDS, _FEWEST), 2 * self._size))
