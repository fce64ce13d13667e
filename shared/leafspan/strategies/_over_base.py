"""What strategies have in common that choose among, or reorder, what another one finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from leafspan.strategies._strategy import Strategy


class OverBase(Strategy):
    """A strategy over a ``base``, whose results are of the same kind as the base's. Subclasses are dataclasses."""

    __slots__ = ()

    base: Strategy

    @property
    def finds_spans(self) -> bool:
        """As the base."""
        return self.base.finds_spans

    @property
    def needs_query(self) -> bool:
        """As the base."""
        return self.base.needs_query

    @property
    def returns_all(self) -> bool:
        """As the base."""
        return self.base.returns_all

    @property
    def looks_once(self) -> bool:
        """As the base."""
        return self.base.looks_once

    @property
    def query_instruction(self) -> str:
        """As the base."""
        return self.base.query_instruction

    def with_summaries(self) -> Self | None:
        """The same over the base with summaries."""
        base = self.base.with_summaries()
        changed: Any = self
        return None if base is None else replace(changed, base=base)
