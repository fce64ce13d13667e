"""What is in the trees of an index."""

from __future__ import annotations

from typing import NamedTuple

from leafspan.engine import Flow
from leafspan.errors import DocumentNotFound
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.store import Reader, Store
from leafspan.tree.reading import SummaryReader
from leafspan.tree.trees import Trees
from leafspan.values import Found


class TreeCounts(NamedTuple):
    """How many documents have a tree that is up to date, how many summaries there are, and in how many layers at most."""

    trees: int
    summaries: int
    layers: int


def counting(store: Store, trees: Trees, scope: Scope | None) -> Flow[TreeCounts]:
    """The trees in numbers, as far as they can be seen."""

    def read(reader: Reader) -> Flow[TreeCounts]:
        summaries = SummaryReader(trees, reader, set())
        try:
            view = yield from summaries.view()
            rows = view.rows.values()
            layers = [layer for row in rows for layer in row.more["layers"]]
            return TreeCounts(sum("of" in row.more for row in rows), len(layers), max(layers, default=0))
        finally:
            summaries.leave()

    return (yield from reading(store, read, scope))


def listing_summaries(
    store: Store, trees: Trees, document_id: str | None, scope: Scope | None
) -> Flow[list[tuple[Found, str]]]:
    """The summaries of a document's tree, or all, each with its text: by document, top layer first.

    Raises:
        DocumentNotFound: if there is no document of that id.
    """
    stale: set[tuple[str, str]] = set()

    def read(reader: Reader) -> Flow[list[tuple[Found, str]]]:
        summaries = SummaryReader(trees, reader, stale)
        try:
            documents = (yield from reader.catalogue()).rows
            if document_id is not None and document_id not in documents:
                raise DocumentNotFound(f"there is no document {document_id!r} in the index")
            view = yield from summaries.view()
            ids = view.summaries(document_id)
            found = {each.span.leaf_ids[0]: (each, text) for each, text in (yield from summaries.load(ids))}
            return [found[id_] for id_ in ids if id_ in found]
        finally:
            summaries.leave()

    return (yield from reading(store, read, scope))
