"""Filters whose answer is the same for every document."""

from __future__ import annotations

from leafspan.filters._conditions import DOCUMENT_ID, Exists, OneOf
from leafspan.filters._expression import And, Not, Or, Where


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
        case And() | Or():
            parts = {constant(part) for part in filter.parts}
            decisive = isinstance(filter, Or)  # one part with this value decides the whole filter
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    return None
