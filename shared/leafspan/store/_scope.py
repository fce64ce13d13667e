"""What a scoped view may see, and how the documents that are added through it are named."""

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

_PLACES = 4  # under which a view can store a document, should others be taken by documents that it does not show


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents that match ``where``; see ``Index.scoped``.

    ``shares_statistics``: idf and the average length are those of the whole index, not of the view.
    """

    where: Where
    shares_statistics: bool = False

    @property
    def suffix(self) -> str:
        """What ends the stored ids of the documents that were added through the view.

        So documents of one id in two views are two documents, and neither shows in the other view. It is the same for
        filters of the same conditions, in whatever order.
        """
        parts = self.where.parts if isinstance(self.where, And) else (self.where,)
        conditions = " & ".join(sorted({repr(part) for part in parts}))
        return "@" + hashlib.sha256(conditions.encode()).hexdigest()[:16]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffix, and those that stand in for it where a document has gone to another view under its stored id."""
        suffix = self.suffix
        return (suffix, *(f"{suffix}~{place}" for place in range(2, _PLACES + 1)))

    def narrowed(self, where: Where, *, share_statistics: bool) -> Scope:
        """A view within this one, which never shares more than this one does."""
        return Scope(self.where & where, self.shares_statistics and share_statistics)

    def visible(self, everything: Catalogue) -> Catalogue:
        """What is seen of these documents: those that match, the view's own ones without their suffix."""
        visible = everything.select(self.where).ids
        suffixes = self.suffixes
        # The first suffix last, so that it is the one to be shown of two.
        own = {id_.removesuffix(suffix): id_ for suffix in reversed(suffixes) for id_ in visible if id_.endswith(suffix)}
        return everything.renamed({**{id_: id_ for id_ in visible if not id_.endswith(suffixes)}, **own})

    def sees(self, row: Row) -> bool:
        """Whether the view shows the document of this row, which has its stored id."""
        return row.version is not None and self.where.matches(row.metadata, row.document_id)

    def stored_ids(self, shown: str) -> list[str]:
        """The ids under which a document of that id can be stored for the view to show it; its own first."""
        suffixes = self.suffixes
        own = [shown + suffix for suffix in suffixes]
        return own if shown.endswith(suffixes) else [*own, shown]

    def find(self, shown: str, rows: Mapping[str, Row]) -> Row | None:
        """The row of the document that the view shows under that id, if any."""
        rows_there = (rows[id_] for id_ in self.stored_ids(shown) if id_ in rows)
        return next((row for row in rows_there if self.sees(row)), None)

    def place(self, shown: str, rows: Mapping[str, Row]) -> str:
        """The id to store a document under: that of the one which the view shows under its id, else a free one.

        Raises:
            InvalidDocument: if there is none.
        """
        if (there := self.find(shown, rows)) is not None:
            return there.document_id
        # A document of the view's own that has been changed so that it is another view's keeps the id it is stored under.
        for id_ in self.stored_ids(shown)[:_PLACES]:
            if id_ not in rows or rows[id_].version is None:
                return id_
        raise InvalidDocument(f"document {shown!r} cannot be stored under this id any more; use another one")

    def stamped(self, document: Document, stored_id: str) -> Document:
        """The document as it is stored: with the values that the filter asks for, where it has none of its own there.

        Raises:
            InvalidDocument: if the view would not show it, or a value that the filter asks for cannot be stored.
        """
        try:
            wanted = {key: value for key, value in implied(self.where).items() if key != "doc_id"}
        except InvalidArgument as error:
            raise InvalidDocument(f"no document can match the filter of this view: {error}") from None
        metadata = clean_metadata(document.id, {**wanted, **document.metadata})
        if not self.where.matches(metadata, stored_id):
            raise InvalidDocument(
                f"document {document.id!r} must match the filter of this view, {self.where!r}, got metadata {metadata!r}"
            )
        return replace(document, id=stored_id, metadata=metadata)
