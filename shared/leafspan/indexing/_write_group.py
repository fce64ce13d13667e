"""Writes a group of documents at once, and finishes what a killed writer left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leafspan.errors import ConcurrentUpdate, DamagedIndex, WriterBusy
from leafspan.flows import Call, Flow
from leafspan.indexing._split_document import SplitDocument
from leafspan.store import DocumentToWrite, Scope, Store


def write_group(
    store: Store,
    documents: Sequence[SplitDocument],
    vectors: Sequence[Any],
    *,
    scope: Scope | None,
    timeout: float,
    wrote: Callable[[int], None] = lambda _: None,
    derived: Mapping[str, Any] | None = None,
) -> Flow[dict[str, bool]]:
    """Write whole documents, except those that are stored with the same content.

    ``derived`` has what was derived from all of them for search.

    Raises:
        DamagedIndex: if an id belongs to a damaged document whose leaves belong to another view.
        ConcurrentUpdate: if another process meanwhile used an id for a document that the view does not show.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    writer = yield from store.start_writing(timeout, [split.document.id for split in documents])
    try:
        yield from writer.recover()
        were_there: dict[str, bool] = {}
        to_write = []
        for split, matrix in zip(documents, vectors, strict=True):
            old = writer.rows.get(split.document.id)
            if scope and old and old.version is not None and not scope.sees(old):
                raise ConcurrentUpdate("another process has written the same ids meanwhile; add the documents again")
            if scope and old and not (yield from writer.shows_all_leaves(old, scope)):
                raise _refusal(split.document.id)
            # Another writer may have written the same content first.
            if old is None or old.hash != split.row.hash:
                to_write.append((split, matrix))
            were_there[split.document.id] = old is not None
        if to_write:
            made = derived if len(to_write) == len(documents) else None
            yield from writer.replace((yield Call(_with_vectors, (to_write,))), wrote, made)
        return were_there
    finally:
        writer.stop()


def _with_vectors(documents: Sequence[tuple[SplitDocument, Any]]) -> list[DocumentToWrite]:
    """Return the documents with everything stored of them: for a whole group, this would block an event loop."""
    return [split.with_vectors(matrix) for split, matrix in documents]


def _refusal(stored_id: str) -> DamagedIndex:
    return DamagedIndex(
        f"what is stored under {stored_id!r} is damaged, and not of this view: delete it through the whole index", stored_id
    )


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
