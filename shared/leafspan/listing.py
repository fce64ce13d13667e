"""What is in an index: documents, their texts and their leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leafspan.engine import Flow
from leafspan.errors import DocumentNotFound
from leafspan.metadata import copied
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.settings import Indexing
from leafspan.sources import Sources
from leafspan.store import Gone, Reader, Row, Store
from leafspan.trace import Trace
from leafspan.tree.listing import counting
from leafspan.values import Document, Passage, leaf_id


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of a document without reading its text; lengths in leaves, words and characters."""

    id: str
    title: str | None
    metadata: Mapping[str, object]
    leaves: int
    words: int
    characters: int


@dataclass(frozen=True, slots=True)
class Stats:
    """An index in numbers, and what it was made with; ``embedder`` is None before the first document.

    ``trees``: how many documents have a tree that is up to date; ``summaries``: how many there are, in ``layers`` at most.
    """

    documents: int
    leaves: int
    words: int
    characters: int
    embedder: str | None
    dimension: int | None
    splitter: str
    context_sentences: int
    title_weight: float
    analyzer: str
    trees: int
    summaries: int
    layers: int


def summing_up(sources: Sources, indexing: Indexing, scope: Scope | None) -> Flow[Stats]:
    """The index, or the view, in numbers."""
    documents = yield from listing(sources.store, scope)
    identity = yield from sources.embedder.identity()
    trees = yield from counting(sources.store, sources.trees, scope)
    return Stats(
        documents=len(documents),
        leaves=sum(document.leaves for document in documents),
        words=sum(document.words for document in documents),
        characters=sum(document.characters for document in documents),
        embedder=identity.name if identity else None,
        dimension=identity.dimension if identity else None,
        splitter=sources.store.settings["splitter"],
        context_sentences=indexing.context_sentences,
        title_weight=indexing.title_weight,
        analyzer=sources.store.settings["analyzer"],
        trees=trees.trees,
        summaries=trees.summaries,
        layers=trees.layers,
    )


def listing(store: Store, scope: Scope | None = None) -> Flow[list[DocumentInfo]]:
    """All documents, in the order of their ids."""
    rows = yield from reading(store, Reader.rows, scope)
    return [
        DocumentInfo(row.document_id, row.title, copied(row.metadata), row.leaves, row.words, row.characters)
        for _, row in sorted(rows.items())
        if row.version is not None
    ]


def getting(store: Store, document_id: str, scope: Scope | None = None) -> Flow[Document]:
    """A document with its text.

    Raises:
        DocumentNotFound: if there is none of that id.
    """

    def read(reader: Reader) -> Flow[Document]:
        row = yield from _counting_row(reader, document_id)
        ids = _leaf_ids(row)
        texts = (yield from reader.fetch(ids)) if ids else {}
        return Document(row.document_id, "".join(texts[id_] for id_ in ids), row.title, copied(row.metadata))

    return (yield from reading(store, read, scope))


def listing_leaves(store: Store, document_id: str | None, scope: Scope | None = None) -> Flow[list[Passage]]:
    """The leaves of a document, or of all.

    Raises:
        DocumentNotFound: if there is no document of that id.
    """

    def read(reader: Reader) -> Flow[list[Passage]]:
        if document_id is not None:
            rows = [(yield from _counting_row(reader, document_id))]
        else:
            known = yield from reader.rows()
            rows = [row for _, row in sorted(known.items()) if row.version is not None]
        ids = [id_ for row in rows for id_ in _leaf_ids(row)]
        stored = yield from reader.fetch_leaves(ids)
        if len(stored) < len(ids):
            raise Gone
        leaves = [(id_, stored[id_]) for id_ in ids]
        return [
            Passage(id_, s.leaf.document_id, s.leaf.start, s.leaf.end, s.text, 0.0, s.metadata, Trace())
            for id_, s in leaves
        ]

    return (yield from reading(store, read, scope))


def _counting_row(reader: Reader, document_id: str) -> Flow[Row]:
    rows = yield from reader.rows([document_id])
    row = rows.get(document_id)
    if row is None or row.version is None:
        raise DocumentNotFound(f"there is no document {document_id!r} in the index")
    return row


def _leaf_ids(row: Row) -> list[str]:
    return [leaf_id(row.document_id, row.version or "", ordinal) for ordinal in range(row.leaves)]
