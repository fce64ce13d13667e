"""What a filter says about many documents: a decision for all of them at once, and values that it fixes or must have."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, reduce
from operator import iand, ior
from typing import Any, Literal, TypeAlias, get_args

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import (
    DOCUMENT_ID,
    Condition,
    Contains,
    Equal,
    Exists,
    OneOf,
    Ordered,
    all_of,
    any_of,
    canonical,
    instant,
    is_number,
    value_of,
)
from leafspan.filters._expression import And, Joined, Not, Or, Where
from leafspan.flows import NDArray, np


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
        same: NDArray[np.bool_] = self._numbers == self._number_of.get(canonical(value), -1)
        return same

    def _with_numbers(self, numbers: Sequence[int] | NDArray[np.intp]) -> NDArray[np.bool_]:
        """Mask of the documents whose value has one of these numbers."""
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


def implied(filter: Where | None) -> dict[str, object]:
    """The value of each key that the filter fixes by ``==``, alone or joined by ``&``. Empty without a filter.

    ``in_`` fixes no value, and neither does a filter inside ``|`` or ``~``. An equality of Haystack or LlamaIndex, where
    True equals 1, fixes the value as written. Lists are lists. The document's id is under ``doc_id``.
    """
    values: dict[str, object] = {}
    for part in filter.parts if isinstance(filter, And) else [filter]:
        equality, *others = part.parts if isinstance(part, Or) else [part]
        same = [each for each in others if isinstance(each, Equal)]
        if not isinstance(equality, Equal) or len(same) < len(others):
            continue
        if any((each.key, each.value) != (equality.key, equality.value) for each in same):
            continue
        value = list(equality.value) if isinstance(equality.value, tuple) else equality.value
        if canonical(values.setdefault(equality.key, value)) != canonical(value):
            raise InvalidArgument(
                f"a key must have one value, got {values[equality.key]!r} and {value!r} for {equality.key!r} in {filter!r}"
            )
    return values


def constant(filter: Where) -> bool | None:
    """True if every document matches the filter, False if no document does, None if it depends on the document.

    ``in_`` without values is False, ``F("doc_id").exists()`` is True, and ``&``, ``|`` and ``~`` of these follow from them.
    Conditions are not compared with each other, and so it is None for ``a | ~a``.
    """
    match filter:
        case OneOf():
            return None if filter.values else False
        case Exists():
            return True if filter.key == DOCUMENT_ID else None
        case Not():
            part = constant(filter.part)
            return None if part is None else not part
        case Joined():
            parts = {constant(part) for part in filter.parts}
            decisive = isinstance(filter, Or)  # one part with this value decides the whole filter
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    return None


def failing_parts(
    where: Where, metadata: Mapping[str, object], document_id: str = ""
) -> list[tuple[Where, dict[str, object]]]:
    """The smallest parts of a filter that keep a document from matching, each with the document's values of its keys.

    For parts joined by ``&`` these are the parts that do not match; for parts joined by ``|`` all parts. A negation stays
    whole. A value is None if the document does not have the key. The list is empty if the document matches.
    """
    if where.matches(metadata, document_id):
        return []
    if isinstance(where, Joined):
        return [each for part in where.parts for each in failing_parts(part, metadata, document_id)]
    return [(where, {key: value_of(key, metadata, document_id) for key in _keys(where)})]


def _keys(where: Where) -> list[str]:
    """The keys of a filter, each once."""
    if isinstance(where, Condition):
        return [where.key]
    parts = where.parts if isinstance(where, Joined) else (where.part,) if isinstance(where, Not) else ()
    return list(dict.fromkeys(key for part in parts for key in _keys(part)))


def with_conditions(where: Where, change: Callable[[Condition], Where]) -> Where:
    """The filter with each condition replaced by ``change(condition)``."""
    if isinstance(where, Joined):
        join = all_of if isinstance(where, And) else any_of
        return join(with_conditions(part, change) for part in where.parts)
    if isinstance(where, Not):
        return ~with_conditions(where.part, change)
    return change(where) if isinstance(where, Condition) else where


FilterPolicy: TypeAlias = Literal["replace", "merge"]
"""What happens if a retriever and a call both have a filter: see ``apply_policy``."""


def apply_policy(own: Where | None, runtime: Where | None, policy: FilterPolicy = "replace") -> Where | None:
    """The filter of a call to a retriever with its own filter, or None without both.

    With ``"merge"`` a call can only narrow the retriever's own filter: a retriever for tenant A never finds tenant B's
    documents. So ``"merge"`` can protect a tenant's documents, and ``"replace"`` cannot. Haystack's ``merge`` differs: a
    runtime filter on the same field replaces the own one, and a runtime OR drops it.
    """
    if policy not in get_args(FilterPolicy):
        raise InvalidArgument(f"policy must be 'replace' or 'merge', got {shown(policy)}")
    if own is None or runtime is None:
        return own if runtime is None else runtime
    return own & runtime if policy == "merge" else runtime
