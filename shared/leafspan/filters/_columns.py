"""The metadata of many documents, arranged so that a filter is decided for all of them at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, reduce
from operator import iand, ior
from typing import TYPE_CHECKING, Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import (
    Condition,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    canonical,
    instant,
    is_number,
    value_of,
)
from leafspan.filters._expression import And, Joined, Not, Where

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Columns:
    """Decides filters for many documents at once. Each key is indexed when a filter first uses it."""

    def __init__(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        self._documents = tuple(documents)
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def matching(self, filter: Where) -> NDArray[np.bool_]:
        """Mask of the documents that match: ``[filter.matches(metadata, id) for id, metadata in documents]``."""
        if isinstance(filter, Condition):
            key = filter.key
            if key not in self._columns:  # harmless if two threads make it
                self._columns[key] = Column([value_of(key, metadata, id) for id, metadata in self._documents])
            return self._columns[key].matching(filter)
        if isinstance(filter, Not):
            return ~self.matching(filter.part)
        if isinstance(filter, Joined):
            return reduce(iand if isinstance(filter, And) else ior, map(self.matching, filter.parts))
        raise InvalidArgument(f"filter must be a Where, got {shown(filter)}")


class Column:
    """Decides conditions on one key for many documents at once.

    Different values are numbered from 0, and each document has the number of its value. A condition is decided once for
    each different value, and then looked up for each document. Order comparisons bisect sorted Python objects, since
    numpy's floats of 64 bits cannot represent all ints.
    """

    def __init__(self, values: Sequence[object]) -> None:
        import numpy as np

        self._number_of: dict[Hashable, int] = {}
        self._values: list[object] = []
        self._sorted: dict[Callable[[object], Any], tuple[list[Any], NDArray[np.intp]]] = {}
        numbers = np.empty(len(values), dtype=np.intp)
        for row, value in enumerate(values):
            number = self._number_of.setdefault(canonical(value), len(self._values))
            if number == len(self._values):
                self._values.append(value)
            numbers[row] = number
        self._numbers = numbers

    def matching(self, condition: Condition) -> NDArray[np.bool_]:
        """Mask of the documents for which the condition holds, of shape (documents,)."""
        if isinstance(condition, Equal):
            return self._equal_to(condition.value)
        if isinstance(condition, Exists):
            return ~self._equal_to(None)
        if isinstance(condition, OneOf):
            numbers = (self._number_of.get(canonical(value)) for value in condition.values)
            return self._with_numbers([number for number in numbers if number is not None])
        if isinstance(condition, Contains):
            return self._with_numbers(self._lists_with.get(canonical(condition.member), []))
        if isinstance(condition, Ordered):
            return self._with_numbers(self._in_order(condition))
        matches = (value is not None and condition.holds(value) for value in self._values)
        return self._with_numbers([number for number, is_match in enumerate(matches) if is_match])

    def _equal_to(self, value: object) -> NDArray[np.bool_]:
        """Mask of the documents with this value."""
        same: NDArray[np.bool_] = self._numbers == self._number_of.get(canonical(value), -1)
        return same

    def _with_numbers(self, numbers: Sequence[int] | NDArray[np.intp]) -> NDArray[np.bool_]:
        """Mask of the documents whose value has one of these numbers."""
        import numpy as np

        matches = np.zeros(len(self._values), dtype=np.bool_)
        matches[numbers] = True
        return matches[self._numbers]

    def _in_order(self, condition: Ordered) -> NDArray[np.intp]:
        """The numbers of the values that match an order comparison."""
        bound = condition.bound
        moment = instant(bound) if isinstance(bound, str) else None
        measure = _number if not isinstance(bound, str) else _text if moment is None else _moment
        values, numbers = self._sorted_by(measure)
        side = bisect_left if condition.operator in ("<", ">=") else bisect_right
        place = side(values, bound if moment is None else moment)
        return numbers[:place] if condition.operator in ("<", "<=") else numbers[place:]

    def _sorted_by(self, measure: Callable[[object], Any]) -> tuple[list[Any], NDArray[np.intp]]:
        """The measures of the values that have one, in ascending order, and the numbers of these values."""
        import numpy as np

        if measure not in self._sorted:  # harmless if two threads sort
            measured = ((measure(value), number) for number, value in enumerate(self._values))
            ordered = sorted(each for each in measured if each[0] is not None)
            self._sorted[measure] = (
                [each for each, _ in ordered],
                np.array([number for _, number in ordered], dtype=np.intp),
            )
        return self._sorted[measure]

    @cached_property
    def _lists_with(self) -> dict[Hashable, list[int]]:
        """For each member of a list, the numbers of the lists with this member."""
        lists: dict[Hashable, list[int]] = {}
        for number, value in enumerate(self._values):
            if isinstance(value, list | tuple):
                for member in dict.fromkeys(map(canonical, value)):
                    lists.setdefault(member, []).append(number)
        return lists


def _number(value: object) -> object:
    return value if is_number(value) else None


def _text(value: object) -> object:
    return value if isinstance(value, str) else None


def _moment(value: object) -> object:
    return instant(value) if isinstance(value, str) else None
