"""Writing a group of documents at once, and finishing what a killed writer left."""

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
    """Write documents, each as a whole, but for those that are there with the same content.

    ``derived`` has what was made of all of them for search.

    Raises:
        DamagedIndex: if one of the ids is that of a damaged document whose leaves are another view's.
        ConcurrentUpdate: if another process has meanwhile given one of the ids to a document that the view does not show.
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
            # Another writer may have come first: with the same content there is nothing left to do.
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
    """The documents with all that is stored of them: for a whole group, this would hold up an event loop."""
    return [split.with_vectors(matrix) for split, matrix in documents]


def _refusal(stored_id: str) -> DamagedIndex:
    return DamagedIndex(
        f"what is stored under {stored_id!r} is damaged, and not of this view: delete it through the whole index", stored_id
    )


def finish(store: Store, ids: Sequence[str]) -> Flow[None]:
    """Finish what a killed writer left half done of unchanged documents, unless another writer is at work."""
    try:
        writer = yield from store.start_writing(0.0, ids)
    except WriterBusy:
        return
    try:
        yield from writer.recover()
    finally:
        writer.stop()


def finish_interrupted(store: Store) -> Flow[None]:
    """Finish what a killed, failed or interrupted writer left of a folder, before deciding by rows what there is to write.

    Without it what is decided by the rows that are known here, such as that a document is unchanged, would be overtaken by
    the next writer, which finishes the interrupted one's work: a version that was written, but not announced to readers.
    """
    if store.interrupted:
        yield from finish(store, ())
