"""Deleting documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from leafspan.checks import shown
from leafspan.engine import Flow
from leafspan.errors import InvalidArgument
from leafspan.filters import constant, to_filter
from leafspan.store import Reader, Row, Scope, Store, read_consistently

Forget = Callable[[Sequence[str]], Flow[None]]
"""Flow that deletes what was made of documents, by their stored ids."""


def delete_documents(
    store: Store,
    ids: Iterable[str],
    *,
    scope: Scope | None,
    timeout: float,
    forget: Forget,
    versions: Mapping[str, str | None] | None = None,
    dry_run: bool = False,
) -> Flow[list[str]]:
    """Delete documents; the ids of those that were there.

    Args:
        store: Where they are.
        ids: Their ids. Unknown ones do not matter.
        scope: The view that they are deleted through, None for the whole index.
        timeout: Seconds to wait for another writer.
        forget: Flow that deletes what was made of documents. It runs first: if the process is killed after it, the
            documents are still there, and can be deleted again.
        versions: The version of each document that is to be deleted: one that was replaced meanwhile stays. None for any.
        dry_run: Whether to report only what would be deleted.

    Raises:
        InvalidArgument: if ``ids`` is anything but an iterable of strings.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}")
    wanted = list(ids)
    if not all(isinstance(id_, str) for id_ in wanted):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(wanted)}")
    if dry_run:
        there = yield from read_consistently(store, partial(Reader.rows, ids=wanted), scope)
        return [id_ for id_ in dict.fromkeys(wanted) if id_ in there and there[id_].version is not None]
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
        if versions is not None:
            found = {id_: row for id_, row in found.items() if row.version == versions.get(id_)}
        if scope:
            for id_, row in list(found.items()):
                if not (yield from writer.shows_all_leaves(row, scope)):
                    del found[id_]  # it was moved to another view before it was damaged
        if found:
            yield from writer.delete(list(found.values()))
        return list(found)
    finally:
        writer.stop()


def delete_matching(
    store: Store, where: object, *, scope: Scope | None, timeout: float, forget: Forget, dry_run: bool = False
) -> Flow[list[str]]:
    """Delete the documents that match a filter; their ids, in order.

    Args:
        store: Where they are.
        where: The filter.
        scope: The view that they are deleted through, None for the whole index.
        timeout: Seconds to wait for another writer.
        forget: See ``delete_documents``.
        dry_run: Whether to report only what would be deleted.

    Raises:
        InvalidArgument: if ``where`` is no filter, or one that every document matches for lack of a condition.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    condition = to_filter(where)
    if condition is None or constant(condition):
        raise InvalidArgument(f"where must have a condition that says what to delete, got {shown(where)}")

    def matching(reader: Reader) -> Flow[dict[str, Row]]:
        catalogue = yield from reader.catalogue()
        ids = sorted(filter(None, map(catalogue.shown_id, catalogue.select(condition).ids)))
        return {id_: catalogue.rows[id_] for id_ in ids}

    rows = yield from read_consistently(store, matching, scope)
    if dry_run or not rows:
        return list(rows)
    versions = {id_: row.version for id_, row in rows.items()}
    return (yield from delete_documents(store, rows, scope=scope, timeout=timeout, forget=forget, versions=versions))
