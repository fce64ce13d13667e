"""Deleting summaries: of documents that were deleted, so that nothing of them stays; and what no tree uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from leafspan.engine import Flow
from leafspan.store import Catalogue, Reader, Row, Scope, Store, read_consistently
from leafspan.tree._stored_trees import LAYERS
from leafspan.tree._summary_cache import key_prefix, view_name
from leafspan.tree._tree_record import TreeRecord
from leafspan.tree._tree_rows import delete_trees
from leafspan.tree._trees import Trees
from leafspan.tree._visible_trees import VisibleTrees
from leafspan.values import LeafId


def forget_documents(trees: Trees, ids: Collection[str], timeout: float) -> Flow[None]:
    """Delete all summaries that contain something of these documents, by stored ids, and the cached texts of them."""
    opened = (yield from trees.existing()) if ids else None
    if opened is None:
        return
    rows = yield from read_consistently(opened.store, Reader.rows)
    gone = _made_of(rows, ids)
    yield from delete_trees(opened.store, [rows[id_] for id_ in gone], timeout)
    texts = opened.store.texts(timeout)
    dropped = _cache_keys(rows[id_] for id_ in gone)
    used = _cache_keys(row for id_, row in rows.items() if id_ not in gone)
    # A build that was killed has cached texts for which there is no tree yet.
    half_done = yield from texts.of([*ids, LAYERS])
    yield from texts.delete((dropped | half_done) - used)


class Before(NamedTuple):
    """What there was before a build: the rows of the trees, and the keys of cached texts."""

    rows: Mapping[str, Row]
    keys: Collection[str]


def remove_unused(
    store: Store, trees: Store, before: Before, failed: Collection[str], scope: Scope | None, timeout: float
) -> Flow[None]:
    """After a build: delete the trees of what is gone, and the cached texts that no tree uses.

    Others may be building at the same time. So everything is read again, and only that is deleted which nobody can be about
    to finish: half-written trees only if they were half-written before, and texts that were cached before the build, or
    whose document is gone. (Another builder that uses one of these texts, and is killed before its tree is written, has to
    make it again.)

    Args:
        store: The documents.
        trees: The trees.
        before: What there was before the build.
        failed: Owners whose trees failed; their texts stay for the next build.
        scope: The view that was built in.
        timeout: Seconds to wait for another writer.
    """
    rows = dict((yield from read_consistently(trees, Reader.rows)))
    documents = yield from read_consistently(store, Reader.catalogue, scope)  # after the trees, so no older than they are
    gone = _gone(rows, documents, before, scope)
    yield from delete_trees(trees, gone, timeout)
    for row in gone:
        del rows[row.document_id]
    texts = trees.texts(timeout)
    keys = yield from texts.keys()
    unused = {key for key in keys if key.startswith(key_prefix(scope))} - _cache_keys(rows.values())
    owners = yield from texts.owners(unused)
    lost = {owner for owner in owners.values() if owner != LAYERS and documents.shown_id(owner) is None}
    yield from texts.delete(
        [key for key, owner in owners.items() if owner in lost or (key in before.keys and owner not in failed)]
    )


def _gone(rows: Mapping[str, Row], documents: Catalogue, before: Before, scope: Scope | None) -> list[Row]:
    """The view's trees that are of no document any more, or half-written for longer than the build."""
    records = {id_: TreeRecord.of(row) for id_, row in rows.items()}
    # A summary of several documents whose hash the doctor has removed is not whole, and was not made again.
    visible = VisibleTrees({id_: row for id_, row in rows.items() if row.hash or records[id_].is_of_document}, documents)
    own = rows.values() if scope is None else [rows[id_] for id_ in rows if records[id_].view == view_name(scope)]
    return [
        row
        for row in own
        if row.document_id not in visible.rows and (row.version is not None or before.rows.get(row.document_id) == row)
    ]


def _cache_keys(rows: Iterable[Row]) -> set[str]:
    """The keys under which the texts of these trees are cached."""
    return {key for row in rows for key in TreeRecord.of(row).keys}


def _made_of(rows: Mapping[str, Row], ids: Collection[str]) -> list[str]:
    """The trees of these documents, and the summaries of several documents that were made of one of them."""
    touched = set(ids)
    children = {id_: record.children for id_, row in rows.items() if (record := TreeRecord.of(row)).children is not None}
    above = [(id_, {LeafId.parse(child).document_id for child in below}) for id_, below in children.items()]
    while found := [id_ for id_, below in above if id_ not in touched and below & touched]:
        touched.update(found)
    return sorted(touched & rows.keys())
