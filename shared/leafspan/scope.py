"""What a scoped view may see, and how the documents that are added through it are named."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leafspan.errors import InvalidDocument
from leafspan.filters import Where, implied
from leafspan.filters.logic import And
from leafspan.values import Document

if TYPE_CHECKING:
    from leafspan.store import Row


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

    def narrowed(self, where: Where, *, share_statistics: bool) -> Scope:
        """A view within this one, which never shares more than this one does."""
        return Scope(self.where & where, self.shares_statistics and share_statistics)

    def sees(self, row: Row) -> bool:
        """Whether the view shows the document of this row, which has its stored id."""
        return row.version is not None and self.where.matches(row.metadata, row.document_id)

    def stored_ids(self, shown: str) -> list[str]:
        """The ids under which a document of that id can be stored for the view to show it; its own first."""
        return [shown + self.suffix] if shown.endswith(self.suffix) else [shown + self.suffix, shown]

    def find(self, shown: str, rows: Mapping[str, Row]) -> Row | None:
        """The row of the document that the view shows under that id, if any."""
        rows_there = (rows[id_] for id_ in self.stored_ids(shown) if id_ in rows)
        return next((row for row in rows_there if self.sees(row)), None)

    def stamped(self, document: Document, stored_id: str) -> Document:
        """The document as it is stored: with the values that the filter asks for, where it has none of its own there.

        Raises:
            InvalidDocument: if the view would not show it.
        """
        wanted = {key: value for key, value in implied(self.where).items() if key != "doc_id"}
        metadata = {**wanted, **document.metadata}
        if not self.where.matches(metadata, stored_id):
            raise InvalidDocument(
                f"document {document.id!r} must match the filter of this view, {self.where!r}, got metadata {metadata!r}"
            )
        return replace(document, id=stored_id, metadata=metadata)
