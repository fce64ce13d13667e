"""The trees of an index, stored in an index of their own beside it: opened, written, deleted and tidied up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from leafspan.checks import RESERVED_ID_PREFIX
from leafspan.documents import TREE_SETTINGS, IndexSettings
from leafspan.errors import IndexMismatch, IndexNotFound
from leafspan.flows import Flow
from leafspan.search import SearchIndexes
from leafspan.store import Catalogue, DocumentToWrite, Reader, Row, Scope, Store, Texts, read_consistently
from leafspan.trees._records import UPPER_LAYERS, TreeRecord, key_prefix, view_name
from leafspan.trees._visible_trees import VisibleTrees
from leafspan.values import LeafId


class Trees:
    """The trees of an index: another index, in which each tree is a document and each summary a leaf."""

    def __init__(self, open_store: Callable[..., Flow[Store]], settings: IndexSettings) -> None:
        self._open_store = open_store
        self._settings = settings
        self._opened: SearchIndexes | None = None
        self._mutex = threading.Lock()

    def existing(self) -> Flow[SearchIndexes | None]:
        """The search indexes of the trees, None if no tree was ever built."""
        try:
            return self._opened or (yield from self._open(False))
        except IndexNotFound:
            return None

    def created(self) -> Flow[SearchIndexes]:
        """The search indexes of the trees, created if no tree was ever built."""
        return self._opened or (yield from self._open(True))

    def close(self) -> None:
        """Close the search indexes of the trees, if they are open."""
        if self._opened is not None:
            self._opened.close()

    def _open(self, create: bool) -> Flow[SearchIndexes]:
        store = yield from self._open_store(create=create)
        if store.settings != TREE_SETTINGS:
            raise IndexMismatch("the place of this index's trees holds another index; choose another name for one of them")
        with self._mutex:  # with a client, the shared store locks out other writers of the process
            if self._opened is None:  # else another thread has just opened it
                self._opened = SearchIndexes.of(store, self._settings)
            return self._opened


@dataclass(slots=True)
class TreeRows:
    """The rows of the trees by stored id, during a build. They include what the build writes."""

    store: Store
    rows: dict[str, Row]
    timeout: float  # seconds to wait for another writer

    def has(self, id_: str, hash_: str) -> bool:
        """Whether the tree with this stored id is complete, and was built from content with this hash."""
        row = self.rows.get(id_)
        return row is not None and row.damage is None and not row.is_half_done and row.hash == hash_

    def write(self, trees: Sequence[DocumentToWrite], *, are_lost: bool = False) -> Flow[None]:
        """Write trees, and replace their former versions."""
        if not trees:
            return
        with (yield from self.store.start_writing(self.timeout, [each.row.document_id for each in trees])) as writer:
            yield from writer.recover()
            # An equal tree has the same ids, so writing it again would make it invisible for a moment.
            new = [each for each in trees if not self._is_stored(each.row, writer.rows.get(each.row.document_id), are_lost)]
            if new:
                yield from writer.replace(new)
        self.rows.update((each.row.document_id, each.row) for each in trees)

    def _is_stored(self, new: Row, now: Row | None, is_lost: bool) -> bool:
        """Whether an equal tree is stored; for a lost tree, whether it was written since this build started."""
        if now is None or (is_lost and now == self.rows.get(new.document_id)):
            return False
        return replace(now, checksums="") == new


def delete_trees(store: Store, rows: Sequence[Row], timeout: float) -> Flow[None]:
    """Delete the trees of these rows, unless another build has replaced them meanwhile."""
    if not rows:
        return
    with (yield from store.start_writing(timeout, [row.document_id for row in rows])) as writer:
        yield from writer.recover()
        current = writer.rows
        expected = [(row.document_id, row.version) for row in rows]
        unchanged = [current[id_] for id_, version in expected if id_ in current and current[id_].version == version]
        if unchanged:
            yield from writer.delete(unchanged)


def forget_documents(trees: Trees, ids: Collection[str], timeout: float) -> Flow[None]:
    """Delete all summaries that contain text of these documents, and their cached texts."""
    opened = (yield from trees.existing()) if ids else None
    if opened is None:
        return
    rows = yield from read_consistently(opened.store, Reader.rows)
    affected = _trees_made_from(ids, rows)
    yield from delete_trees(opened.store, [rows[id_] for id_ in affected], timeout)
    texts = Texts(opened.store, timeout)
    dropped = _cache_keys(rows[id_] for id_ in affected)
    used = _cache_keys(row for id_, row in rows.items() if id_ not in affected)
    # A killed build leaves cached texts without a tree.
    unfinished = yield from texts.of([*ids, UPPER_LAYERS])
    yield from texts.delete((dropped | unfinished) - used)


class StateBeforeBuild(NamedTuple):
    """What was stored before a build."""

    rows: Mapping[str, Row]  # of the trees, by stored id
    keys: Collection[str]  # of the cached texts


def remove_unused(
    store: Store, trees: Store, before: StateBeforeBuild, failed: Collection[str], scope: Scope | None, timeout: float
) -> Flow[None]:
    """After a build, delete outdated trees, and cached texts that no tree uses.

    Other processes may be building at the same time. So this function reads all rows again, and keeps what another build
    may be about to finish: it deletes a half-written tree only if the tree was half-written before this build, and a cached
    text only if the text was there before this build, or its document is gone. (If another build uses such a text and is
    killed before it has written its tree, the next build makes that summary again.)
    """
    rows = dict((yield from read_consistently(trees, Reader.rows)))
    # Read after the trees, so that the documents are at least as new as the trees.
    documents = yield from read_consistently(store, Reader.unpacked, scope)
    outdated = _outdated_trees(rows, documents, before, scope)
    yield from delete_trees(trees, outdated, timeout)
    for row in outdated:
        del rows[row.document_id]
    texts = Texts(trees, timeout)
    keys = yield from texts.keys()
    unused = {key for key in keys if key.startswith(key_prefix(scope))} - _cache_keys(rows.values())
    owners = yield from texts.owners(unused)
    lost = {owner for owner in owners.values() if owner != UPPER_LAYERS and documents.shown_id(owner) is None}
    yield from texts.delete(
        [key for key, owner in owners.items() if owner in lost or (key in before.keys and owner not in failed)]
    )


def _outdated_trees(
    rows: Mapping[str, Row], documents: Catalogue, before: StateBeforeBuild, scope: Scope | None
) -> list[Row]:
    """The view's trees whose documents have changed or gone, or that were half-written before the build and still are."""
    records = {id_: TreeRecord.of(row) for id_, row in rows.items()}
    # A repair removed the hash of an incomplete summary of several documents, and this build did not make it again.
    # A damaged summary does not show which documents it covers, and this build did not make it again either.
    whole = {id_: row for id_, row in rows.items() if row.damage is None and (row.hash or records[id_].is_of_document)}
    visible = VisibleTrees(whole, documents)
    own = rows.values() if scope is None else [rows[id_] for id_ in rows if records[id_].view == view_name(scope)]
    return [
        row
        for row in own
        if row.document_id not in visible.rows and (row.version is not None or before.rows.get(row.document_id) == row)
    ]


def _cache_keys(rows: Iterable[Row]) -> set[str]:
    return {key for row in rows for key in TreeRecord.of(row).keys}


def _trees_made_from(ids: Collection[str], rows: Mapping[str, Row]) -> list[str]:
    """The ids of these documents' trees, and of the summaries of several documents that contain one of them."""
    touched = set(ids)
    children = {id_: record.children for id_, row in rows.items() if (record := TreeRecord.of(row)).children is not None}
    above = [(id_, {LeafId.parse(child).document_id for child in below}) for id_, below in children.items()]
    while newly_touched := [id_ for id_, below in above if id_ not in touched and below & touched]:
        touched.update(newly_touched)
    # A damaged summary of several documents may contain one of these documents.
    touched.update(id_ for id_, row in rows.items() if row.damage is not None and id_.startswith(RESERVED_ID_PREFIX))
    return sorted(touched & rows.keys())
