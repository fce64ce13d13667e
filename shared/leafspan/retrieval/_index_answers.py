"""Answers a strategy's requests about leaves and summaries during one attempt at a retrieval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, compress
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import StaleRead
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, np
from leafspan.lexical import compared_text, reading_number
from leafspan.retrieval._host_results import matches_outside, outside_results, recognise
from leafspan.retrieval._limits import Sources
from leafspan.retrieval._passages import to_passage
from leafspan.search import (
    Scan,
    begin_scan,
    find_mentions,
    leaf_vectors,
    misses_some,
    nearest_leaves,
    page_of_leaves,
    similarities,
    soft_matches_of,
)
from leafspan.store import Reader, ReadHistory, Scope, StoredLeaf
from leafspan.strategies import (
    AskHost,
    FindMentions,
    HasTrees,
    HostResult,
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
from leafspan.trees import SummaryReader
from leafspan.values import SUMMARY_VERSION, Candidate, Hit, LeafId, Passage, scored

_FEW = 150_000  # leaves that are searched in less than 2 ms: half of this is Python, which only one thread can run


class IndexAnswers:
    """Answers requests from one reader's view of the index.

    ``history`` has stored (document, version) pairs that were not current in earlier attempts, and ``identity`` is the
    index's embedder, None for an index without vectors. ``texts`` collects the text of each leaf and summary that is read,
    by id.
    """

    def __init__(
        self,
        sources: Sources,
        reader: Reader,
        history: ReadHistory,
        identity: EmbedderIdentity | None,
        scope: Scope | None = None,
    ) -> None:
        self.identity = identity
        self.texts: dict[LeafId, str] = {}
        self._scope = scope
        self._sources = sources
        self._indexes = sources.indexes
        self._reader = reader
        self._history = history
        self._summary_reader: SummaryReader | None = None
        self._loaded: dict[LeafId, Candidate] = {}
        self._scans: dict[VectorSearch, Scan] = {}

    @property
    def _summaries(self) -> SummaryReader:
        """The reader of summaries, which few questions need."""
        if self._summary_reader is None:
            self._summary_reader = SummaryReader(self._sources.trees, self._reader, self._history)
        return self._summary_reader

    def warn_of_left_out(self) -> Collection[str]:
        """The damaged trees that were left out. The user gets one warning for each."""
        return () if self._summary_reader is None else self._summary_reader.warn_of_left_out()

    def check(self, request: Request) -> None:
        """Check that vectors, which a user or a strategy may have made, have as many dimensions as the index's."""
        if self.identity is None or not isinstance(request, VectorSearch | LoadedVectorSearch | Similarities):
            return
        for vector in request.vectors[:1]:  # rows of one matrix
            if len(vector) != self.identity.dimension:
                raise InvalidArgument(f"a query's vector must have {self.identity.dimension} dimensions, got {len(vector)}")

    def answer(self, request: Request) -> Flow[Any]:
        match request:
            case VectorSearch(summaries=True):
                return self._summaries.vector_search(request)
            case VectorSearch():
                return self._vector_search(request)
            case LexicalSearch(summaries=True):
                return self._summaries.lexical_search(request)
            case LexicalSearch():
                return self._indexes.words.search(self._reader, request)
            case LoadedVectorSearch():
                return self._loaded_vector_search(request)
            case SoftMatches():
                return self._soft_matches(request)
            case FindMentions():
                return self._find_mentions(request)
            case ListLeaves():
                return page_of_leaves(self._reader, request)
            case Load():
                return self._load(request)
            case LoadVectors():
                return self._load_vectors(request)
            case Similarities():
                return self._compare(request)
            case TreeRoots():
                return self._summaries.roots(request)
            case _:
                assert isinstance(request, HasTrees), request
                return self._summaries.has_trees()

    def begin(self, requests: Sequence[Request]) -> Flow[list[int] | None]:
        """Prepare for several requests, and return the order to answer them in, or None to answer them at once.

        Few leaves are searched in one thread. Another core compares vectors in the meantime, so those answers come last.
        """
        if any(isinstance(each, VectorSearch | LexicalSearch) and each.summaries for each in requests):
            yield from self._summaries.enter()  # once, before several requests need it
        if self._indexes.vectors is None or (yield from self._reader.everything()).leaves > _FEW:
            return None
        for request in requests:
            if isinstance(request, VectorSearch) and not request.summaries:
                search = request.vectors, request.count, request.where
                if (scan := (yield from begin_scan(self._reader, self._indexes.vectors, *search))) is not None:
                    self._scans[request] = scan
        return sorted(range(len(requests)), key=lambda number: isinstance(requests[number], VectorSearch))

    def recognise(self, request: AskHost, results: Sequence[HostResult]) -> Flow[list[Candidate]]:
        """Make candidates of a host retriever's results."""
        if request.elsewhere:
            return outside_results(request, results, self._scope)
        return (yield from recognise(request, results, self._reader, self._scope, self._candidate))

    def visible(self, row: list[Candidate]) -> list[Candidate]:
        """Leave out candidates of other sources whose own metadata do not match the view's filter."""
        if (scope := self._scope) is None:
            return row
        return [
            each for each in row if each.outside is None or matches_outside(each.metadata, each.outside.id, scope.where)
        ]

    def load_texts(self, ids: Sequence[LeafId]) -> Flow[dict[LeafId, str]]:
        """The texts of leaves and summaries, by id. Missing texts are read."""
        if missing := tuple(id_ for id_ in dict.fromkeys(ids) if id_ not in self.texts):
            yield from self._load(Load(missing))  # also keeps their texts
        return {id_: self.texts[id_] for id_ in ids}

    def load_passages(self, request: LoadPassages) -> Flow[list[Passage]]:
        """Make passages of candidates with data from their documents' rows."""
        inside = [candidate for candidate in request.candidates if candidate.outside is None]
        texts = yield from self.load_texts([id_ for candidate in inside for id_ in candidate.span.leaf_ids])
        rows = yield from self._reader.cached_rows(candidate.document_id for candidate in inside if candidate.document_id)
        return [to_passage(candidate, texts, rows) for candidate in request.candidates]

    def _vector_search(self, request: VectorSearch) -> Flow[list[list[Hit]]]:
        if (scan := self._scans.pop(request, None)) is not None:
            return (yield Call(scan.hits, computes=True))  # type: ignore[no-any-return]
        return (yield from self._nearest(request, complete=request.complete))

    def _loaded_vector_search(self, request: LoadedVectorSearch) -> Flow[list[list[Candidate]]]:
        """The nearest leaves for each vector, loaded: behind a client in one round trip if there is no filter."""
        exact = False
        if request.where is None and self._reader.scope is None and self._indexes.vectors is None:
            nearest = yield from self._reader.search(request.vectors, request.count)
            if not (yield from misses_some(self._reader, nearest, request.count, complete=request.complete)):
                ranked = (enumerate(row[: request.most], start=1) for row in nearest.rows)
                return [[scored(self._candidate(each), each.score, "vector", rank) for rank, each in row] for row in ranked]
            exact = True
        rows = yield from self._nearest(request, most=request.most, complete=request.complete, exact=exact)
        hits = [[(hit.leaf, hit.score) for hit in row[: request.most]] for row in rows]
        ids = [id_ for row in hits for id_, _ in row]
        loaded = yield from self._load_leaves(ids)
        if any(id_ not in loaded for id_ in ids):
            raise StaleRead
        return [
            [scored(loaded[id_], score, "vector", rank) for rank, (id_, score) in enumerate(row, start=1)] for row in hits
        ]

    def _nearest(self, request: VectorSearch | LoadedVectorSearch, **how: Any) -> Flow[list[list[Hit]]]:
        return nearest_leaves(self._reader, self._indexes.vectors, request.vectors, request.count, request.where, **how)

    def _find_mentions(self, request: FindMentions) -> Flow[dict[LeafId, list[Mention]]]:
        yield from self.load_texts(request.ids)
        names, words = self._indexes.names, self._indexes.words
        return (yield from find_mentions(self._reader, names, words, request, self.texts))

    def _soft_matches(self, request: SoftMatches) -> Flow[list[list[float]]]:
        """How well leaves match the words of each question."""
        words = self._indexes.words
        if self._reader.has_copies and words.keeps_leaf_words:
            return (yield from words.soft_matches(self._reader, request))
        # Most leaves are asked for several times, so ask the server once for all of them.
        ids = list(dict.fromkeys(chain.from_iterable(request.ids)))
        self._loaded = yield from self._load_leaves(ids)
        if len(self._loaded) < len(ids):
            raise StaleRead
        analyzer = words.analyzer
        assert analyzer is not None
        documents = {id_: leaf.document_id for id_, leaf in self._loaded.items()}
        rows = yield from self._reader.cached_rows(documents.values())
        readings = {id_: reading_number(analyzer, rows[document].language) for id_, document in documents.items()}
        texts = {id_: compared_text(analyzer, reading, self.texts[id_]) for id_, reading in readings.items()}
        pairs = zip(request.words, request.ids, strict=True)
        return (yield [Call(soft_matches_of, (words, [texts[id_] for id_ in ids])) for words, ids in pairs])  # type: ignore[no-any-return]

    def _load(self, request: Load) -> Flow[dict[LeafId, Candidate]]:
        summaries, leaves = _split(request.ids)
        loaded = (yield from self._load_leaves(leaves)) if leaves else {}
        if summaries:
            for candidate, text in (yield from self._summaries.load(summaries)):
                self.texts[candidate.id] = text
                loaded[candidate.id] = candidate
        if any(id_ not in loaded for id_ in request.ids):
            raise StaleRead
        return loaded

    def _load_leaves(self, ids: Sequence[LeafId]) -> Flow[dict[LeafId, Candidate]]:
        """Load leaves with their stored data, by id, without those that do not exist."""
        missing = [id_ for id_ in ids if id_ not in self._loaded]
        stored: dict[LeafId, StoredLeaf] = {}
        if missing:
            yield from self._indexes.refresh(self._reader)
            stored = yield from self._reader.fetch_leaves(missing)
        earlier = {id_: self._loaded[id_] for id_ in ids if id_ in self._loaded}
        return earlier | {id_: self._candidate(leaf) for id_, leaf in stored.items()}

    def _candidate(self, stored: StoredLeaf) -> Candidate:
        """A leaf as a candidate with score 0 and an empty trace. Its text is kept for rendering."""
        leaf = stored.leaf
        self.texts[stored.id] = stored.text
        return Candidate(leaf.span, 0.0, EMPTY_TRACE, stored.metadata, words=leaf.words, leaf=leaf)

    def _compare(self, request: Similarities) -> Flow[Any]:
        """Compare leaves in their own store, and summaries in theirs."""
        are_summaries = np.fromiter((id_.is_summary for id_ in request.ids), bool, len(request.ids))
        cosines = np.empty((len(request.vectors), len(request.ids)))
        if not are_summaries.all():
            ids = tuple(compress(request.ids, ~are_summaries))
            cosines[:, ~are_summaries] = yield from similarities(self._reader, self._indexes.vectors, request.vectors, ids)
        if are_summaries.any():
            ids = tuple(compress(request.ids, are_summaries))
            cosines[:, are_summaries] = yield from self._summaries.similarities(request.vectors, ids)
        return cosines

    def _load_vectors(self, request: LoadVectors) -> Flow[Any]:
        """Read the vectors of leaves from their own store, and the vectors of summaries from the trees' store."""
        summaries, leaves = _split(request.ids)
        vectors: dict[LeafId, Any] = {}
        if leaves:
            read = yield from leaf_vectors(self._reader, self._indexes.vectors, leaves)
            vectors.update(zip(leaves, read, strict=True))
        if summaries:
            vectors.update(zip(summaries, (yield from self._summaries.vectors(summaries)), strict=True))
        return np.stack([vectors[id_] for id_ in request.ids]) if vectors else np.empty((0, 0), dtype=np.float32)


def _split(ids: Iterable[LeafId]) -> tuple[list[LeafId], list[LeafId]]:
    """The summaries and the leaves among these, each once."""
    once = dict.fromkeys(ids)
    summaries = [id_ for id_ in once if id_.version.startswith(SUMMARY_VERSION)]
    return summaries, [id_ for id_ in once if not id_.version.startswith(SUMMARY_VERSION)]
