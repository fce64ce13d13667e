"""Reads leaves for one retrieval: searches, compares and loads them. The reader of summaries has the same interface."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from leafspan.engines import StaleRead
from leafspan.flows import Call, Flow
from leafspan.lexical import compared_text, reading_number
from leafspan.search import (
    Scan,
    SearchIndexes,
    begin_scan,
    find_mentions,
    leaf_vectors,
    misses_some,
    nearest_leaves,
    page_of_leaves,
    similarities,
    soft_matches_of,
)
from leafspan.store import Reader, StoredLeaf
from leafspan.strategies import (
    FindMentions,
    LexicalMatches,
    LexicalSearch,
    ListLeaves,
    LoadedVectorSearch,
    Mention,
    SoftMatches,
    VectorSearch,
)
from leafspan.trace import EMPTY_TRACE
from leafspan.values import Candidate, Hit, scored

_FEW = 150_000  # leaves that are searched in less than 2 ms: half of this is Python, which only one thread can run


class LeafReader:
    """The leaves that ``reader`` sees. ``texts`` collects the text of each leaf that is read, by id."""

    def __init__(self, indexes: SearchIndexes, reader: Reader, texts: dict[str, str]) -> None:
        self._indexes = indexes
        self._reader = reader
        self._texts = texts
        self._loaded: dict[str, Candidate] = {}
        self._begun: dict[VectorSearch, Scan] = {}

    def are_few(self) -> Flow[bool]:
        """Whether searching the copies of the leaves is so fast that threads would cost more time than they save."""
        if self._indexes.vectors is None:
            return False
        return (yield from self._reader.everything()).leaves <= _FEW

    def begin(self, request: VectorSearch) -> Flow[None]:
        """Start a search if it can run while other requests are answered."""
        begun = yield from begin_scan(self._reader, self._indexes.vectors, request.vectors, request.count, request.where)
        if begun is not None:
            self._begun[request] = begun

    def vector_search(self, request: VectorSearch) -> Flow[list[list[Hit]]]:
        """The nearest leaves for each vector."""
        if (begun := self._begun.pop(request, None)) is not None:
            return (yield Call(begun.hits, computes=True))  # type: ignore[no-any-return]
        return (yield from self._nearest(request, complete=request.complete))

    def loaded_vector_search(self, request: LoadedVectorSearch) -> Flow[list[list[Candidate]]]:
        """The nearest leaves for each vector, loaded: behind a client in one round trip if there is no filter."""
        exact = False
        if request.where is None and self._reader.scope is None and self._indexes.vectors is None:
            nearest = yield from self._reader.search(request.vectors, request.count)
            if not (yield from misses_some(self._reader, nearest, request.count, complete=request.complete)):
                return [
                    [
                        scored(self.candidate(stored), stored.score, "vector", rank)
                        for rank, stored in enumerate(row[: request.most], start=1)
                    ]
                    for row in nearest.rows
                ]
            exact = True
        found = yield from self._nearest(request, most=request.most, complete=request.complete, exact=exact)
        hits = [[(hit.id, hit.score) for hit in row[: request.most]] for row in found]
        ids = [id_ for row in hits for id_, _ in row]
        loaded = yield from self.load(ids)
        if any(id_ not in loaded for id_ in ids):
            raise StaleRead
        return [
            [scored(loaded[id_], score, "vector", rank) for rank, (id_, score) in enumerate(row, start=1)] for row in hits
        ]

    def _nearest(self, request: VectorSearch | LoadedVectorSearch, **how: Any) -> Flow[list[list[Hit]]]:
        return nearest_leaves(self._reader, self._indexes.vectors, request.vectors, request.count, request.where, **how)

    def lexical_search(self, request: LexicalSearch) -> Flow[list[LexicalMatches]]:
        """The leaves that match the words of each question best."""
        return self._indexes.words.search(self._reader, request)

    def soft_matches(self, request: SoftMatches) -> Flow[list[list[float]]]:
        """How well leaves match the words of each question."""
        if self._reader.has_copies and self._indexes.words.keeps_leaf_words:
            return (yield from self._indexes.words.soft_matches(self._reader, request))
        # Most leaves are asked for several times, so ask the server once for all of them.
        ids = list(dict.fromkeys(chain.from_iterable(request.ids)))
        self._loaded = yield from self.load(ids)
        if len(self._loaded) < len(ids):
            raise StaleRead
        analyzer = self._indexes.words.analyzer
        assert analyzer is not None
        document_of = {id_: found.span.document_id for id_, found in self._loaded.items()}
        rows = yield from self._reader.rows_met(document_of.values())
        readings = {id_: reading_number(analyzer, rows[document].language) for id_, document in document_of.items()}
        texts = {id_: compared_text(analyzer, reading, self._texts[id_]) for id_, reading in readings.items()}
        asked = zip(request.words, request.ids, strict=True)
        return (yield [Call(soft_matches_of, (words, [texts[id_] for id_ in ids])) for words, ids in asked])  # type: ignore[no-any-return]

    def mentions(self, request: FindMentions) -> Flow[dict[str, list[Mention]]]:
        """The documents that loaded leaves mention."""
        return find_mentions(self._reader, self._indexes.names, self._indexes.words, request, self._texts)

    def page(self, request: ListLeaves) -> Flow[list[Hit]]:
        """A page of leaves, in the order of documents and texts."""
        return page_of_leaves(self._reader, request)

    def similarities(self, vectors: Any, ids: Sequence[str]) -> Flow[Any]:
        """The cosine of each leaf with each vector."""
        return similarities(self._reader, self._indexes.vectors, vectors, ids)

    def vectors(self, ids: Sequence[str]) -> Flow[Any]:
        """The vectors of at least one leaf, a row each."""
        return leaf_vectors(self._reader, self._indexes.vectors, ids)

    def load(self, ids: Sequence[str]) -> Flow[dict[str, Candidate]]:
        """Load leaves with their stored data, by id, without those that do not exist."""
        missing = [id_ for id_ in ids if id_ not in self._loaded]
        stored: dict[str, StoredLeaf] = {}
        if missing:
            yield from self._indexes.keep_up(self._reader)
            stored = yield from self._reader.fetch_leaves(missing)
        known = {id_: self._loaded[id_] for id_ in ids if id_ in self._loaded}
        return known | {id_: self.candidate(leaf) for id_, leaf in stored.items()}

    def candidate(self, stored: StoredLeaf) -> Candidate:
        """A leaf as a candidate with score 0 and an empty trace. Its text is kept for rendering."""
        leaf = stored.leaf
        self._texts[stored.id] = stored.text
        return Candidate(leaf.span, 0.0, EMPTY_TRACE, stored.metadata, words=leaf.words, leaf=leaf)
