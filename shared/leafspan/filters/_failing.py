"""Finds the parts of a filter that a document does not match."""

from __future__ import annotations

from collections.abc import Mapping

from leafspan.filters._conditions import Condition, value_of
from leafspan.filters._expression import And, Not, Or, Where


def failing_parts(
    where: Where, metadata: Mapping[str, object], document_id: str = ""
) -> list[tuple[Where, dict[str, object]]]:
    """The smallest parts of a filter that keep a document from matching, each with the document's values of its keys.

    For parts joined by ``&`` these are the parts that do not match; for parts joined by ``|`` all parts. A negation stays
    whole. A value is None if the document does not have the key. The list is empty if the document matches.
    """
    if where.matches(metadata, document_id):
        return []
    if isinstance(where, And | Or):
        return [each for part in where.parts for each in failing_parts(part, metadata, document_id)]
    return [(where, {key: value_of(key, metadata, document_id) for key in _keys(where)})]


def _keys(where: Where) -> list[str]:
    """The keys of a filter, each once."""
    if isinstance(where, Condition):
        return [where.key]
    parts = where.parts if isinstance(where, And | Or) else (where.part,) if isinstance(where, Not) else ()
    return list(dict.fromkeys(key for part in parts for key in _keys(part)))
