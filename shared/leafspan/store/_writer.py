"""Writes an index in steps: a writer that is killed at any step leaves it whole, and the next one finishes the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Collection as Collected
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, Self

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import STEP, Field, FlowTable, Record
from leafspan.flows import Call, Flow
from leafspan.store._catalogue import Catalogue
from leafspan.store._change_log import unlogged_change
from leafspan.store._damage import pack_checksums
from leafspan.store._manifest import Row, row_records
from leafspan.store._rows_file import RowsInFile
from leafspan.store._scope import Scope
from leafspan.store._stored_rows import StoredRows
from leafspan.values import LeafId, leaf_ids

_MOST = 1_000_000  # largest number of leaves to delete for one version of a damaged document


class DocumentToWrite(NamedTuple):
    row: Row
    texts: Sequence[str]  # of each leaf
    metadatas: Sequence[Mapping[str, object]]  # of each leaf
    vectors: Any  # matrix with a row for each leaf


class Copied(NamedTuple):
    """Records that were read from a copy."""

    records: dict[LeafId, Record]  # without those that are missing or damaged in the copy
    checked: set[LeafId]  # leaves that were compared with their documents' checksums


class Copies(Protocol):
    """Copies of an index's leaves, in the form that queries read."""

    def read(self, catalogue: Catalogue, leaves: Iterable[LeafId], fields: Collected[Field]) -> Flow[Copied]:
        """Read fields of leaves, by their ids with stored document ids. Leaves that the copies lack are left out."""

    def derive(self, documents: Sequence[DocumentToWrite], made: Mapping[str, Any]) -> Flow[Any]:
        """Copy documents that are being written. ``made`` is data that was derived from them before."""

    def keep(self, derived: Any) -> Flow[None]:
        """Store what was derived before readers see the documents, so that no reader has to make it."""

    def merge(self, derived: Any, load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
        """Tidy up after readers see the documents. ``load`` reads the catalogue of the whole index."""


class Writer:
    """The only writer of an index while it holds the lock. Use it in a ``with`` statement, which releases the lock.

    A document is replaced in four steps:

    1. The manifest notes the leaves that will be added.
    2. The leaves are added.
    3. The manifest makes their version the current one.
    4. The old leaves are deleted.

    Until step 3, readers see the old version; after it, the new one.

    If the old leaves are unknown, because the row is damaged, or have the same ids as the new ones, they are deleted before
    step 2, so that only leaves of the new version remain.
    """

    def __init__(
        self,
        leaves: FlowTable,
        manifest: FlowTable | RowsInFile,
        *,
        rows: Mapping[str, Row],
        advance: Callable[..., Flow[None]],
        stop: Callable[[bool], None],
        copies: Copies | None = None,
        catalogue: Callable[[], Flow[Catalogue]],
        notes_changes: bool = False,
    ) -> None:
        self._leaves = leaves
        self._manifest = manifest
        self._advance = advance
        self._stop = stop
        self._copies = copies
        self._catalogue = catalogue
        self._notes_changes = notes_changes
        self._changed: set[str] = set()  # documents whose rows have changed since the last announcement to readers
        self._is_finished = True  # False while something is half written, or not announced to readers
        self.rows = rows

    def stop(self) -> None:
        self._stop(self._is_finished)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def leave_unfinished(self) -> None:
        """Leave something for the next writer to finish."""
        self._is_finished = False

    def advance(self, *, settled: bool = True) -> Flow[None]:
        """Announce to readers what has been written so far. ``settled`` is False if more changes follow at once."""
        yield from self._advance(self._changed, settled=settled)
        self._changed = set()
        self._is_finished = True

    def recover(self) -> Flow[None]:
        """Finish what a killed writer left half done, for the documents in ``rows``."""
        rows = self.rows
        half_done = rows.half_done if isinstance(rows, StoredRows) else [row for row in rows.values() if row.is_half_done]
        yield from self.clear(half_done)

    def replace(
        self,
        documents: Sequence[DocumentToWrite],
        done: Callable[[int], None] = lambda _: None,
        made: Mapping[str, Any] | None = None,
    ) -> Flow[None]:
        """Add documents or replace existing ones. ``made`` is data that was derived from them before."""
        documents = yield Call(_with_checksums, (documents,))
        rows = {id_: self.rows.get(id_) for id_ in (each.row.document_id for each in documents)}
        stored = yield from self._leaves_of({id_ for id_, row in rows.items() if row and row.damage})
        in_the_way = [id_ for ids in stored.values() for id_ in ids]
        noted = []  # rows for step 1
        with_leftovers = {}  # rows for step 3, of documents that were there
        for row, texts, _, _ in documents:
            old = rows[row.document_id]
            before = old or replace(row, hash="", version=None, leaves=0, characters=0, words=0, checksums="")
            if old is not None and old.damage is not None:
                before = replace(old, leftovers=_versions(stored[row.document_id], row.version), damage=None)
            elif old is not None and old.version == row.version:
                in_the_way += old.record_ids
            noted.append(replace(before, leftovers=(*before.leftovers, (row.version or "", len(texts)))))
            if old and old.version is not None:
                with_leftovers[row.document_id] = replace(row, leftovers=((old.version, old.leaves),))
        yield from self.write_rows(noted)
        if in_the_way:
            yield from self.advance(settled=False)  # as before all leaves are deleted
            self._is_finished = False
            yield from self._leaves.delete(in_the_way)
        yield from self._add_leaves(documents, done)
        derived = None if self._copies is None else (yield from self._copies.derive(documents, made or {}))
        # Before step 3, so that a reader that finds the new version in the manifest can see its leaves.
        yield from self.advance(settled=False)
        # Between these two steps: readers then neither take the data for an old version's leftover, nor find it missing.
        if self._copies is not None:
            yield from self._copies.keep(derived)
        yield from self.write_rows([with_leftovers.get(row.document_id, row) for row, _, _, _ in documents])
        yield from self.advance(settled=not with_leftovers)
        yield from self.clear(list(with_leftovers.values()))
        if self._copies is not None:
            yield from self._copies.merge(derived, self._catalogue)

    def shows_all_leaves(self, row: Row, scope: Scope) -> Flow[bool]:
        """Whether a view may write a document. If the row is damaged, the leaves' metadata must match the view's filter."""
        if row.damage is None:
            return True
        stored = yield from self._leaves_of({row.document_id})
        records = yield from self._leaves.get(stored[row.document_id], ["metadata"])
        return all(scope.where.matches(record.metadata or {}, row.document_id) for record in records.values())

    def delete(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete documents. Readers stop showing them when the manifest says so; their leaves are deleted after that."""
        stored = yield from self._leaves_of({row.document_id for row in rows if row.damage is not None})
        deleted = []
        for row in rows:
            leftovers = row.leftovers if row.version is None else (*row.leftovers, (row.version, row.leaves))
            if row.damage is not None:
                leftovers = _versions(stored[row.document_id])
            deleted.append(replace(row, version=None, leaves=0, hash="", leftovers=leftovers, checksums="", damage=None))
        self._changed.update(row.document_id for row in rows)
        # Before the documents disappear, so that a reader that misses one does not find it again in an old catalogue.
        yield from self.advance(settled=False)
        yield from self.write_rows(deleted)
        if stored:
            yield from self.advance(settled=False)
            self._is_finished = False
            yield from self._leaves.delete([id_ for ids in stored.values() for id_ in ids])
        yield from self.clear(deleted)

    def clear(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete the leftovers of these documents, and the rows of those without a current version."""
        if not rows:
            return
        # Before the leaves are deleted, so that a reader that misses one knows that it must start again.
        yield from self.advance(settled=False)
        self._is_finished = False
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
        deleted = [row.document_id for row in rows if row.version is None]
        yield from self._manifest.delete(deleted)
        self._set_rows(dict.fromkeys(deleted))
        self._changed.update(deleted)
        yield from self.advance()

    def delete_leaves(self, ids: Sequence[str]) -> Flow[None]:
        """Delete leaves that belong to no document's current version."""
        self._is_finished = False
        yield from self._leaves.delete(ids)
        yield from self.advance()

    def write_vectors(self, vectors: Mapping[str, Any]) -> Flow[None]:
        """Write the vectors of leaves that are stored without one, by id. Their texts and metadata do not change."""
        if vectors:
            self._is_finished = False
            yield from self._leaves.put_vectors(vectors)
            yield from self.advance()

    def write_rows(self, rows: Sequence[Row]) -> Flow[None]:
        """Write these rows of the manifest. Readers notice them only after ``advance``."""
        if rows:
            self._is_finished = False
            yield from self._manifest.put([*row_records(rows), *(unlogged_change() if self._notes_changes else [])])
            self._set_rows({row.document_id: row for row in rows})
            self._changed.update(row.document_id for row in rows)

    def _set_rows(self, rows: Mapping[str, Row | None]) -> None:
        earlier = self.rows
        if isinstance(earlier, StoredRows):
            self.rows = earlier.with_rows(rows)
        else:
            self.rows = {id_: row for id_, row in {**earlier, **rows}.items() if row is not None}

    def _leaves_of(self, documents: Collected[str]) -> Flow[dict[str, list[str]]]:
        """The ids of all leaves of documents whose rows are damaged, by document."""
        ids: dict[str, list[str]] = {id_: [] for id_ in documents}
        if ids:
            for id_ in (yield from self._leaves.scan([])):
                if (leaf := LeafId.of(id_)) is not None and leaf.document_id in ids:
                    ids[leaf.document_id].append(id_)
        return ids

    def _add_leaves(self, documents: Sequence[DocumentToWrite], done: Callable[[int], None]) -> Flow[None]:
        records = [
            Record(*each)
            for row, *fields in documents
            for each in zip(leaf_ids(row.document_id, row.version or "", range(len(fields[0]))), *fields, strict=True)
        ]
        if records:
            self._is_finished = False
        step = min(STEP, self._leaves.batch)
        for start in range(0, len(records), step):
            some = records[start : start + step]
            yield from self._leaves.put(some, new=True)
            done(len(some))


def _with_checksums(documents: Sequence[DocumentToWrite]) -> list[DocumentToWrite]:
    made = []
    for each in documents:
        places = (str(metadata[STRUCTURE_KEY]) for metadata in each.metadatas)
        checksums = pack_checksums(zip(each.texts, places, strict=True))
        made.append(each._replace(row=replace(each.row, checksums=checksums)))
    return made


def _versions(ids: Sequence[str], apart_from: str | None = None) -> tuple[tuple[str, int], ...]:
    """The versions of leaves of one document, as leftovers."""
    sizes: dict[str, int] = {}
    for leaf in map(LeafId.parse, ids):
        sizes[leaf.version] = max(sizes.get(leaf.version, 0), leaf.ordinal + 1)
    # Without a limit, a corrupt ordinal could make recovery delete billions of ids.
    return tuple((version, min(size, _MOST)) for version, size in sorted(sizes.items()) if version != apart_from)
