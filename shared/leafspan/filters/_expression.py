"""What every filter is: a value that decides about documents, and combines with others by ``&``, ``|`` and ``~``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar


class Where(ABC):
    """A decision about documents: ``year_2020 & ~draft`` is a filter made of two others.

    Immutable and hashable. Two filters are equal where they read the same, so ``F("a") == 1`` and ``F("a") == True`` are
    not. The ``repr`` is the Python text that builds the filter.

    There is no third truth value: a document either matches a filter or matches its negation.
    """

    __slots__ = ()
    needs_parentheses: ClassVar[bool] = True
    """Whether the text of the filter must stand in parentheses beside ``&``, ``|`` and ``~``."""

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        """Whether the document with this metadata and this id is wanted.

        A value of None and an empty list count as missing, as they do when a document is stored. Values of a type that
        the filter does not expect never match, and are no error.
        """
        return self._decide(metadata, document_id)

    @abstractmethod
    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        """What ``matches`` says."""

    @property
    def negated_text(self) -> str:
        """The Python text of the negation."""
        return f"~{self.text_beside_operator}"

    @property
    def text_beside_operator(self) -> str:
        """The Python text of the filter beside ``&``, ``|`` and ``~``, which bind more tightly than comparisons."""
        return f"({self!r})" if self.needs_parentheses else repr(self)

    def __and__(self, other: object) -> Where:
        return And(_flat(And, (self, other))) if isinstance(other, Where) else NotImplemented

    def __or__(self, other: object) -> Where:
        return Or(_flat(Or, (self, other))) if isinstance(other, Where) else NotImplemented

    def __invert__(self) -> Where:
        return Not(self)

    def __bool__(self) -> bool:
        """Raises, since ``a and b`` would otherwise be ``b``, and ``1 < F(key) < 9`` only half of what it says."""
        raise TypeError(
            "a filter has no truth value: combine filters with &, | and ~ instead of and, or and not, each comparison in "
            "parentheses; write a range as two comparisons; ask for a missing filter with `is None`"
        )

    # By text and not by fields, since 1, 1.0 and True are equal as fields of a dataclass.
    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, Where) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Where):
    """All ``parts`` match: two or more, none of which is an ``And``."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return all(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(part.text_beside_operator for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Where):
    """At least one of the ``parts`` matches: two or more, none of which is an ``Or``."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return any(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(part.text_beside_operator for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Where):
    """``part`` does not match. ``~`` never makes the ``Not`` of a ``Not``."""

    part: Where

    needs_parentheses: ClassVar[bool] = False

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return not self.part.matches(metadata, document_id)

    def __invert__(self) -> Where:
        return self.part

    def __repr__(self) -> str:
        return self.part.negated_text

    @property
    def text_beside_operator(self) -> str:
        """In parentheses if the negation is written as a comparison, ``F("a") != 1``."""
        is_comparison = self.part.needs_parentheses and not self.part.negated_text.startswith("~")
        return f"({self!r})" if is_comparison else repr(self)


def _flat(kind: type[And] | type[Or], filters: Iterable[Where]) -> tuple[Where, ...]:
    """The parts of a conjunction or disjunction; one within another of its kind is taken apart."""
    parts: list[Where] = []
    for each in filters:
        parts.extend(each.parts if isinstance(each, kind) else (each,))
    return tuple(parts)
