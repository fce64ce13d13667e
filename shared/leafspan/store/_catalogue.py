"""The documents of an index at one moment, as one view shows them, and the selections that filters make of them."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import Generic, NamedTuple, Protocol, TypeVar

from leafspan.checks import did_you_mean, shown
from leafspan.errors import DocumentNotFound
from leafspan.filters import Columns, Where
from leafspan.flows import NDArray, np
from leafspan.store._document_table import DocumentTable, Numbering
from leafspan.store._manifest import Damage, Row, RowHead
from leafspan.store._stored_rows import StoredRows, are_current
from leafspan.values import LeafId

K = TypeVar("K")
V = TypeVar("V")

_MOST_COMPARED = 5_000  # a "did you mean" hint compares at most this number of ids
_MOST_COUNTED = 200  # documents whose languages say what the others are likely to be in
_CACHE_SIZE = 128  # entries in each cache of a catalogue


class Selection:
    """A set of documents, such as those that match a filter."""

    def __init__(
        self,
        ids: frozenset[str] | Callable[[], frozenset[str]],
        leaves: int,
        chosen: tuple[Numbering, NDArray[np.bool_]] | None = None,
    ) -> None:
        self._source = ids
        self.leaves = leaves  # number of leaves of all its documents
        self.chosen = chosen  # for each number of the numbering, whether the set has the document

    def __contains__(self, stored_id: str | None) -> bool:
        """Whether the set has the document with this stored id. The catalogue must have it. No list of ids is made."""
        if self.chosen is None or stored_id is None:
            return stored_id in self.ids
        numbering, chosen = self.chosen
        number = numbering.number_of(stored_id)
        return number is not None and bool(chosen[number])

    @cached_property
    def ids(self) -> frozenset[str]:
        """The documents' stored ids."""
        return self._source() if callable(self._source) else self._source


class Totals(NamedTuple):
    documents: int
    leaves: int
    words: int  # total length of the texts
    characters: int  # total length of the texts
    languages: Mapping[str, int]  # number of documents by language code, most frequent first


class Visibility(Protocol):
    """A rule that says which documents of an index are visible. Equal rules show the same documents."""

    @property
    def shares_statistics(self) -> bool:
        """Whether idf and the average length are computed over the whole index instead of the visible documents."""

    def visible(self, everything: Catalogue) -> Catalogue:
        """Return the visible documents of the whole index's catalogue, by the ids under which they are shown."""

    def __hash__(self) -> int: ...


class _LRUCache(Generic[K, V]):
    """A cache that drops its least recently used value. Two threads may both compute the same value."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._mutex = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The cached value, or else the value that ``make`` returns, which is then cached."""
        with self._mutex:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._mutex:
            self._values[key] = value
            if len(self._values) > _CACHE_SIZE:
                self._values.popitem(last=False)
        return value


