"""Answers a strategy's requests about leaves and summaries during one attempt at a retrieval."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from leafspan.engines import StaleRead
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow
from leafspan.lexical import compared_text, reading_number
from leafspan.retrieval._host_results import outside_results, recognise
from leafspan.retrieval._passages import to_passage
from leafspan.retrieval._sources import Sources
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
from leafspan.store import Met, Reader, Scope, StoredLeaf
from leafspan.strategies import (
    AskHost,
    FindMentions,
    HasTrees,
    HostResult,
    LexicalMatches,
    LexicalSearch,
    ListLeaves,
    Load,
    LoadedVectorSearch,
    LoadPassages,
    LoadVectors,
    Mention,
    Request,
    Similarities,
    SoftMatches,
    TreeRoots,
    VectorSearch,
)
from leafspan.trace import EMPTY_TRACE
from leafspan.trees import SummaryReader, document_of
from leafspan.values import Candidate, Hit, LeafId, Passage, scored


class IndexAnswers:
    """Answers requests from one reader's view of the index. Most requests go to the reader of leaves or of summaries.

    ``met`` has stored (document, version) pairs that were not current in earlier attempts. ``texts`` collects the text of
    each leaf and summary that is read, by id.
    """

    def __init__(self, sources: Sources, reader: Reader, met: Met, scope: Scope | None = None) -> None:
        self.texts: dict[str, str] = {}
        self._scope = scope
        self._embedder = sources.embedder
        self._summaries = SummaryReader(sources.trees, reader, met)
        self._leaves = LeafReader(sources.indexes, reader, self.texts)
        self._reader = reader

    def leave(self) -> None:
        """Close the readers of summaries."""
        self._summaries.leave()

    def warn_of_left_out(self) -> Collection[str]:
        """The damaged trees that were left out. The user gets one warning for each."""
        return self._summaries.warn_of_left_out()

    def holding(self, flow: Flow[Any]) -> Flow[Any]:
        """Keep the reader open until the flow ends: a late strategy goes on when this attempt has left."""
        self._reader.stay()
        return self._left_after(flow)

    def _left_after(self, flow: Flow[Any]) -> Flow[Any]:
        try:
            return (yield from flow)
        finally:
            self._reader.leave()

    def answer(self, request: Request) -> Flow[Any]:
        """Answer a request."""
        match request:
            case VectorSearch() | LexicalSearch():
                reader = self._summaries if request.summaries else self._leaves
                if isinstance(request, LexicalSearch):
                    return (yield from reader.lexical_search(request))
                yield from self._check_vectors(request.vectors)
                return (yield from reader.vector_search(request))
            case LoadedVectorSearch():
                yield from self._check_vectors(request.vectors)
                return (yield from self._leaves.loaded_vector_search(request))
            case SoftMatches():
                return (yield from self._leaves.soft_matches(request))
            case FindMentions():
                return (yield from self._find_mentions(request))
            case ListLeaves():
                return (yield from self._leaves.page(request))
            case Load():
                return (yield from self._load(request))
            case LoadVectors():
                return (yield from self._load_vectors(request))
            case Similarities():
                yield from self._check_vectors(request.vectors)
                return (yield from self._compare(request))
            case TreeRoots():
                return (yield from self._summaries.roots(request))
            case _:
                assert isinstance(request, HasTrees), request
                return (yield from self._summaries.has_trees())

    def begin(self, requests: Sequence[Request]) -> Flow[list[int] | None]:
        """Prepare for several requests, and return the order to answer them in, or None to answer them at once.

        Few leaves are searched in one thread. Another core compares vectors in the meantime, so those answers come last.
        """
        if any(isinstance(each, VectorSearch | LexicalSearch) and each.summaries for each in requests):
            yield from self._summaries.enter()  # once, before several requests need it
        if not (yield from self._leaves.are_few()):
            return None
        for request in requests:
            if isinstance(request, VectorSearch) and not request.summaries:
                yield from self._check_vectors(request.vectors)
                yield from self._leaves.begin(request)
        return sorted(range(len(requests)), key=lambda number: isinstance(requests[number], VectorSearch))

    def recognise(self, request: AskHost, results: Sequence[HostResult]) -> Flow[list[Candidate]]:
        """Make candidates of a host retriever's results."""
        if request.elsewhere:
            return outside_results(request, results, self._scope)
        return (yield from recognise(request, results, self._reader, self._scope, self._leaves.candidate))

    def load_texts(self, ids: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of leaves and summaries, by id. Missing texts are read."""
        if missing := tuple(id_ for id_ in dict.fromkeys(ids) if id_ not in self.texts):
            yield from self._load(Load(missing))  # also keeps their texts
        return {id_: self.texts[id_] for id_ in ids}

    def load_passages(self, request: LoadPassages) -> Flow[list[Passage]]:
        """Make passages of candidates with data from their documents' rows."""
        inside = [found for found in request.candidates if found.outside is None]
        texts = yield from self.load_texts([id_ for found in inside for id_ in found.span.leaf_ids])
        rows = yield from self._reader.rows_met(id_ for found in inside if (id_ := document_of(found)))
        return [to_passage(found, texts, rows) for found in request.candidates]

    def _check_vectors(self, vectors: Any) -> Flow[None]:
        """Check that search vectors, which a strategy may have made, have the index's dimension."""
        identity = yield from self._embedder.identity()
        if identity is not None and len(vectors) and len(vectors[0]) != identity.dimension:
            raise InvalidArgument(f"a query's vector must have {identity.dimension} dimensions, got {len(vectors[0])}")

    def _load(self, request: Load) -> Flow[dict[str, Candidate]]:
        leaves: dict[str, None] = {}
        summaries: dict[str, None] = {}
        for id_ in (*request.ids, *request.optional):
            (summaries if LeafId.parse(id_).is_summary else leaves)[id_] = None
        loaded = (yield from self._leaves.load(list(leaves))) if leaves else {}
        if summaries:
            for found, text in (yield from self._summaries.load(list(summaries))):
                self.texts[found.id] = text
                loaded[found.id] = found
        if any(id_ not in loaded for id_ in request.ids):
            raise StaleRead
        return loaded

    def _find_mentions(self, request: FindMentions) -> Flow[dict[str, list[Mention]]]:
        yield from self.load_texts(request.ids)
        return (yield from self._leaves.mentions(request))

    def _compare(self, request: Similarities) -> Flow[Any]:
        """Compare leaves in their own store, and summaries in theirs."""
        import numpy as np

        are_summaries = np.fromiter((LeafId.parse(id_).is_summary for id_ in request.ids), bool, len(request.ids))
        cosines = np.empty((len(request.vectors), len(request.ids)))
        for reader, columns in ((self._leaves, ~are_summaries), (self._summaries, are_summaries)):
            if columns.any():
                ids = tuple(itertools.compress(request.ids, columns))
                cosines[:, columns] = yield from reader.similarities(request.vectors, ids)
        return cosines

    def _load_vectors(self, request: LoadVectors) -> Flow[Any]:
        """Read the vectors of leaves from their own store, and the vectors of summaries from the trees' store."""
        import numpy as np

        vectors: dict[str, Any] = {}
        for reader, of_summaries in ((self._leaves, False), (self._summaries, True)):
            ids = [id_ for id_ in dict.fromkeys(request.ids) if LeafId.parse(id_).is_summary is of_summaries]
            if ids:
                vectors.update(zip(ids, (yield from reader.vectors(ids)), strict=True))
        return np.stack([vectors[id_] for id_ in request.ids]) if vectors else np.empty((0, 0), dtype=np.float32)


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
            yield from self._indexes.refresh(self._reader)
            stored = yield from self._reader.fetch_leaves(missing)
        known = {id_: self._loaded[id_] for id_ in ids if id_ in self._loaded}
        return known | {id_: self.candidate(leaf) for id_, leaf in stored.items()}

    def candidate(self, stored: StoredLeaf) -> Candidate:
        """A leaf as a candidate with score 0 and an empty trace. Its text is kept for rendering."""
        leaf = stored.leaf
        self._texts[stored.id] = stored.text
        return Candidate(leaf.span, 0.0, EMPTY_TRACE, stored.metadata, words=leaf.words, leaf=leaf)
