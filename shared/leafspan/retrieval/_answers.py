"""What answers each request of a strategy, during one attempt at a retrieval."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from leafspan.checks import shown
from leafspan.engine import Call, Flow, run_concurrently, run_together
from leafspan.errors import InvalidArgument
from leafspan.retrieval._host_results import recognise
from leafspan.retrieval._language_model import generate_texts
from leafspan.retrieval._leaf_reader import LeafReader
from leafspan.retrieval._sources import Sources
from leafspan.store import Reader, StaleRead
from leafspan.strategies import (
    AskHost,
    Embed,
    Generate,
    LexicalSearch,
    ListLeaves,
    Load,
    LoadedVectorSearch,
    LoadTexts,
    Request,
    RetrievalContext,
    Retrieves,
    RunStrategies,
    Similarities,
    StrategyResults,
    StrategyRun,
    TreeRoots,
    VectorSearch,
)
from leafspan.tree import SummaryReader
from leafspan.values import Candidate, LeafId, Query


class Answers:
    """Runs strategies, and answers their requests from what one reader sees.

    Leaves and summaries have a reader each, and most requests go to one of the two. ``texts`` holds the texts of what was
    read, by id, so that rendering fetches only what is missing. ``hits`` has the number of hits of each search.

    A strategy may be run again with more candidates. Nothing is embedded twice then, and neither a language model nor a
    host's retriever is asked the same again.
    """

    def __init__(self, sources: Sources, reader: Reader, stale: set[tuple[str, str]]) -> None:
        self.texts: dict[str, str] = {}
        self.hits: list[int] = []
        self._summaries = SummaryReader(sources.trees, reader, stale)
        self._leaves = LeafReader(sources.indexes, reader, self.texts)
        self._reader = reader
        self._embedder = sources.embedder
        self._vectors: dict[str, Any] = {}
        self._generated: dict[tuple[Callable[[str], str], str], str | Exception] = {}
        self._host_replies: dict[AskHost, list[Candidate]] = {}
        self._by_type: dict[type, Callable[[Any], Flow[Any]]] = {
            Embed: self._embed,
            VectorSearch: lambda request: self._of(request).vector_search(request),
            LoadedVectorSearch: self._leaves.loaded_vector_search,
            LexicalSearch: lambda request: self._of(request).lexical_search(request),
            ListLeaves: self._leaves.page,
            Load: self._load,
            LoadTexts: self._load_texts,
            Similarities: self._compare,
            TreeRoots: self._summaries.roots,
            AskHost: self._ask_host,
            Generate: self._generate,
            RunStrategies: self._run_strategies,
        }

    def run(self, strategy: Retrieves, queries: Sequence[Query], context: RetrievalContext) -> Flow[list[list[Candidate]]]:
        """What the strategy finds: see leafspan.strategies._requests for the protocol."""
        flow = strategy.retrieve(queries, context)
        if not isinstance(flow, Generator):
            raise _misuse(strategy, flow, "be a generator of requests")
        answer: Any = None
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return _checked_results(strategy, stop.value, len(queries))
            for each in request if isinstance(request, tuple) else (request,):
                if type(each) not in self._by_type:
                    raise _misuse(strategy, each, "yield requests, and run another strategy by `yield from`")
            if isinstance(request, tuple):
                answer = (yield from self._answer_all(request)) if request else []
            else:
                answer = yield from self._answer(request)

    def leave(self) -> None:
        """Let go of what was opened for the summaries."""
        self._summaries.leave()

    def _of(self, request: VectorSearch | LexicalSearch) -> LeafReader | SummaryReader:
        return self._summaries if request.summaries else self._leaves

    def _answer(self, request: Request) -> Flow[Any]:
        answer = yield from self._by_type[type(request)](request)
        match request:
            case VectorSearch() | LoadedVectorSearch():
                self.hits += [len(row) for row in answer]
            case LexicalSearch():
                self.hits += [len(row.hits) for row in answer]
            case ListLeaves() | AskHost():
                self.hits.append(len(answer))
        return answer

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        if any(isinstance(request, AskHost) for request in requests):
            return (yield from self._ask_hosts_first(requests))
        # Answers that come at the same time: Chroma searches on one processor while words are looked up on another.
        if any(isinstance(each, VectorSearch | LexicalSearch) and each.summaries for each in requests):
            yield from self._summaries.enter()  # once, before several do
        answers: list[Any] = yield run_together([self._answer(request) for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _ask_hosts_first(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        """The hosts' retrievers are asked together, which an event loop does at the same time."""
        hosts = (request for request in requests if isinstance(request, AskHost))
        asked = [request for request in dict.fromkeys(hosts) if request not in self._host_replies]
        replies = (yield [_host_call(request) for request in asked]) if asked else []
        for request, results in zip(asked, replies, strict=True):
            self._host_replies[request] = yield from recognise(request, results, self._reader, self._leaves)
        answers = []
        for each in requests:
            answers.append((yield from self._answer(each)))
        return answers

    def _ask_host(self, request: AskHost) -> Flow[list[Candidate]]:
        if request not in self._host_replies:
            results = yield _host_call(request)
            self._host_replies[request] = yield from recognise(request, results, self._reader, self._leaves)
        return self._host_replies[request]

    def _embed(self, request: Embed) -> Flow[Any]:
        import numpy as np

        new = tuple(text for text in dict.fromkeys(request.texts) if text not in self._vectors)
        if new:
            vectors = yield from self._embedder.queries(new)
            self._vectors.update(zip(new, vectors, strict=True))
        return np.stack([self._vectors[text] for text in request.texts])

    def _generate(self, request: Generate) -> Flow[list[str | Exception]]:
        new = tuple(prompt for prompt in request.prompts if (request.generate, prompt) not in self._generated)
        if new:
            texts = yield from generate_texts(replace(request, prompts=new))
            self._generated.update(((request.generate, prompt), text) for prompt, text in zip(new, texts, strict=True))
        return [self._generated[request.generate, prompt] for prompt in request.prompts]

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

    def _load_texts(self, request: LoadTexts) -> Flow[dict[str, str]]:
        missing = tuple(id_ for id_ in dict.fromkeys(request.ids) if id_ not in self.texts)
        if missing:
            yield from self._load(Load(missing))  # which keeps their texts
        return {id_: self.texts[id_] for id_ in request.ids}

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

    def _run_strategies(self, request: RunStrategies) -> Flow[list[StrategyResults]]:
        """Run strategies at the same time, each holding the reader for as long as it goes on."""

        def run(each: StrategyRun) -> Flow[list[list[Candidate]]]:
            try:
                return (yield from self.run(each.strategy, each.queries, each.context))
            finally:
                self._reader.leave()

        for _ in request.runs:
            self._reader.stay()  # before this attempt may leave: a late strategy goes on without it
        answers: list[StrategyResults] = yield run_concurrently(
            [run(each) for each in request.runs], [each.timeout for each in request.runs]
        )
        if any(isinstance(answer, StaleRead) for answer in answers):
            raise StaleRead
        return answers


def _host_call(request: AskHost) -> Call:
    return Call(request.ask, (request.question,), native=request.aask)


def _checked_results(strategy: Retrieves, results: Any, queries: int) -> list[list[Candidate]]:
    """The results of a strategy, which somebody else may have written.

    Raises:
        InvalidArgument: if they are anything but a list of Candidates for each query.
    """
    rows = results if isinstance(results, list) and len(results) == queries else None
    if rows is None or not all(isinstance(row, list) and all(isinstance(each, Candidate) for each in row) for row in rows):
        raise _misuse(strategy, results, f"return a list of Candidates for each of the {queries} queries")
    return rows


def _misuse(strategy: Retrieves, got: object, rule: str) -> InvalidArgument:
    return InvalidArgument(
        f"{type(strategy).__name__}.retrieve must {rule}, got {shown(got)}; see docs/write-a-strategy.md"
    )
