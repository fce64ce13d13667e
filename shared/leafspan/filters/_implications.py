"""What a filter says about every document that matches it."""

from __future__ import annotations

from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import Equal
from leafspan.filters._expression import And, Or, Where
from leafspan.filters._values import canonical


def implied(filter: Where | None) -> dict[str, object]:
    """The values, by key, that the equalities in a conjunction ask for; lists as lists. No filter implies nothing.

    A document that is given these values matches that part of the filter. Only ``==`` counts: not ``in_``, and nothing
    within ``|`` and ``~``, except that an equality of Haystack or LlamaIndex, for which True is 1, implies what was
    written. The document's id, where the filter gives one, is under ``doc_id``.

    Raises:
        InvalidArgument: if the filter asks for two different values of one key, so that no document can match.
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
    if isinstance(part, Or):
        first, *others = part.parts
        if isinstance(first, Equal) and all(_same_in_python(first, other) for other in others):
            return first
        return None
    return part if isinstance(part, Equal) else None


def _same_in_python(one: Equal, other: Where) -> bool:
    return isinstance(other, Equal) and (one.key, one.value) == (other.key, other.value)
