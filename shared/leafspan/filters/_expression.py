"""Filters: values that say which documents match, and that ``&``, ``|`` and ``~`` combine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar


class Where(ABC):
    """A filter on documents, made with ``F``. ``&``, ``|`` and ``~`` combine filters: ``year_2020 & ~draft``.

    A document matches either a filter or its negation; there is no third truth value. Filters are immutable and hashable.
    The ``repr`` of a filter is Python code that builds it. Filters with the same ``repr`` are equal, and so
    ``F("a") == 1`` does not equal ``F("a") == True``.
    """

    __slots__ = ()
    needs_parentheses: ClassVar[bool] = True
    """Whether the code of the filter needs parentheses beside ``&``, ``|`` and ``~``."""

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        """Whether a document matches.

        Args:
            metadata: The document's metadata. None and an empty list count as missing, as they do when a document is added.
                A value of a type that the filter does not expect does not match, and is no error.
            document_id: The document's id, for filters on ``doc_id``. Default: empty.
        """
        return self._decide(metadata, document_id)

    @abstractmethod
    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        """The answer of ``matches``."""

    @property
    def negated_text(self) -> str:
        """The Python code of the negation."""
        return f"~{self.text_beside_operator}"

    @property
    def text_beside_operator(self) -> str:
        """The Python code of the filter beside ``&``, ``|`` and ``~``, which bind more tightly than comparisons."""
        return f"({self!r})" if self.needs_parentheses else repr(self)

    def __and__(self, other: object) -> Where:
        return And(_flattened(And, (self, other))) if isinstance(other, Where) else NotImplemented

    def __or__(self, other: object) -> Where:
        return Or(_flattened(Or, (self, other))) if isinstance(other, Where) else NotImplemented

    def __invert__(self) -> Where:
        return Not(self)

    def __bool__(self) -> bool:
        """Always an error: otherwise ``a and b`` would be ``b``, and ``1 < F(key) < 9`` would be ``F(key) < 9``.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "a filter has no truth value: combine filters with &, | and ~ instead of and, or and not, each comparison in "
            "parentheses; write a range as two comparisons; ask for a missing filter with `is None`"
        )

    # Compared by code and not by fields, since 1, 1.0 and True are equal as fields of a dataclass.
    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other) if isinstance(other, Where) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Where):
    """A filter: all ``parts`` match. There are two or more, and none is an ``And`` itself."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return all(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " & ".join(part.text_beside_operator for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Where):
    """A filter: at least one of the ``parts`` matches. There are two or more, and none is an ``Or`` itself."""

    parts: tuple[Where, ...]

    def _decide(self, metadata: Mapping[str, object], document_id: str) -> bool:
        return any(part.matches(metadata, document_id) for part in self.parts)

    def __repr__(self) -> str:
        return " | ".join(part.text_beside_operator for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Where):
    """A filter: ``part`` does not match. ``~`` of a ``Not`` is its part."""

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
        """The Python code, in parentheses if the negation is a comparison such as ``F("a") != 1``."""
        is_comparison = self.part.needs_parentheses and not self.part.negated_text.startswith("~")
        return f"({self!r})" if is_comparison else repr(self)


def _flattened(kind: type[And] | type[Or], filters: Iterable[Where]) -> tuple[Where, ...]:
    """The parts of an ``And`` or ``Or`` of these filters. A filter of the same kind is replaced by its own parts."""
    parts: list[Where] = []
    for each in filters:
        parts.extend(each.parts if isinstance(each, kind) else (each,))
    return tuple(parts)
