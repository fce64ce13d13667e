"""What every filter is: a value that decides about documents, and combines with others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
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

    def __and__(self, other: object) -> Where:
        from leafspan.filters.logic import all_of  # which imports this module

        return all_of([self, other]) if isinstance(other, Where) else NotImplemented

    def __or__(self, other: object) -> Where:
        from leafspan.filters.logic import any_of

        return any_of([self, other]) if isinstance(other, Where) else NotImplemented

    def __invert__(self) -> Where:
        from leafspan.filters.logic import none_of

        return none_of([self])

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
