"""The trees of an index as they are stored, and what a build writes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.engine import Flow
from leafspan.store import DocumentToWrite, Row, Store


@dataclass(slots=True)
class TreeRows:
    """The rows of the trees during a build, kept up to date with what it writes.

    Attributes:
        store: Where the trees are. None if no tree was ever built, in a dry run.
        rows: The rows by stored ids.
        timeout: Seconds to wait for another writer.
        read_only: Whether nothing is to be written.
    """

    store: Store | None
    rows: dict[str, Row]
    timeout: float
    read_only: bool

    def has(self, id_: str, hash_: str) -> bool:
        """Whether the tree of this stored id is there, whole, and made of content with this hash."""
        row = self.rows.get(id_)
        return row is not None and not row.is_half_done and row.hash == hash_

    def write(self, trees: Sequence[DocumentToWrite]) -> Flow[None]:
        """Write trees in place of what was there of them."""
        if self.store is None or self.read_only or not trees:
            return
        writer = yield from self.store.start_writing(self.timeout, [each.row.document_id for each in trees])
        try:
            yield from writer.recover()
            yield from writer.replace(trees)
        finally:
            writer.stop()
        self.rows.update((each.row.document_id, each.row) for each in trees)

    def delete(self, rows: Sequence[Row]) -> Flow[None]:
        """Delete trees, as far as they are still the same."""
        if self.store is not None and not self.read_only:
            yield from delete_trees(self.store, rows, self.timeout)


def delete_trees(store: Store, rows: Sequence[Row], timeout: float) -> Flow[None]:
    """Delete the trees of these rows, as far as they are still the same."""
    if not rows:
        return
    writer = yield from store.start_writing(timeout, [row.document_id for row in rows])
    try:
        yield from writer.recover()
        now = writer.rows
        judged = [(row.document_id, row.version) for row in rows]
        same = [now[id_] for id_, version in judged if id_ in now and now[id_].version == version]
        if same:
            yield from writer.delete(same)
    finally:
        writer.stop()
