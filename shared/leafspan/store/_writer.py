"""Writing an index: steps that a kill at any place leaves whole, and that the next writer finishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from leafspan.engine import Flow
from leafspan.store._collection import Collection
from leafspan.store._manifest import Row, columns
from leafspan.values import leaf_ids


class DocumentToWrite(NamedTuple):
    """A document with all that is stored of it: its row, and for each leaf its text, metadata and vector."""

    row: Row
    texts: Sequence[str]
    metadatas: Sequence[Mapping[str, object]]
    vectors: Any


class Writer:
    """The one writer of an index while it holds the lock.

    A document is replaced in four steps: the manifest notes the leaves that will come; they are added; the manifest turns
    to them; the old ones are deleted. Until the third step readers see the old version, from then on the new one.
    ``rows`` is the manifest as it stands. Whoever is done, or has failed, calls ``stop``.
    """

    def __init__(
        self,
        leaves: Collection,
        manifest: Collection,
        *,
        rows: dict[str, Row],
        advance: Callable[..., Flow[None]],
        stop: Callable[[bool], None],
    ) -> None:
        self._leaves = leaves
        self._manifest = manifest
        self._advance = advance
        self._stop = stop
        self._counted = True
        self.rows = rows

    def stop(self) -> None:
        """Let the next writer in."""
        self._stop(self._counted)

    def leave_unfinished(self) -> None:
        """Note that there is something left for the next writer to finish."""
        self._counted = False

    def advance(self, *, settled: bool = True) -> Flow[None]:
        """Let readers know of what was written so far. ``settled`` is False if more of it follows at once."""
        yield from self._advance(settled=settled)
        self._counted = True

    def recover(self) -> Flow[None]:
        """Finish what a killed writer left half done of the documents that this one may touch."""
        yield from self.clear([row for row in self.rows.values() if row.is_half_done])

    def replace(self, documents: Sequence[DocumentToWrite]) -> Flow[None]:
        """Write documents in place of what was there of them."""
        announced = []
        leftovers = []
        for row, texts, _, _ in documents:
            old = self.rows.get(row.document_id)
            before = old or replace(row, hash="", version=None, leaves=0, characters=0, words=0)
            announced.append(replace(before, leftovers=(*before.leftovers, (row.version or "", len(texts)))))
            if old and old.version is not None:
                leftovers.append(replace(row, leftovers=((old.version, old.leaves),)))
        yield from self.write_rows(announced)
        yield from self._add_leaves(documents)
        # Before the manifest turns to them, so that whoever reads it then has them in sight.
        yield from self.advance(settled=False)
        after = {row.document_id: row for row in leftovers}
        yield from self.write_rows([after.get(row.document_id, row) for row, _, _, _ in documents])
        yield from self.advance(settled=not leftovers)
        yield from self.clear(leftovers)

    def delete(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete documents. From the first step on nobody sees them."""
        leaving = []
        for row in rows:
            leftovers = row.leftovers if row.version is None else (*row.leftovers, (row.version, row.leaves))
            leaving.append(replace(row, version=None, leaves=0, hash="", leftovers=leftovers))
        yield from self.write_rows(leaving)
        yield from self.advance(settled=False)
        yield from self.clear(leaving)

    def clear(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete the leftovers of these documents, and the documents themselves where no version counts."""
        if not rows:
            return
        # Before what others may still be reading goes, so that they know to look again.
        yield from self.advance(settled=False)
        self._counted = False
        yield from self._leaves.delete(
            [
                id_
                for row in rows
                for version, leaves in row.leftovers
                if version != row.version
                for id_ in leaf_ids(row.document_id, version, range(leaves))
            ]
        )
        yield from self.write_rows([replace(row, leftovers=()) for row in rows if row.version is not None])
        nothing_left = [row.document_id for row in rows if row.version is None]
        yield from self._manifest.delete(nothing_left)
        for document_id in nothing_left:
            self.rows.pop(document_id, None)
        yield from self.advance()

    def delete_leaves(self, ids: Sequence[str]) -> Flow[None]:
        """Delete leaves that belong to no document's current version."""
        self._counted = False
        yield from self._leaves.delete(ids)
        yield from self.advance()

    def write_rows(self, rows: Sequence[Row]) -> Flow[None]:
        """Write these rows of the manifest, without letting readers know."""
        if rows:
            self._counted = False
            yield from self._manifest.upsert([row.document_id for row in rows], **columns(rows))
            self.rows.update((row.document_id, row) for row in rows)

    def _add_leaves(self, documents: Sequence[DocumentToWrite]) -> Flow[None]:
        import numpy as np

        ids = [
            id_
            for each in documents
            for id_ in leaf_ids(each.row.document_id, each.row.version or "", range(len(each.texts)))
        ]
        if ids:
            self._counted = False
            yield from self._leaves.add(
                ids,
                embeddings=np.concatenate([each.vectors for each in documents if len(each.texts)]),
                documents=[text for each in documents for text in each.texts],
                metadatas=[metadata for each in documents for metadata in each.metadatas],
            )
