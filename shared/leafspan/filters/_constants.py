"""Filters that say the same of every document."""

from __future__ import annotations

from leafspan.filters._conditions import DOCUMENT_ID, Exists, OneOf
from leafspan.filters._expression import And, Not, Or, Where


def constant(filter: Where) -> bool | None:
    """True for a filter that every document matches, False for one that none does, None where it depends on the document.

    Decided by its form alone: an ``in_`` of no values is False, ``F("doc_id").exists()`` is True, and ``&``, ``|`` and
    ``~`` of these are worked out. Of what could only be told by comparing conditions, such as ``a | ~a``, it is None.
    """
    match filter:
        case OneOf():
            return None if filter.values else False
        case Exists():
            return True if filter.key == DOCUMENT_ID else None
        case Not():
            part = constant(filter.part)
            return None if part is None else not part
        case And() | Or():
            parts = {constant(part) for part in filter.parts}
            decisive = isinstance(filter, Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    return None
