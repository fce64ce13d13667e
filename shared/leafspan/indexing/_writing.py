"""Writes and deletes documents, and finishes the work of killed writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

from leafspan.checks import is_unicode, shown
from leafspan.documents import IndexSettings
from leafspan.embedding import CheckedEmbedder, Embed
from leafspan.errors import ConcurrentUpdate, DamagedIndex, InvalidArgument, WriterBusy
from leafspan.filters import constant, to_filter
from leafspan.flows import Call, Flow
from leafspan.indexing._preparing import SplitDocument
from leafspan.store import DocumentToWrite, Reader, Row, Scope, Store, read_consistently
from leafspan.text import UnicodeErrors

Forget = Callable[[Sequence[str]], Flow[None]]
"""A flow that deletes what was derived from documents, by their stored ids."""


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """What all writes through one view share."""

    store: Store
    settings: IndexSettings
    embedder: CheckedEmbedder
    embed: Embed
    scope: Scope | None
    timeout: float  # seconds to wait for another writer
    unicode_errors: UnicodeErrors
    forget: Forget


def write_group(
    target: WriteTarget,
    documents: Sequence[SplitDocument],
    vectors: Sequence[Any],
    *,
    row_keys: Set[str] = frozenset(),
    wrote: Callable[[int], None] = lambda _: None,
    derived: Mapping[str, Any] | None = None,
) -> Flow[dict[str, bool]]:
    """Write whole documents, except those that are stored with the same content, and return whether each replaced one.

    Only the rows store the metadata under ``row_keys``.
    ``derived`` has what was derived from all of them for search.
    """
    scope = target.scope
    writer = yield from target.store.start_writing(target.timeout, [split.document.id for split in documents])
    try:
        yield from writer.recover()
        replaces: dict[str, bool] = {}
        to_write = []
        for split, matrix in zip(documents, vectors, strict=True):
            old = writer.rows.get(split.document.id)
            if scope and old and old.version is not None and not scope.sees(old):
                raise ConcurrentUpdate("another process has written the same ids meanwhile; add the documents again")
            if scope and old and not (yield from writer.shows_all_leaves(old, scope)):
                raise DamagedIndex(
                    f"document {split.document.id!r} is damaged and belongs to another view: delete it through the index",
                    split.document.id,
                )
            # Another writer may have written the same content first.
            if old is None or old.hash != split.row.hash:
                to_write.append((split, matrix))
            replaces[split.document.id] = old is not None
        if to_write:
            made = derived if len(to_write) == len(documents) else None
            yield from writer.replace((yield Call(_with_vectors, (to_write, row_keys))), wrote, made)
        return replaces
    finally:
        writer.stop()


def _with_vectors(documents: Sequence[tuple[SplitDocument, Any]], row_keys: Set[str]) -> list[DocumentToWrite]:
    """Return the documents with everything stored of them: for a whole group, this would block an event loop."""
    return [split.with_vectors(matrix, row_keys) for split, matrix in documents]


def finish(store: Store, ids: Sequence[str]) -> Flow[None]:
    """Finish a killed writer's half-done work on unchanged documents, unless another writer is at work."""
    try:
        writer = yield from store.start_writing(0.0, ids)
    except WriterBusy:
        return
    try:
        yield from writer.recover()
    finally:
        writer.stop()


def finish_interrupted(store: Store) -> Flow[None]:
    """Finish a killed, failed or interrupted writer's work in a folder, before rows decide what must be written.

    Otherwise the next writer would finish that work later, and its result could contradict a decision made from old rows,
    such as "this document is unchanged".
    """
    if store.interrupted:
        yield from finish(store, ())


def delete_documents(
    target: WriteTarget, ids: Iterable[str], *, versions: Mapping[str, str | None] | None = None, dry_run: bool = False
) -> Flow[list[str]]:
    """Delete documents, and return the ids of those that existed. With versions, only those that still have them."""
    if isinstance(ids, str) or not isinstance(ids, Iterable) or getattr(ids, "ndim", 1) == 0:
        meant = f"; did you mean [{shown(ids)}]?" if isinstance(ids, str) else ""
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}{meant}")
    ids = list(ids)
    if not all(isinstance(id_, str) for id_ in ids):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}")
    wanted = [str.__str__(id_) for id_ in ids if id_ and is_unicode(id_)]  # no document can have another id
    store, scope = target.store, target.scope
    if dry_run:
        rows = yield from read_consistently(store, partial(Reader.rows, ids=wanted), scope)
        return [id_ for id_ in dict.fromkeys(wanted) if id_ in rows and rows[id_].version is not None]
    touched = wanted
    if scope:
        yield from finish_interrupted(store)
        # On a server, a writer also finishes interrupted work on the documents it names, which may belong to another view.
        places = [stored for id_ in wanted for stored in scope.stored_ids(id_)]
        rows = yield from read_consistently(store, partial(Reader.rows, ids=places))
        touched = [id_ for id_, row in rows.items() if scope.sees(row) or _is_half_done(row, scope)]
    yield from target.forget(touched)
    writer = yield from store.start_writing(target.timeout, touched)
    try:
        yield from writer.recover()
        find = writer.rows.get if scope is None else partial(scope.find, rows=writer.rows)
        current = {id_: row for id_ in wanted if (row := find(id_)) is not None}
        if versions is not None:
            current = {id_: row for id_, row in current.items() if row.version == versions.get(id_)}
        if scope:
            for id_, row in list(current.items()):
                if not (yield from writer.shows_all_leaves(row, scope)):
                    del current[id_]  # it was moved to another view before it was damaged
        if current:
            yield from writer.delete(list(current.values()))
        return list(current)
    finally:
        writer.stop()


def delete_matching(target: WriteTarget, where: object, *, dry_run: bool = False) -> Flow[list[str]]:
    """Delete the documents that match a filter, and return their ids in order."""
    condition = to_filter(where)
    if condition is None or constant(condition):
        raise InvalidArgument(f"where must have a condition that says what to delete, got {shown(where)}")
    store, scope = target.store, target.scope

    def matching(reader: Reader) -> Flow[tuple[dict[str, Row], list[str]]]:
        catalogue = yield from reader.catalogue()
        ids = sorted(filter(None, map(catalogue.shown_id, catalogue.select(condition).ids)))
        everything = yield from reader.everything()
        half_deleted = [
            id_
            for id_, row in everything.rows.items()
            if is_half_deleted(row, scope) and condition.matches(row.filterable, id_)
        ]
        return {id_: catalogue.rows[id_] for id_ in ids}, half_deleted

    if not dry_run:
        yield from finish_interrupted(store)
    rows, half_deleted = yield from read_consistently(store, matching, scope)
    if half_deleted and not dry_run:
        yield from finish(store, half_deleted)
    if dry_run or not rows:
        return list(rows)
    versions = {id_: row.version for id_, row in rows.items()}
    return (yield from delete_documents(target, rows, versions=versions))


def is_half_deleted(row: Row, scope: Scope | None) -> bool:
    """Whether a killed or failed deletion has left a document half deleted that the view had shown.

    The view no longer shows it, so a deletion must look for it to finish it. A document that another process is writing
    for the first time has no current version either, but its row has no length yet.
    """
    if row.version is not None or not (row.characters or not any(leaves for _, leaves in row.leftovers)):
        return False
    return scope is None or scope.where.matches(row.filterable, row.document_id)


def _is_half_done(row: Row, scope: Scope) -> bool:
    """Whether a document that the view does not show was half deleted through it, or half written for the first time."""
    return is_half_deleted(row, scope) or (row.version is None and row.document_id.endswith(scope.suffixes))
