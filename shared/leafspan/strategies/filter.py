"""Passages by metadata alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from leafspan.requests import Asking, Browse, Load
from leafspan.strategies.strategy import Reach, whole
from leafspan.values import Found, Hit, Query, scored


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The leaves of the documents that match the filter of the call, by document id and position; no query is needed.

    ``offset`` leaves are passed over: ``Filter(offset=40)`` with ``k=20`` is the third page of 20. All scores are 1.

    Raises:
        InvalidArgument: if ``offset`` is negative.
    """

    offset: int = 0

    needs_query: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("offset", self.offset, 0)

    def retrieve(self, queries: Sequence[Query], reach: Reach) -> Asking[list[list[Found]]]:
        """See Strategy."""
        hits: list[Hit] = yield Browse(self.offset, reach.candidates, reach.where)
        loaded: dict[str, Found] = yield Load(tuple(hit.id for hit in hits))
        return [[scored(loaded[hit.id], hit.score, "filter") for hit in hits] for _ in queries]
