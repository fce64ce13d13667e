"""What answers each request of a strategy from an index, during one attempt at a retrieval."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

from leafspan.errors import InvalidArgument
from leafspan.flows import Flow, run_together
from leafspan.retrieval._answers import Answers
from leafspan.retrieval._host_results import outside_results, recognise
from leafspan.retrieval._leaf_reader import LeafReader
from leafspan.retrieval._passages import to_passage
from leafspan.retrieval._sources import Sources
from leafspan.store import Met, Reader, Scope, StaleRead
from leafspan.strategies import (
    AskHost,
    CallFunction,
    FindMentions,
    HasTrees,
    HostResult,
    LexicalSearch,
    ListLeaves,
    Load,
    LoadedVectorSearch,
    LoadPassages,
    LoadTexts,
    LoadVectors,
    Mention,
    Request,
    RunStrategies,
    Similarities,
    SoftMatches,
    StrategyResults,
    StrategyRun,
    TreeRoots,
    VectorSearch,
)
from leafspan.trees import SummaryReader, document_of
from leafspan.values import Candidate, LeafId, Passage


class IndexAnswers(Answers):
    """Answers from what one reader sees. Leaves and summaries have a reader each; most requests go to one of the two.

    Args:
        sources: The open index.
        reader: What is visible of it.
        met: Stored (document, version) pairs that were not current when met before.
        scope: The view that is asked, None for the whole index.
    """

    _by_type: ClassVar[dict[type, Callable[[Any, Any], Flow[Any]]]] = {
        **Answers._by_type,
        VectorSearch: lambda self, request: self._of(request).vector_search(request),
        LoadedVectorSearch: lambda self, request: self._leaves.loaded_vector_search(request),
        LexicalSearch: lambda self, request: self._of(request).lexical_search(request),
        SoftMatches: lambda self, request: self._leaves.soft_matches(request),
        FindMentions: lambda self, request: self._find_mentions(request),
        ListLeaves: lambda self, request: self._leaves.page(request),
        Load: lambda self, request: self._load(request),
        LoadVectors: lambda self, request: self._load_vectors(request),
        Similarities: lambda self, request: self._compare(request),
        TreeRoots: lambda self, request: self._summaries.roots(request),
        HasTrees: lambda self, _: self._summaries.has_trees(),
    }

    def __init__(self, sources: Sources, reader: Reader, met: Met, scope: Scope | None = None) -> None:
        super().__init__(sources.embedder)
        self._scope = scope
        self._embedder_of_index = sources.embedder
        self._summaries = SummaryReader(sources.trees, reader, met)
        self._leaves = LeafReader(sources.indexes, reader, self.texts)
        self._reader = reader

    def leave(self) -> None:
        """Let go of what was opened for the summaries."""
        self._summaries.leave()

    def warn_of_left_out(self) -> Collection[str]:
        """The trees that were left out, since they are damaged, of which a warning tells the user once."""
        return self._summaries.warn_of_left_out()

    def _of(self, request: VectorSearch | LexicalSearch) -> LeafReader | SummaryReader:
        return self._summaries if request.summaries else self._leaves

    def _answer(self, request: Request) -> Flow[Any]:
        if isinstance(request, VectorSearch | LoadedVectorSearch | Similarities):
            yield from self._check_vectors(request.vectors)
        answer = yield from super()._answer(request)
        match request:
            case VectorSearch(summaries=True):
                self.summary_hits += [len(row) for row in answer]
            case VectorSearch() | LoadedVectorSearch():
                self.hits += [len(row) for row in answer]
            case LexicalSearch(summaries=True):
                self.summary_hits += [len(row.hits) for row in answer]
            case LexicalSearch():
                self.hits += [len(row.hits) for row in answer]
            case ListLeaves():
                self.hits.append(len(answer))
        return answer

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        # What is the user's is called in one thread, and in an event loop at the same time.
        if any(isinstance(request, AskHost | CallFunction) for request in requests):
            return (yield from super()._answer_all(requests))
        if any(isinstance(each, VectorSearch | LexicalSearch) and each.summaries for each in requests):
            yield from self._summaries.enter()  # once, before several do
        if (yield from self._leaves.are_few()):
            return (yield from self._answer_few(requests))
        # Answers that come at the same time: Chroma searches on one processor while words are looked up on another.
        answers: list[Any] = yield run_together([self._answer(request) for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _answer_few(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        """Answer one after the other in one thread. Vectors are compared meanwhile, so those answers come last."""
        for request in requests:
            if isinstance(request, VectorSearch) and not request.summaries:
                yield from self._check_vectors(request.vectors)
                yield from self._leaves.begin(request)
        answers: dict[int, Any] = {}
        for number in sorted(range(len(requests)), key=lambda number: isinstance(requests[number], VectorSearch)):
            answers[number] = yield from self._answer(requests[number])
        return [answers[number] for number in range(len(requests))]

    def _check_vectors(self, vectors: Any) -> Flow[None]:
        """Check that vectors to search with, which a strategy may have made, are as long as those of the index.

        Raises:
            InvalidArgument: if they are not.
        """
        identity = yield from self._embedder_of_index.identity()
        if identity is not None and len(vectors) and len(vectors[0]) != identity.dimension:
            raise InvalidArgument(f"a query's vector must have {identity.dimension} dimensions, got {len(vectors[0])}")

    def _recognise(self, request: AskHost, results: Sequence[HostResult]) -> Flow[list[Candidate]]:
        if request.elsewhere:
            return outside_results(request, results, self._scope)
        return (yield from recognise(request, results, self._reader, self._leaves, self._scope))

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

    def _load_missing_texts(self, ids: tuple[str, ...]) -> Flow[None]:
        yield from self._load(Load(ids))  # which keeps their texts

    def _find_mentions(self, request: FindMentions) -> Flow[dict[str, list[Mention]]]:
        yield from self._load_texts(LoadTexts(request.ids))
        return (yield from self._leaves.mentions(request))

    def _compare(self, request: Similarities) -> Flow[Any]:
        """Leaves are compared where they are, and summaries where those are."""
        import numpy as np

        are_summaries = np.fromiter((LeafId.parse(id_).is_summary for id_ in request.ids), bool, len(request.ids))
        cosines = np.empty((len(request.vectors), len(request.ids)))
        for reader, columns in ((self._leaves, ~are_summaries), (self._summaries, are_summaries)):
            if columns.any():
                ids = tuple(itertools.compress(request.ids, columns))
                cosines[:, columns] = yield from reader.similarities(request.vectors, ids)
        return cosines

    def _load_vectors(self, request: LoadVectors) -> Flow[Any]:
        """The vectors of leaves come from where these are, and those of summaries from where those are."""
        import numpy as np

        vectors: dict[str, Any] = {}
        for reader, of_summaries in ((self._leaves, False), (self._summaries, True)):
            ids = [id_ for id_ in dict.fromkeys(request.ids) if LeafId.parse(id_).is_summary is of_summaries]
            if ids:
                vectors.update(zip(ids, (yield from reader.vectors(ids)), strict=True))
        return np.stack([vectors[id_] for id_ in request.ids]) if vectors else np.empty((0, 0), dtype=np.float32)

    def _load_passages(self, request: LoadPassages) -> Flow[list[Passage]]:
        """Make passages of candidates, with what the rows of their documents say of them."""
        inside = [found for found in request.candidates if found.outside is None]
        texts = yield from self._load_texts(LoadTexts(tuple(id_ for found in inside for id_ in found.span.leaf_ids)))
        rows = yield from self._reader.rows_met(id_ for found in inside if (id_ := document_of(found)))
        return [to_passage(found, texts, rows) for found in request.candidates]

    def _run_strategies(self, request: RunStrategies) -> Flow[list[StrategyResults]]:
        """Run strategies at the same time, each holding the reader for as long as it goes on."""

        def run(each: StrategyRun) -> Flow[list[list[Candidate]]]:
            try:
                return (yield from self.run(each.strategy, each.queries, each.context))
            finally:
                self._reader.leave()

        for _ in request.runs:
            self._reader.stay()  # before this attempt may leave: a late strategy goes on without it
        answers: list[StrategyResults] = yield self._concurrently([run(each) for each in request.runs], request.runs)
        if any(isinstance(answer, StaleRead) for answer in answers):
            raise StaleRead
        return answers
