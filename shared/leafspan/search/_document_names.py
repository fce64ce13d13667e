"""The names of a view's documents. They are cached, and updated after a change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from threading import Lock
from typing import NamedTuple

from leafspan.search.mentions import NamedDocument, Names, NameTable, is_name, names_in, places_of, title_key
from leafspan.store import Catalogue, Row, RowHead, Visibility

_VIEWS = 32  # number of views to cache names for
_SHARE_CHANGED = 16  # the table is made again when more than 1/16 of the documents have changed


class DocumentNames:
    """The names of documents, by view. They are made from the catalogue at first use, and not stored."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._mutex = Lock()

    def close(self) -> None:
        """Forget all names."""
        with self._mutex:
            self._known.clear()

    def of(self, visible: Catalogue, scope: Visibility | None, aliases: str | None) -> Names:
        """The names of a catalogue's documents."""
        key = scope, aliases
        with self._mutex:
            known = self._known.get(key)
        if known is None or known.catalogue is not visible:
            # Two threads may both do this: either result will do.
            known = _made(visible, aliases) if known is None else _brought_up_to_date(known, visible, aliases)
        with self._mutex:
            self._known[key] = known
            self._known.move_to_end(key)
            if len(self._known) > _VIEWS:
                self._known.popitem(last=False)
        return known.names


class _Known(NamedTuple):
    """The cached names of a view."""

    catalogue: Catalogue  # the catalogue that the names belong to
    names: Names
    table: NameTable  # the table of all documents at an earlier time
    versions: list[str]  # the version of each document in the table
    # Ids of the documents that were changed, added or deleted since the table was made
    changed: frozenset[str] = frozenset()


def named(row: Row | RowHead, aliases: str | None) -> NamedDocument:
    """The names of one document."""
    keys = {key for name in names_in(row.title, row.metadata, aliases) if is_name(key := title_key(name))}
    places = places_of(row.document_id, row.metadata)
    return NamedDocument(row.document_id, keys, {text for place in places for text in (f"/{place.path}", place.name)})


def _made(catalogue: Catalogue, aliases: str | None) -> _Known:
    versions: list[str] = []

    def documents() -> Iterator[NamedDocument]:
        for row in filter(_is_current, catalogue.heads()):
            versions.append(row.version or "")
            yield named(row, aliases)

    table = NameTable(documents())
    return _Known(catalogue, Names(table), table, versions)


def _brought_up_to_date(known: _Known, catalogue: Catalogue, aliases: str | None) -> _Known:
    """Update names after a change. Only rows of documents that have changed since the table was made are unpacked."""
    newly = catalogue.changed_since(known.catalogue)
    changed = _differing(known, catalogue) if newly is None else known.changed | newly
    if len(changed) * _SHARE_CHANGED > len(known.versions):
        return _made(catalogue, aliases)
    rows = [row for id_ in sorted(changed) if (row := catalogue.rows.get(id_)) is not None and _is_current(row)]
    more = NameTable(named(row, aliases) for row in rows) if rows else None
    return known._replace(catalogue=catalogue, names=Names(known.table, changed, more), changed=changed)


def _differing(known: _Known, catalogue: Catalogue) -> frozenset[str]:
    """The documents that have changed since the table was made. A document with the same version has the same names."""
    now = {id_: version for id_, version, leaves in catalogue.versions() if version is not None and leaves}
    before = dict(zip(known.table.ids, known.versions, strict=True))
    return frozenset(id_ for id_ in now.keys() | before.keys() if now.get(id_) != before.get(id_))


def _is_current(row: Row | RowHead) -> bool:
    """Whether a document can be mentioned: it must have a current version with leaves."""
    return row.version is not None and row.leaves > 0
