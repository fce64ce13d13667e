"""Forgetting summaries: of documents that were deleted, so that nothing of them stays behind; and what no tree uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from leafspan.adding import recover
from leafspan.engine import Flow
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.store import Reader, Row, Store
from leafspan.tree.kept import is_layer, key_prefix, view_name
from leafspan.tree.planting import LAYERS
from leafspan.tree.trees import Trees
from leafspan.tree.view import TreeView


def forgetting(trees: Trees, ids: Collection[str], timeout: float) -> Flow[None]:
    """Delete all summaries that these documents, by stored ids, are in, and what was kept of them."""
    sources = (yield from trees.existing()) if ids else None
    if sources is None:
        return
    rows = yield from reading(sources.store, Reader.rows)
    gone = _with(rows, ids)
    yield from deleting_trees(sources.store, [rows[id_] for id_ in gone], timeout)
    texts = sources.store.texts(timeout)
    dropped = _keys(rows[id_] for id_ in gone)
    used = _keys(row for id_, row in rows.items() if id_ not in gone)
    # A build that was killed has kept texts for which there is no tree yet.
    half_done = yield from texts.of([*ids, LAYERS])
    yield from texts.delete((dropped | half_done) - used)


def deleting_trees(store: Store, rows: Sequence[Row], timeout: float) -> Flow[None]:
    """Delete the trees of these rows, as far as they are still the same."""
    if not rows:
        return
    writer = yield from store.start_writing(timeout, [row.document_id for row in rows])
    try:
        yield from recover(writer)
        now = writer.rows
        judged = [(row.document_id, row.version) for row in rows]
        same = [now[id_] for id_, version in judged if id_ in now and now[id_].version == version]
        if same:
            yield from writer.delete(same)
    finally:
        writer.stop()


def clearing_up(
    store: Store,
    trees: Store,
    *,
    rows_before: Mapping[str, Row],
    keys_before: Collection[str],
    failed: Collection[str],
    scope: Scope | None,
    timeout: float,
) -> Flow[None]:
    """Delete the trees of what is gone, and forget the texts that were kept for none of those that are left.

    Others may be building at the same time. So everything is looked at anew, and only that is deleted which nobody can be
    about to finish: half-written trees only where they were so before, and texts that were there before the build, or whose
    document is gone. (Another builder that has taken up one of these, and is killed before its tree is written, asks for it
    again.) What is kept for an owner that ``failed`` stays for the next build.
    """
    rows = dict((yield from reading(trees, Reader.rows)))
    documents = yield from reading(store, Reader.catalogue, scope)  # after the trees, so that it is no older than they are
    # A summary of several documents whose hash the doctor has taken is not whole, and was not made again.
    seen = TreeView({id_: row for id_, row in rows.items() if row.hash or not is_layer(row)}, documents)
    own = rows.values() if scope is None else [row for row in rows.values() if row.more.get("view") == view_name(scope)]
    gone = [
        row
        for row in own
        if row.document_id not in seen.rows and (row.version is not None or rows_before.get(row.document_id) == row)
    ]
    yield from deleting_trees(trees, gone, timeout)
    for row in gone:
        del rows[row.document_id]
    used = _keys(rows.values())
    texts = trees.texts(timeout)
    unused = {key for key in (yield from texts.keys()) if key.startswith(key_prefix(scope))} - used
    owners = yield from texts.owners(unused)
    lost = {owner for owner in owners.values() if owner != LAYERS and documents.shown_id(owner) is None}
    yield from texts.delete(
        [key for key, owner in owners.items() if owner in lost or (key in keys_before and owner not in failed)]
    )


def _keys(rows: Iterable[Row]) -> set[str]:
    """What the texts of these trees are kept under."""
    return {key for row in rows for key in row.more["keys"]}


def _with(rows: Mapping[str, Row], ids: Collection[str]) -> list[str]:
    """The trees of these documents, and the layers above of which something is made of one of them."""
    touched = set(ids)
    layers = {id_: row.more["children"] for id_, row in rows.items() if is_layer(row)}
    above = [(id_, {child.rsplit("#", 2)[0] for child in children}) for id_, children in layers.items()]
    while found := [id_ for id_, below in above if id_ not in touched and below & touched]:
        touched.update(found)
    return sorted(touched & rows.keys())
