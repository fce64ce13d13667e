"""Filters made of filters: conjunction, disjunction, negation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from leafspan.filters.conditions import DOCUMENT_ID, Equal, Exists, OneOf
from leafspan.filters.expression import Where


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Where):
    """All ``parts`` match. Made by :func:`all_of`, so it has two parts at least, and none of them is an ``And``."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return all(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(_beside(part) for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Where):
    """At least one of the ``parts`` matches. Made by :func:`any_of`: two parts at least, and none of them is an ``Or``."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return any(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(_beside(part) for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Where):
    """``part`` does not match. Made by :func:`none_of`, so that ``part`` is no ``Not``."""

    part: Where

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return not self.part.matches(metadata, document_id)

    def __repr__(self) -> str:
        if isinstance(self.part, Equal):
            return self.part.text("!=")
        if isinstance(self.part, OneOf):
            return self.part.text("not_in")
        return f"~{_beside(self.part)}"

    needs_parentheses: ClassVar[bool] = False


def all_of(filters: Iterable[Where]) -> Where:
    """Their conjunction; of no filters, a filter that every document matches."""
    parts: list[Where] = []
    for part in filters:
        parts.extend(part.parts if isinstance(part, And) else [part])
    if not parts:
        return Exists(DOCUMENT_ID)  # every document has an id
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def any_of(filters: Iterable[Where]) -> Where:
    """Their disjunction; of no filters, a filter that no document matches."""
    parts: list[Where] = []
    for part in filters:
        parts.extend(part.parts if isinstance(part, Or) else [part])
    if not parts:
        return OneOf(DOCUMENT_ID, ())
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def none_of(filters: Iterable[Where]) -> Where:
    """A filter that matches where none of these does; of no filters, every document."""
    part = any_of(filters)
    return part.part if isinstance(part, Not) else Not(part)


def _beside(part: Where) -> str:
    """The text of a part beside an operator, all of which bind more tightly than comparisons."""
    is_comparison = isinstance(part, Not) and isinstance(part.part, Equal)
    return f"({part!r})" if part.needs_parentheses or is_comparison else repr(part)
