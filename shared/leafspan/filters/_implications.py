"""The values that a filter fixes for every document that matches it."""

from __future__ import annotations

from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import Equal
from leafspan.filters._expression import And, Or, Where
from leafspan.filters._values import canonical


def implied(filter: Where | None) -> dict[str, object]:
    """The value of each key that the filter fixes by ``==``, alone or joined by ``&``. Empty without a filter.

    ``in_`` fixes no value, and neither does a filter inside ``|`` or ``~``. An equality of Haystack or LlamaIndex, where
    True equals 1, fixes the value as written. Lists are lists. The document's id is under ``doc_id``.

    Raises:
        InvalidArgument: if the filter fixes two different values of one key, so that no document can match.
    """
    values: dict[str, object] = {}
    for part in filter.parts if isinstance(filter, And) else [filter]:
        equality = _equality(part)
        if equality is None:
            continue
        value = list(equality.value) if isinstance(equality.value, tuple) else equality.value
        if canonical(values.setdefault(equality.key, value)) != canonical(value):
            raise InvalidArgument(
                f"a key must have one value, got {values[equality.key]!r} and {value!r} for {equality.key!r} in {filter!r}"
            )
    return values


def _equality(part: Where | None) -> Equal | None:
    """The part as an equality, or None; an equality of Haystack or LlamaIndex is an ``Or`` of values equal in Python."""
    if isinstance(part, Or):
        first, *others = part.parts
        if isinstance(first, Equal) and all(_same_in_python(first, other) for other in others):
            return first
        return None
    return part if isinstance(part, Equal) else None


def _same_in_python(one: Equal, other: Where) -> bool:
    return isinstance(other, Equal) and (one.key, one.value) == (other.key, other.value)
