"""Which documents a scoped view shows, and under which ids it stores documents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from leafspan.documents import clean_metadata
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.filters import And, Where, implied
from leafspan.store._catalogue import Catalogue
from leafspan.store._manifest import Row
from leafspan.values import Document

_MOST_STAMPED = 400  # values that a filter may add to a document's metadata: see MOST_VALUES
_MAX_SUFFIXES = 4  # suffixes to try if documents that the view does not show have the stored ids


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that a scoped view shows: see ``Index.scoped``."""

    where: Where  # visible documents match it
    shares_statistics: bool = False  # whether idf and average length are computed over the whole index

    @property
    def suffix(self) -> str:
        """The suffix of the stored ids of documents that are added through the view.

        So documents with the same id in two views are two documents, and neither view shows the other's. Filters with the
        same conditions in any order have the same suffix.
        """
        parts = self.where.parts if isinstance(self.where, And) else (self.where,)
        conditions = " & ".join(sorted({repr(part) for part in parts}))
        return "@" + hashlib.sha256(conditions.encode()).hexdigest()[:16]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffix, and others to use if a document that moved to another view still has the stored id."""
        suffix = self.suffix
        return (suffix, *(f"{suffix}~{number}" for number in range(2, _MAX_SUFFIXES + 1)))

    def narrowed(self, where: Where, *, share_statistics: bool) -> Scope:
        """The scope of a view inside this view. It shares statistics only if both views do."""
        return Scope(self.where & where, self.shares_statistics and share_statistics)

    def visible(self, everything: Catalogue) -> Catalogue:
        """The documents of the whole index that match. Documents that were added through the view lose their suffix."""
        matching = everything.select(self.where).ids
        suffixes = self.suffixes
        damaged = frozenset(id_ for id_ in everything.damaged if self.sees(everything.rows[id_]))
        # The first suffix comes last, so that it wins if several stored ids have the same shown id. Whole documents win.
        own = {
            id_.removesuffix(suffix): id_
            for ids in (damaged, matching)
            for suffix in reversed(suffixes)
            for id_ in ids
            if id_.endswith(suffix)
        }
        others = {id_: id_ for ids in (damaged, matching) for id_ in ids if not id_.endswith(suffixes)}
        return everything.renamed({**others, **own})

    def sees(self, row: Row) -> bool:
        """Whether the view shows this row's document, or would show it without the damage. The row has the stored id.

        If the row itself is damaged, only the stored id can be trusted; it says through which view the document was added.
        A view must not reveal documents of other views, so it does not show a damaged row without its own suffix.
        """
        if row.damage is not None and row.damage.in_row:
            return row.document_id.endswith(self.suffixes)
        return (row.version is not None or row.damage is not None) and self.where.matches(row.filterable, row.document_id)

    def stored_ids(self, shown: str) -> list[str]:
        """The stored ids that a document with this shown id can have, first those with the view's suffixes."""
        suffixes = self.suffixes
        own = [shown + suffix for suffix in suffixes]
        return own if shown.endswith(suffixes) else [*own, shown]

    def find(self, shown: str, rows: Mapping[str, Row]) -> Row | None:
        """The row of the document with this shown id, or None. ``rows`` are by stored id."""
        stored = (rows[id_] for id_ in self.stored_ids(shown) if id_ in rows)
        return next((row for row in stored if self.sees(row)), None)

    def place(self, shown: str, rows: Mapping[str, Row]) -> str:
        """The id to store a document under: the id of the document that it replaces, or else a free id."""
        if (existing := self.find(shown, rows)) is not None:
            return existing.document_id
        # A document that moved to another view keeps its stored id, so that id may be taken.
        for id_ in self.stored_ids(shown)[:_MAX_SUFFIXES]:
            if id_ not in rows or rows[id_].version is None:
                return id_
        raise InvalidDocument(f"document {shown!r} cannot be stored under this id any more; use another one")

    def checked(self, document: Document) -> Document:
        """Return the unchanged document after checking that the view would show it under one of its stored ids."""
        metadata = self._stamped_metadata(document)
        if not any(self.where.matches(metadata, stored_id) for stored_id in self.stored_ids(document.id)):
            raise self._refusal(document, metadata)
        return document

    def stamped(self, document: Document, stored_id: str) -> Document:
        """Return the document as it is stored: with the values that the filter asks for in its metadata."""
        metadata = self._stamped_metadata(document)
        if not self.where.matches(metadata, stored_id):
            raise self._refusal(document, metadata)
        return replace(document, id=stored_id, metadata=metadata)

    def _stamped_metadata(self, document: Document) -> dict[str, object]:
        try:
            wanted = {key: value for key, value in implied(self.where).items() if key != "doc_id"}
        except InvalidArgument as error:
            raise InvalidDocument(f"no document can match the filter of this view: {error}") from None
        stamps = clean_metadata(document.id, wanted)
        if (values := sum(len(value) if isinstance(value, list) else 1 for value in stamps.values())) > _MOST_STAMPED:
            raise InvalidDocument(
                f"the filter of a view must ask for at most {_MOST_STAMPED} values where documents are added, got {values}"
            )
        return {**stamps, **document.metadata}

    def _refusal(self, document: Document, metadata: Mapping[str, object]) -> InvalidDocument:
        return InvalidDocument(
            f"document {document.id!r} must match the filter of this view, {self.where!r}, got metadata {metadata!r}"
        )
