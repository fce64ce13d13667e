"""What a filter says about all documents, or about one; filters made of other filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters._conditions import DOCUMENT_ID, Condition, Equal, Exists, OneOf, all_of, any_of, canonical, value_of
from leafspan.filters._expression import And, Joined, Not, Or, Where


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
