"""One key of many documents: its different values, and which document has which."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.filters._conditions import Condition, Contains, Equal, Exists, OneOf, Ordered
from leafspan.filters._instants import instant
from leafspan.filters._values import canonical, is_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Ranked(NamedTuple):
    """Values in ascending order, and the number of each."""

    values: list[Any]
    numbers: NDArray[np.intp]


class Column:
    """The values of one key, None where a document has none.

    Equal values share a number, counted from 0. A condition is decided once a number, and documents then look up theirs:
    both steps are fast, however the values are spread. Orders are found by bisection in Python's own values, since floats
    of 64 bits cannot tell all ints apart.
    """

    def __init__(self, values: Sequence[object]) -> None:
        import numpy as np

        self._number_of: dict[Hashable, int] = {}
        self._values: list[object] = []
        numbers = np.empty(len(values), dtype=np.intp)
        for row, value in enumerate(values):
            number = self._number_of.setdefault(canonical(value), len(self._values))
            if number == len(self._values):
                self._values.append(value)
            numbers[row] = number
        self._numbers = numbers

    def matching(self, condition: Condition) -> NDArray[np.bool_]:
        """Of shape (documents,): whether the condition holds."""
        if isinstance(condition, Equal):
            return self._numbered(condition.value)
        if isinstance(condition, Exists):
            return ~self._numbered(None)
        if isinstance(condition, OneOf):
            found = (self._number_of.get(canonical(value)) for value in condition.values)
            return self._having([number for number in found if number is not None])
        if isinstance(condition, Contains):
            return self._having(self._lists_with.get(canonical(condition.member), []))
        if isinstance(condition, Ordered):
            return self._having(self._in_order(condition))
        return self._having([number for number, value in enumerate(self._values) if condition.holds(value)])

    def _numbered(self, value: object) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = self._numbers == self._number_of.get(canonical(value), -1)
        return same

    def _having(self, numbers: Sequence[int] | NDArray[np.intp]) -> NDArray[np.bool_]:
        import numpy as np

        wanted = np.zeros(len(self._values), dtype=np.bool_)
        wanted[numbers] = True
        return wanted[self._numbers]

    def _in_order(self, condition: Ordered) -> NDArray[np.intp]:
        bound = condition.bound
        ranked = self._by_size
        if isinstance(bound, str):
            moment = instant(bound)
            ranked, bound = (self._by_text, bound) if moment is None else (self._by_time, moment)
        if condition.operator in ("<", "<="):
            side = bisect_left if condition.operator == "<" else bisect_right
            return ranked.numbers[: side(ranked.values, bound)]
        side = bisect_right if condition.operator == ">" else bisect_left
        return ranked.numbers[side(ranked.values, bound) :]

    @cached_property
    def _by_size(self) -> Ranked:
        return _ranked((value, number) for number, value in enumerate(self._values) if is_number(value))

    @cached_property
    def _by_text(self) -> Ranked:
        return _ranked((value, number) for number, value in enumerate(self._values) if isinstance(value, str))

    @cached_property
    def _by_time(self) -> Ranked:
        moments = ((instant(value), number) for number, value in enumerate(self._values) if isinstance(value, str))
        return _ranked((moment, number) for moment, number in moments if moment is not None)

    @cached_property
    def _lists_with(self) -> dict[Hashable, list[int]]:
        """For each member, the numbers of the lists that have it."""
        lists: dict[Hashable, list[int]] = {}
        for number, value in enumerate(self._values):
            if isinstance(value, list | tuple):
                for member in dict.fromkeys(map(canonical, value)):
                    lists.setdefault(member, []).append(number)
        return lists


def _ranked(pairs: Iterable[tuple[Any, int]]) -> Ranked:
    import numpy as np

    ordered = sorted(pairs)
    return Ranked([value for value, _ in ordered], np.array([number for _, number in ordered], dtype=np.intp))
