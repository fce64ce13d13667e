"""Lists and counts the trees of an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from leafspan.flows import Flow
from leafspan.store import Met, Reader, Scope, Store, read_consistently
from leafspan.trees._passages import document_of, summary_passage
from leafspan.trees._summary_reader import SummaryReader
from leafspan.trees._tree_record import TreeRecord
from leafspan.trees._trees import Trees
from leafspan.values import Passage

T = TypeVar("T")


class TreeCounts(NamedTuple):
    """The trees of an index in numbers.

    Attributes:
        trees: Number of documents whose tree is up to date.
        summaries: Number of summaries.
        layers: Highest layer of a summary, 0 if there is no summary.
    """

    trees: int
    summaries: int
    layers: int


def count_trees(store: Store, trees: Trees, scope: Scope | None) -> Flow[TreeCounts]:
    """Count the visible trees and summaries."""

    def read(summaries: SummaryReader) -> Flow[TreeCounts]:
        rows = (yield from summaries.visible()).rows.values()
        records = [TreeRecord.of(row) for row in rows if row.version is not None]
        layers = [layer for record in records for layer in record.layers]
        return TreeCounts(sum(record.is_of_document for record in records), len(layers), max(layers, default=0))

    return _read_summaries(store, trees, scope, read)


def list_summaries(store: Store, trees: Trees, document_id: str | None, scope: Scope | None) -> Flow[list[Passage]]:
    """The visible summaries as passages with score 0, by document, top layer first.

    Raises:
        DocumentNotFound: if no document has that id.
    """

    def read(summaries: SummaryReader) -> Flow[list[Passage]]:
        documents = yield from summaries.documents()
        if document_id is not None and document_id not in documents.rows:
            raise documents.lacks(document_id)
        ids = (yield from summaries.visible()).summaries(document_id)
        passages = {
            each.id: summary_passage(each, text, documents.rows.get(document_of(each)))
            for each, text in (yield from summaries.load(ids))
        }
        return [passages[id_] for id_ in ids if id_ in passages]

    return _read_summaries(store, trees, scope, read)


def _read_summaries(store: Store, trees: Trees, scope: Scope | None, read: Callable[[SummaryReader], Flow[T]]) -> Flow[T]:
    """The result of ``read``, which starts again whenever something it saw was replaced."""
    met = Met()

    def read_with_documents(reader: Reader) -> Flow[T]:
        summaries = SummaryReader(trees, reader, met)
        try:
            return (yield from read(summaries))
        finally:
            summaries.leave()

    return read_consistently(store, read_with_documents, scope)
