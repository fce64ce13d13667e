"""Deleting documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from leafspan.checks import shown
from leafspan.engine import Flow
from leafspan.errors import InvalidArgument
from leafspan.store import Reader, Scope, Store, read_consistently


def delete_documents(
    store: Store,
    ids: Iterable[str],
    *,
    scope: Scope | None,
    timeout: float,
    forget: Callable[[Sequence[str]], Flow[None]],
) -> Flow[list[str]]:
    """Delete documents; the ids of those that were there.

    Args:
        store: Where they are.
        ids: Their ids. Unknown ones do not matter.
        scope: The view that they are deleted through, None for the whole index.
        timeout: Seconds to wait for another writer.
        forget: Flow that deletes what was made of documents, by stored ids. It runs first: if the process is killed after
            it, the documents are still there, and can be deleted again.

    Raises:
        InvalidArgument: if ``ids`` is anything but an iterable of strings.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}")
    wanted = list(ids)
    if not all(isinstance(id_, str) for id_ in wanted):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(wanted)}")
    touched = wanted
    if scope:
        # Behind a server a writer finishes what is half done of the documents it names; these might be somebody else's.
        places = [stored for id_ in wanted for stored in scope.stored_ids(id_)]
        rows = yield from read_consistently(store, partial(Reader.rows, ids=places))
        touched = [id_ for id_, row in rows.items() if scope.sees(row)]
    yield from forget(touched)
    writer = yield from store.start_writing(timeout, touched)
    try:
        yield from writer.recover()
        find = writer.rows.get if scope is None else partial(scope.find, rows=writer.rows)
        found = {id_: row for id_ in wanted if (row := find(id_)) is not None}
        if found:
            yield from writer.delete(list(found.values()))
        return list(found)
    finally:
        writer.stop()