class Catalogue:
    """The manifest's rows that a view shows, by shown id. It does not change after it is made.

    Without a scope, a document's shown id is its stored id. A scoped view shows the documents that match its filter. It
    shows a document that was added through it without the suffix of the stored id. If such a document has the same shown id
    as another one, the view shows its own.
    """

    def __init__(self, rows: Mapping[str, Row], stored: Mapping[str, str] | None = None) -> None:
        self.rows = rows
        # Stored (document, version) pairs that readers found damaged since; replace the whole dict.
        self.later_damage: Mapping[tuple[str, str], Damage] = {}
        self._stored = stored
        self._selections: _LRUCache[Where, Selection] = _LRUCache()
        self._visible: _LRUCache[Visibility, Catalogue] = _LRUCache()
        self._without: _LRUCache[frozenset[tuple[str, str]], Catalogue] = _LRUCache()

    @property
    def is_scoped(self) -> bool:
        return self._stored is not None

    @cached_property
    def damaged(self) -> dict[str, Damage]:
        """The damage of each damaged document, by shown id. Damaged documents have no current version."""
        if isinstance(self.rows, StoredRows):
            return self.rows.damaged
        return {id_: row.damage for id_, row in self.rows.items() if row.damage is not None}

    def without(self, damaged: Mapping[tuple[str, str], Damage]) -> Catalogue:
        """Return the whole index's catalogue with these (document, version) pairs marked as damaged."""
        if not damaged:
            return self

        def make() -> Catalogue:
            rows = self.rows
            marked = {
                id_: row.with_damage(each)
                for (id_, version), each in damaged.items()
                if (row := rows.get(id_)) is not None and row.version == version
            }
            return Catalogue(rows.with_rows(marked) if isinstance(rows, StoredRows) else {**rows, **marked})

        return self._without.get(frozenset(damaged), make)

    def unpacked(self) -> Catalogue:
        """Return the catalogue with all rows in memory, for use after the reading."""
        return Catalogue(dict(self.rows.items())) if isinstance(self.rows, StoredRows) else self

    @property
    def is_stale(self) -> bool:
        """Whether a row could not be read, so that the catalogue must be read again."""
        return isinstance(self.rows, StoredRows) and self.rows.is_stale

    def versions(self) -> Iterable[tuple[str, str | None, int]]:
        """Each document's shown id, current version and number of leaves."""
        return _versions(self.rows)

    def heads(self) -> Iterable[Row | RowHead]:
        """The start of each document's row, which is much faster to read than whole rows."""
        return self.rows.heads() if isinstance(self.rows, StoredRows) else self.rows.values()

    def changed_since(self, earlier: Catalogue) -> set[str] | None:
        """The ids of documents that were changed, added or deleted, or None if only comparing all rows would tell."""
        if isinstance(self.rows, StoredRows) and isinstance(earlier.rows, StoredRows):
            return self.rows.changed_since(earlier.rows)
        return None

    def current(self, documents: DocumentTable) -> NDArray[np.bool_]:
        """Whether each of these documents (by shown id) is the current version with the same number of leaves."""
        return (
            self.rows.current(documents) if isinstance(self.rows, StoredRows) else are_current(self.versions(), documents)
        )

    def stored_id(self, shown: str) -> str | None:
        """The stored id of the document with this shown id, or None if the view shows no such document."""
        if self._stored is None:
            return shown if shown in self.rows else None
        return self._stored.get(shown)

    def shown_id(self, stored: str) -> str | None:
        """The shown id of the document with this stored id, or None if the view does not show it."""
        if self._stored is None:
            return stored if stored in self.rows else None
        return self._shown.get(stored)

    def shown_leaves(self, leaves: list[LeafId]) -> list[LeafId]:
        """Replace stored document ids by shown ids in these leaf ids. The view must show all of these documents."""
        if self._stored is None:
            return leaves
        shown = self._shown
        return [leaf._replace(document_id=shown[leaf.document_id]) for leaf in leaves]

    def lacks(self, document_id: str) -> DocumentNotFound:
        """The error for an id that no document of the view has. It suggests a similar id."""
        current = [id_ for id_, version, _ in self.versions() if version is not None]
        # Somebody who passes a file's name alone may not know its folders.
        ends = [id_ for id_ in current if id_.endswith(f"/{document_id}")] if document_id else []
        if len(ends) == 1:
            hint = f"; did you mean {shown(ends[0])}?"
        else:
            hint = did_you_mean(document_id, current) if len(current) <= _MOST_COMPARED else ""
        return DocumentNotFound(f"there is no document {shown(document_id)} in the index{hint}")

    @cached_property
    def count(self) -> int:
        """The number of the view's documents."""
        return sum(version is not None for _, version, _ in self.versions())

    @cached_property
    def totals(self) -> Totals:
        """Totals over the view's documents, computed once."""
        rows = [row for row in self.rows.values() if row.version is not None]
        languages = Counter(row.language for row in rows if row.language is not None)
        return Totals(
            len(rows),
            sum(row.leaves for row in rows),
            sum(row.words for row in rows),
            sum(row.characters for row in rows),
            dict(languages.most_common()),
        )

    def count_languages(self, without: Container[str]) -> Counter[str]:
        """Count the languages of some of the view's documents, evenly spaced, without documents with these ids."""
        ids = [id_ for id_ in self.rows if id_ not in without]
        rows = (self.rows[id_] for id_ in ids[:: 1 + len(ids) // _MOST_COUNTED])
        return Counter(row.language for row in rows if row.version is not None and row.language is not None)

    @property
    def leaves(self) -> int:
        """The number of leaves of the view's documents."""
        return self.select(None).leaves

    def select(self, where: Where | None) -> Selection:
        """The view's documents that match the filter, or all for None. Equal filters give the same selection."""
        if where is None:
            return self._all
        return self._selections.get(where, lambda: self._choose(where))

    def visible_to(self, visibility: Visibility) -> Catalogue:
        """Return the documents of this catalogue that the rule shows."""
        return self._visible.get(visibility, lambda: visibility.visible(self))

    def renamed(self, stored: Mapping[str, str]) -> Catalogue:
        """Return some of these documents under other ids; ``stored`` maps shown ids to stored ids."""
        return Catalogue(shown_rows(self.rows, stored), stored)

    def _choose(self, where: Where) -> Selection:
        current, columns, numbering = self._columns
        matching = columns.matching(where)
        chosen = (numbering, matching) if numbering.is_certain else None
        # The function must not refer to this catalogue, as below.
        return Selection(lambda: frozenset(compress(current, matching)), int(numbering.leaves[matching].sum()), chosen)

    @cached_property
    def _all(self) -> Selection:
        """The documents that have a current version."""
        if isinstance(self.rows, StoredRows):
            leaves = self.rows.leaves
        else:
            leaves = sum(row.leaves for row in self.rows.values() if row.version is not None)

        # The function must not refer to this catalogue, which keeps the selection: a cycle would keep files open.
        rows, stored = self.rows, self._stored

        def ids() -> frozenset[str]:
            current = (id_ for id_, version, _ in _versions(rows) if version is not None)
            return frozenset(current if stored is None else (stored[id_] for id_ in current))

        return Selection(ids, leaves)

    @cached_property
    def _columns(self) -> tuple[list[str], Columns, Numbering]:
        """The stored ids of the current documents, the columns to match filters against, and the documents' numbers."""
        stored, leaves, metadata = [], [], []
        for row in self.heads():
            if row.version is not None:
                stored.append(row.document_id if self._stored is None else self._stored[row.document_id])
                leaves.append(row.leaves)
                metadata.append((row.document_id, row.filterable))
        return stored, Columns(metadata), Numbering(stored, leaves)

    @cached_property
    def _shown(self) -> dict[str, str]:
        return {stored: shown for shown, stored in (self._stored or {}).items()}


def _versions(rows: Mapping[str, Row]) -> Iterable[tuple[str, str | None, int]]:
    if isinstance(rows, StoredRows):
        return rows.versions()
    return ((id_, row.version, row.leaves) for id_, row in rows.items())


def shown_rows(rows: Mapping[str, Row], stored: Mapping[str, str]) -> dict[str, Row]:
    """Return rows by shown id, with the shown id as ``document_id``."""
    chosen = {shown: rows[id_] for shown, id_ in stored.items()}
    return {shown: row if row.document_id == shown else replace(row, document_id=shown) for shown, row in chosen.items()}
