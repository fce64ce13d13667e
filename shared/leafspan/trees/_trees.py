"""The trees of an index, stored in an index of their own beside it: opened, written and deleted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from leafspan.documents import TREE_SETTINGS, IndexSettings
from leafspan.errors import IndexMismatch, IndexNotFound
from leafspan.flows import Flow
from leafspan.search import SearchIndexes
from leafspan.store import DocumentToWrite, Row, Store


class Trees:
    """The trees of an index, opened when they are first needed.

    They are stored in an index of their own, in which each tree is a document and each summary a leaf.
    """

    def __init__(self, open_store: Callable[[bool], Flow[Store]], settings: IndexSettings) -> None:
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
        store = yield from self._open_store(create)
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
        writer = yield from self.store.start_writing(self.timeout, [each.row.document_id for each in trees])
        try:
            yield from writer.recover()
            # An equal tree has the same ids, so writing it again would make it invisible for a moment.
            new = [each for each in trees if not self._is_stored(each.row, writer.rows.get(each.row.document_id), are_lost)]
            if new:
                yield from writer.replace(new)
        finally:
            writer.stop()
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
    writer = yield from store.start_writing(timeout, [row.document_id for row in rows])
    try:
        yield from writer.recover()
        current = writer.rows
        expected = [(row.document_id, row.version) for row in rows]
        unchanged = [current[id_] for id_, version in expected if id_ in current and current[id_].version == version]
        if unchanged:
            yield from writer.delete(unchanged)
    finally:
        writer.stop()
