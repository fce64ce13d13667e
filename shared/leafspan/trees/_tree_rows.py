"""The rows of trees during a build; writes and deletes trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leafspan.flows import Flow
from leafspan.store import DocumentToWrite, Row, Store


@dataclass(slots=True)
class TreeRows:
    """The rows of the trees during a build. They include what the build writes.

    Attributes:
        store: The store of the trees. None in a dry run of an index without trees.
        rows: The rows by stored id.
        timeout: Seconds to wait for another writer.
        read_only: Whether to leave the store unchanged.
    """

    store: Store | None
    rows: dict[str, Row]
    timeout: float
    read_only: bool

    def has(self, id_: str, hash_: str) -> bool:
        """Whether the tree with this stored id is complete, and was built from content with this hash."""
        row = self.rows.get(id_)
        return row is not None and row.damage is None and not row.is_half_done and row.hash == hash_

    def write(self, trees: Sequence[DocumentToWrite], *, are_lost: bool = False) -> Flow[None]:
        """Write trees, and replace their former versions."""
        if self.store is None or self.read_only or not trees:
            return
        writer = yield from self.store.start_writing(self.timeout, [each.row.document_id for each in trees])
        try:
            yield from writer.recover()
            # An equal tree has the same ids, so writing it again would make it invisible for a moment.
            new = [each for each in trees if not self._is_there(each.row, writer.rows.get(each.row.document_id), are_lost)]
            if new:
                yield from writer.replace(new)
        finally:
            writer.stop()
        self.rows.update((each.row.document_id, each.row) for each in trees)

    def _is_there(self, new: Row, now: Row | None, is_lost: bool) -> bool:
        """Whether an equal tree is already there; for a lost tree, whether it was written since this build started."""
        if now is None or (is_lost and now == self.rows.get(new.document_id)):
            return False
        return replace(now, checksums="") == new

    def delete(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete the trees of these rows, unless another build has replaced them meanwhile."""
        if self.store is not None and not self.read_only:
            yield from delete_trees(self.store, rows, self.timeout)


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
