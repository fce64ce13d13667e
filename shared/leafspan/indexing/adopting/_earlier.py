"""What an index already has of a collection, so that adopting does not duplicate, lose or wrongly replace documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from leafspan.documents import CHUNK_ID
from leafspan.flows import Flow
from leafspan.store import Reader, Row, Store, read_consistently

ADOPTED_KEY = "adopted"
"""The key in a row's further values for the id of the collection that the document was adopted from."""

_PAGE = 1_000  # leaves read at a time

_REMEDY = "delete that document and adopt again, or adopt into another index"


@dataclass(frozen=True, slots=True)
class EarlierAdoption:
    """The records of a collection that an index has.

    Attributes:
        collection: Id of the collection.
        holders: For each record, the id of the document that has it as a leaf.
        records: For each of these documents, its records.
    """

    collection: str = ""
    holders: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, set[str]] = field(default_factory=dict)

    def conflict(self, document_id: str, records: Sequence[str], old: Row | None) -> str | None:
        """Return why writing a changed document would duplicate, lose or replace others, or None if it may be written."""
        holder = next((there for each in records if (there := self.holders.get(each, document_id)) != document_id), None)
        if holder is not None:
            return f"the index has it in document {holder!r}, from before the collection changed: {_REMEDY}"
        if old is None or old.version is None:
            return None
        if old.extra.get(ADOPTED_KEY) != self.collection:
            return f"the index has another document {document_id!r}, which was not adopted from this collection: {_REMEDY}"
        if lost := self.records.get(document_id, set()) - set(records):
            return f"the index has {len(lost)} more records in document {document_id!r}, not here any more: {_REMEDY}"
        return None


def read_earlier(store: Store, collection: str) -> Flow[EarlierAdoption]:
    """Return what the index has of this collection."""

    def read(reader: Reader) -> Flow[EarlierAdoption]:
        rows = yield from reader.rows()
        adopted = [row for row in rows.values() if row.version is not None and row.extra.get(ADOPTED_KEY) == collection]
        holders: dict[str, str] = {}
        ids = [id_ for row in adopted for id_ in row.leaf_ids]
        for start in range(0, len(ids), _PAGE):
            leaves = yield from reader.fetch_leaves(ids[start : start + _PAGE])
            for stored in leaves.values():
                document_id = stored.leaf.document_id
                # A record that is a document of its own may have a chunk_id in the document's own metadata.
                alone = CHUNK_ID in rows[document_id].metadata or CHUNK_ID not in stored.metadata
                holders[document_id if alone else str(stored.metadata[CHUNK_ID])] = document_id
        records: dict[str, set[str]] = {}
        for record, document_id in holders.items():
            records.setdefault(document_id, set()).add(record)
        return EarlierAdoption(collection, holders, records)

    return read_consistently(store, read, leave_out=True)  # a damaged document is adopted again
