"""Filters: values that say which documents match, and that ``&``, ``|`` and ``~`` combine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from leafspan.errors import InvalidArgument

MOST_LEVELS = 100  # most levels of &, | and ~ inside each other: code that reads a filter recurses once per level


class Where(ABC):
    """A filter on documents, made with ``F``. ``&``, ``|`` and ``~`` combine filters: ``year_2020 & ~draft``.

    A document matches either a filter or its negation; there is no third truth value. Filters are immutable and hashable.
    The ``repr`` of a filter is Python code that builds it. Filters with the same ``repr`` are equal, and so
    ``F("a") == 1`` does not equal ``F("a") == True``.
    """

    __slots__ = ()
    needs_parentheses: ClassVar[bool] = False
    """Whether the code of the filter needs parentheses beside ``&``, ``|`` and ``~``."""
    levels: int = 1
    """The number of levels of filters inside each other, 1 for a condition."""

    @abstractmethod
    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        """Whether a document matches.

        Args:
            metadata: The document's metadata. None and an empty list are missing values, as in an added document.
                A value of a type that the filter does not expect does not match, and is no error.
            document_id: The document's id, for filters on ``doc_id``. Default: empty.
        """

    @property
    def negated_text(self) -> str:
        """The Python code of the negation."""
        return f"~{self.text_beside_operator}"

    @property
    def text_beside_operator(self) -> str:
        """The Python code of the filter beside ``&``, ``|`` and ``~``, which bind more tightly than comparisons."""
        return f"({self!r})" if self.needs_parentheses else repr(self)

    def __and__(self, other: object) -> Where:
        return And(flattened(And, (self, other))) if isinstance(other, Where) else NotImplemented

    def __or__(self, other: object) -> Where:
        return Or(flattened(Or, (self, other))) if isinstance(other, Where) else NotImplemented

    def __invert__(self) -> Where:
        return Not(self)

    def __bool__(self) -> bool:
        """Always a TypeError: otherwise ``a and b`` would be ``b``, and ``1 < F(key) < 9`` would be ``F(key) < 9``."""
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
class Joined(Where):
    """Two or more ``parts`` joined by the ``sign``. No part is itself joined by it."""

    parts: tuple[Where, ...]
    levels: int = field(init=False)
    sign: ClassVar[str]
    needs_parentheses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _levels_above(self.parts))

    def __repr__(self) -> str:
        return self.sign.join(part.text_beside_operator for part in self.parts)


class And(Joined):
    """A filter: all ``parts`` match."""

    __slots__ = ()
    sign = " & "

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        return all(part.matches(metadata, document_id) for part in self.parts)


class Or(Joined):
    """A filter: at least one of the ``parts`` matches."""

    __slots__ = ()
    sign = " | "

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        return any(part.matches(metadata, document_id) for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Where):
    """A filter: ``part`` does not match. ``~`` of a ``Not`` is its part."""

    part: Where
    levels: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _levels_above((self.part,)))

    def matches(self, metadata: Mapping[str, object], document_id: str = "") -> bool:
        return not self.part.matches(metadata, document_id)

    def __invert__(self) -> Where:
        return self.part

    def __repr__(self) -> str:
        return self.part.negated_text

    @property
    def text_beside_operator(self) -> str:
        text = self.part.negated_text  # once: a negation of a negation would double the work at each level
        is_comparison = self.part.needs_parentheses and not text.startswith("~")  # such as F("a") != 1
        return f"({text})" if is_comparison else text


def _levels_above(parts: Iterable[Where]) -> int:
    """The number of levels of a filter with these parts. Too many are an InvalidArgument."""
    levels = 1 + max(part.levels for part in parts)
    if levels > MOST_LEVELS:
        raise InvalidArgument(
            f"a filter must have at most {MOST_LEVELS} levels of &, | and ~ inside each other, got {levels}: put filters "
            "joined by the same operator side by side, or use in_ or contains_any"
        )
    return levels


def flattened(kind: type[And] | type[Or], filters: Iterable[Where]) -> tuple[Where, ...]:
    """The parts of an ``And`` or ``Or`` of these filters. A filter of the same kind is replaced by its own parts."""
    parts: list[Where] = []
    for each in filters:
        parts.extend(each.parts if isinstance(each, kind) else (each,))
    return tuple(parts)
