"""The documents of an index at one moment, as one view of it sees them, and which of them a filter chooses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from leafspan.filters import Columns, Where
from leafspan.store._manifest import Row

K = TypeVar("K")
V = TypeVar("V")

_KEPT = 128  # filters whose answers are kept, and views


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Selection:
    """Documents by their stored ids, and how many leaves they have in all."""

    ids: frozenset[str] = field(repr=False)
    leaves: int


class Visibility(Protocol):
    """What a reader may see of an index. Equal ones see the same."""

    @property
    def shares_statistics(self) -> bool:
        """Whether idf and the average length are those of the whole index, not of what is seen."""
        ...

    def visible(self, everything: Catalogue) -> Catalogue:
        """What is seen of these documents."""
        ...

    def __hash__(self) -> int: ...


class _Recent(Generic[K, V]):
    """What was asked for lately. Two threads may both make a value, and either is right."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._mutex = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        with self._mutex:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        with self._mutex:
            self._values[key] = value
            if len(self._values) > _KEPT:
                self._values.popitem(last=False)


class Catalogue:
    """The manifest's rows by the ids that the view shows; whoever made it does not change them any more.

    Without a scope a document is shown under the id that it is stored under. A scoped view shows the documents that match
    its filter, its own ones without their suffix. Of two documents that would have one id there, its own is shown.
    """

    def __init__(self, rows: Mapping[str, Row], stored: Mapping[str, str] | None = None) -> None:
        self.rows = rows
        self._stored = stored
        self._selections: _Recent[Where | None, Selection] = _Recent()
        self._visible: _Recent[Visibility, Catalogue] = _Recent()

    def stored_id(self, shown: str) -> str | None:
        """The id under which the document is stored; None where the view has none of that id."""
        if self._stored is None:
            return shown if shown in self.rows else None
        return self._stored.get(shown)

    def shown_id(self, stored: str) -> str | None:
        """The id under which the view shows a document; None where it does not."""
        if self._stored is None:
            return stored if stored in self.rows else None
        return self._shown.get(stored)

    @property
    def leaves(self) -> int:
        """How many leaves all of the view's documents have."""
        return self.select(None).leaves

    def select(self, where: Where | None) -> Selection:
        """The view's documents that match the filter, or all."""
        if (known := self._selections.get(where)) is not None:
            return known
        selection = self._choose(where)
        self._selections.put(where, selection)
        return selection

    def visible_to(self, visibility: Visibility) -> Catalogue:
        """The documents of this catalogue that are visible there."""
        if (known := self._visible.get(visibility)) is not None:
            return known
        visible = visibility.visible(self)
        self._visible.put(visibility, visible)
        return visible

    def renamed(self, stored: Mapping[str, str]) -> Catalogue:
        """These documents under other ids: ``stored`` leads from the id that is shown to the stored one."""
        return Catalogue(shown_rows(self.rows, stored), stored)

    def _choose(self, where: Where | None) -> Selection:
        counted, columns = self._columns
        chosen = counted if where is None else [counted[place] for place in columns.matching(where).nonzero()[0]]
        ids = (row.document_id for row in chosen) if self._stored is None else (self._stored[r.document_id] for r in chosen)
        return Selection(frozenset(ids), sum(row.leaves for row in chosen))

    @cached_property
    def _columns(self) -> tuple[list[Row], Columns]:
        counted = [row for row in self.rows.values() if row.version is not None]
        return counted, Columns([(row.document_id, row.metadata) for row in counted])

    @cached_property
    def _shown(self) -> dict[str, str]:
        return {stored: shown for shown, stored in (self._stored or {}).items()}


def shown_rows(rows: Mapping[str, Row], stored: Mapping[str, str]) -> dict[str, Row]:
    """The rows by the ids under which they are shown, which they get themselves."""
    chosen = {shown: rows[id_] for shown, id_ in stored.items()}
    return {shown: row if row.document_id == shown else replace(row, document_id=shown) for shown, row in chosen.items()}
