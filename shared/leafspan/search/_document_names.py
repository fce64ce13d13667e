"""What the documents of a view are called, kept for as long as nothing changes, and brought up to date after that."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from threading import Lock
from typing import NamedTuple

from leafspan.mentions import NamedDocument, Names, NameTable, is_name, names_in, places_of, title_key
from leafspan.store import Catalogue, Row, Visibility

_VIEWS = 32  # whose names are kept
_SHARE_CHANGED = 16  # a table is made anew when more than one of so many documents has changed since


class DocumentNames:
    """The names of documents, by view. They are made of the catalogue when they are first needed, and nothing is stored."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        self._mutex = Lock()

    def of(self, visible: Catalogue, scope: Visibility | None, aliases: str | None) -> Names:
        """What the documents of a catalogue are called.

        Args:
            visible: The catalogue of the view.
            scope: What the view shows, None for all.
            aliases: Metadata key of their aliases, None for no aliases.
        """
        key = scope, aliases
        with self._mutex:
            known = self._known.get(key)
        if known is None or known.catalogue is not visible:
            # Two threads may both do this: it does not matter which one stays.
            known = _made(visible, aliases) if known is None else _brought_up_to_date(known, visible, aliases)
        with self._mutex:
            self._known[key] = known
            self._known.move_to_end(key)
            if len(self._known) > _VIEWS:
                self._known.popitem(last=False)
        return known.names


class _Known(NamedTuple):
    """The names of a view, as they were made.

    Attributes:
        catalogue: The catalogue that they are of.
        names: The names.
        table: The table that was made of all documents.
        versions: The version that each of its documents had then.
    """

    catalogue: Catalogue
    names: Names
    table: NameTable
    versions: list[str]


def named(row: Row, aliases: str | None) -> NamedDocument:
    """What a document is called."""
    names = names_in(row.title, row.metadata, aliases)
    keys = {key for name in names if is_name(key := title_key(name))}
    places = places_of(row.document_id, row.metadata)
    return NamedDocument(row.document_id, keys, {text for place in places for text in (f"/{place.path}", place.name)})


def _made(catalogue: Catalogue, aliases: str | None) -> _Known:
    rows = list(_current(catalogue))
    table = NameTable(named(row, aliases) for row in rows)
    return _Known(catalogue, Names(table), table, [row.version or "" for row in rows])


def _brought_up_to_date(known: _Known, catalogue: Catalogue, aliases: str | None) -> _Known:
    """The names after a change. What has another version has other names, perhaps; what has the same one has the same.

    Only the rows of changed documents are unpacked.
    """
    now = {id_: version for id_, version, leaves in catalogue.versions() if version is not None and leaves}
    before = dict(zip(known.table.ids, known.versions, strict=True))
    outdated = {id_ for id_, version in before.items() if now.get(id_) != version}
    changed = [id_ for id_, version in now.items() if before.get(id_) != version]
    if (len(changed) + len(outdated)) * _SHARE_CHANGED > len(before):
        return _made(catalogue, aliases)
    more = NameTable(named(catalogue.rows[id_], aliases) for id_ in changed) if changed else None
    return known._replace(catalogue=catalogue, names=Names(known.table, outdated, more))


def _current(catalogue: Catalogue) -> Iterable[Row]:
    """The rows of the documents that can be mentioned: those with a current version that has leaves."""
    return (row for row in catalogue.rows.values() if row.version is not None and row.leaves)
