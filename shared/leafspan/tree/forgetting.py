"""Forgetting the trees of documents that were deleted: nothing of them is to stay behind in a summary."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from leafspan.adding import recover
from leafspan.engine import Flow
from leafspan.reading import reading
from leafspan.store import Reader, Row
from leafspan.tree.trees import Trees


def forgetting(trees: Trees, ids: Collection[str], timeout: float) -> Flow[None]:
    """Delete all summaries that these documents, by stored ids, are in, and what was kept of them."""
    sources = (yield from trees.existing()) if ids else None
    if sources is None:
        return
    rows = yield from reading(sources.store, Reader.rows)
    gone = _with(rows, ids)
    if not gone:
        return
    writer = yield from sources.store.start_writing(timeout, gone)
    try:
        yield from recover(writer)
        yield from writer.delete([writer.rows[id_] for id_ in gone if id_ in writer.rows])
    finally:
        writer.stop()
    used = {key for id_, row in rows.items() if id_ not in gone for key in row.more["keys"]}
    keys = {key for id_ in gone for key in rows[id_].more["keys"]}
    yield from sources.store.texts(timeout).delete(sorted(keys - used))


def _with(rows: Mapping[str, Row], ids: Collection[str]) -> list[str]:
    """The trees of these documents, and the layers above of which something is made of one of them."""
    touched = set(ids)
    above = [(id_, {child.rsplit("#", 2)[0] for child in row.more.get("children", ())}) for id_, row in rows.items()]
    while found := [id_ for id_, below in above if id_ not in touched and below & touched]:
        touched.update(found)
    return sorted(touched & rows.keys())
