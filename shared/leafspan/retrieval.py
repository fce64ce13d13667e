"""One retrieval: a strategy's requests answered from a store, and its results made into passages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.browsing import browse
from leafspan.engine import Call, Flow
from leafspan.errors import InvalidArgument, NotALeaf
from leafspan.filters import Where, to_filter
from leafspan.generating import generating
from leafspan.legs import side_by_side, together
from leafspan.nearness import nearest, similarities
from leafspan.packing import Budget, pack, shortlist
from leafspan.queries import to_queries
from leafspan.reading import reading
from leafspan.requests import (
    Ask,
    Browse,
    Compare,
    Embed,
    Generate,
    Leg,
    LegResults,
    Legs,
    Load,
    Match,
    Nearest,
    OutsideResult,
    Request,
    Roots,
    Search,
)
from leafspan.scope import Scope
from leafspan.sources import Sources
from leafspan.store import Gone, Reader, StoredLeaf
from leafspan.store.collection import MOST_RESULTS
from leafspan.strategies.strategy import Reach, Strategy, whole
from leafspan.trace import Trace
from leafspan.tree.node import is_summary
from leafspan.tree.reading import SummaryReader
from leafspan.tree.rendering import summary_passage
from leafspan.values import Found, Passage, Query, Span, scored

DEFAULT_K = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to look at and to return: see ``Index.retrieve``. ``k`` is None where it was not said."""

    k: int | None
    candidates: int
    budget: Budget | None
    where: Where | None

    @classmethod
    def of(
        cls,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: object = None,
    ) -> Limits:
        """The limits with their defaults filled in.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if k is not None:
            whole("k", k, 1)
        if candidates is None:
            candidates = min(max(24, 4 * (k or 0)), MOST_RESULTS)
        whole("candidates", candidates, 1)
        if candidates > MOST_RESULTS:
            raise InvalidArgument(f"candidates must be <= {MOST_RESULTS}, got {candidates}")
        if budget is not None and not isinstance(budget, Budget):
            budget = Budget(budget)
        return cls(k, candidates, budget, to_filter(where))


def answering(
    sources: Sources, asked: Any, strategy: Strategy, limits: Limits, scope: Scope | None = None
) -> Flow[list[Passage] | list[list[Passage]]]:
    """The passages for what was asked: one query in any of its forms, or a list of them.

    Raises:
        InvalidArgument: if it is none, or a vector of another length than the index's, or ``strategy`` is no strategy.
    """
    if isinstance(strategy, type) or not callable(getattr(strategy, "retrieve", None)):
        raise InvalidArgument(f"strategy must be a strategy such as AutoMerging(), got {strategy!r}")
    queries, single = to_queries(asked, needed=getattr(strategy, "needs_query", True))
    vectors = [each.vector for each in queries if each.vector is not None]
    if vectors:
        identity = yield from sources.embedder.identity()
        length = identity.dimension if identity else len(vectors[0])
        for vector in vectors:
            if len(vector) != length:
                raise InvalidArgument(f"a query's vector must have {length} dimensions, got {len(vector)}")
    results = yield from retrieving(sources, strategy, queries, limits, scope)
    return results[0] if single else results


def retrieving(
    sources: Sources, strategy: Strategy, queries: Sequence[Query], limits: Limits, scope: Scope | None = None
) -> Flow[list[list[Passage]]]:
    """The passages for each query."""
    if not queries:
        return []
    stale: set[tuple[str, str]] = set()

    def attempt(reader: Reader) -> Flow[list[list[Passage]]]:
        retrieval = _Retrieval(sources, reader, SummaryReader(sources.trees, reader, stale))
        try:
            return (yield from retrieval.run(strategy, queries, limits))
        finally:
            retrieval.summaries.leave()

    return (yield from reading(sources.store, attempt, scope))


class _Retrieval:
    """One attempt: what it has seen of leaves is kept, so that rendering fetches only what is missing."""

    def __init__(self, sources: Sources, reader: Reader, summaries: SummaryReader) -> None:
        self._sources = sources
        self._reader = reader
        self.summaries = summaries
        self._texts: dict[str, str] = {}

    def run(self, strategy: Strategy, queries: Sequence[Query], limits: Limits) -> Flow[list[list[Passage]]]:
        identity = yield from self._sources.embedder.identity()
        words = limits.budget.words if limits.budget else None
        k = limits.k
        if k is None and limits.budget is None and not getattr(strategy, "all_by_default", False):
            k = DEFAULT_K
        reach = Reach(limits.candidates, limits.where, k, words, identity.name if identity else None)
        results = yield from self._results(strategy, queries, reach)
        chosen = [shortlist(found, k, limits.budget) for found in results]
        missing = [id_ for row in chosen for found in row for id_ in found.span.leaf_ids if id_ not in self._texts]
        if missing:
            self._texts.update((yield from self._reader.fetch(missing)))
        return [pack([self._passage(found) for found in row], limits.budget) for row in chosen]

    def _results(self, strategy: Strategy, queries: Sequence[Query], reach: Reach) -> Flow[list[list[Found]]]:
        asking = strategy.retrieve(queries, reach)
        answer: Any = None
        while True:
            try:
                request = asking.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]
            if isinstance(request, tuple):
                answer = yield from self._answer_all(request)
            else:
                answer = yield from self._answer(request)

    def _answer(self, request: Request) -> Flow[Any]:
        match request:
            case Embed():
                return (yield from self._sources.embedder.queries(request.texts))
            case Search():
                return (yield from self._search(request))
            case Nearest(summaries=True):
                return (yield from self.summaries.nearest(request))
            case Match(summaries=True):
                return (yield from self.summaries.match(request))
            case Roots():
                return (yield from self.summaries.roots(request))
            case Compare():
                return (yield from self._compare(request))
            case Nearest():
                return (yield from nearest(self._reader, self._sources.copy, request.vectors, request.count, request.where))
            case Match():
                return (yield from self._sources.words.match(self._reader, request))
            case Browse():
                return (yield from browse(self._reader, request))
            case Load():
                return (yield from self._load(request.ids, request.perhaps))
            case Generate():
                return (yield from generating(request))
            case Legs():
                return (yield from self._run_legs(request))
            case Ask():
                return (yield from self._answer_all((request,)))[0]

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        asks = [request for request in requests if isinstance(request, Ask)]
        if not asks:
            return (yield from self._answer_together(requests))
        replies = iter((yield [Call(ask.ask, (ask.question,), native=ask.aask) for ask in asks]))
        answers = []
        for request in requests:
            if isinstance(request, Ask):
                answers.append((yield from self._recognise(request, next(replies))))
            else:
                answers.append((yield from self._answer(request)))
        return answers

    def _answer_together(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        """Answers that come at the same time: Chroma searches on one processor while words are looked up on another."""
        if any(getattr(request, "summaries", False) for request in requests):
            yield from self.summaries.enter()  # once, before several do
        answers = yield side_by_side([self._answer(request) for request in requests])
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers  # type: ignore[no-any-return]

    def _search(self, request: Search) -> Flow[list[list[Found]]]:
        if request.where is None and self._reader.scope is None:
            rows = yield from self._reader.search(request.vectors, request.count)
            return [[self._found(stored, stored.score, "vector") for stored in row] for row in rows]
        hits = yield from nearest(self._reader, self._sources.copy, request.vectors, request.count, request.where)
        loaded = yield from self._load([hit.id for row in hits for hit in row])
        return [[scored(loaded[hit.id], hit.score, "vector") for hit in row] for row in hits]

    def _load(self, ids: Sequence[str], perhaps: Sequence[str] = ()) -> Flow[dict[str, Found]]:
        wanted = list(dict.fromkeys([*ids, *perhaps]))
        leaves = [id_ for id_ in wanted if not is_summary(id_)]
        stored = (yield from self._reader.fetch_leaves(leaves)) if leaves else {}
        loaded = {id_: self._found(leaf) for id_, leaf in stored.items()}
        if len(leaves) < len(wanted):
            for found, text in (yield from self.summaries.load([id_ for id_ in wanted if is_summary(id_)])):
                id_ = found.span.leaf_ids[0]
                self._texts[id_] = text
                loaded[id_] = found
        if any(id_ not in loaded for id_ in ids):
            raise Gone
        return loaded

    def _compare(self, request: Compare) -> Flow[Any]:
        """Leaves are compared where they are, and summaries where those are."""
        import numpy as np

        places = np.fromiter(map(is_summary, request.ids), bool, len(request.ids))
        cosines = np.empty((len(request.vectors), len(request.ids)))
        if not places.all():
            leaves = tuple(itertools.compress(request.ids, ~places))
            cosines[:, ~places] = yield from similarities(self._reader, self._sources.copy, request.vectors, leaves)
        if places.any():
            chosen = tuple(itertools.compress(request.ids, places))
            cosines[:, places] = yield from self.summaries.similarities(request.vectors, chosen)
        return cosines

    def _run_legs(self, request: Legs) -> Flow[list[LegResults]]:
        """Run strategies side by side, each holding the reader for as long as it goes on."""

        def run(leg: Leg) -> Flow[list[list[Found]]]:
            try:
                return (yield from self._results(leg.strategy, leg.queries, leg.reach))
            finally:
                self._reader.leave()

        for _ in request.legs:
            self._reader.stay()  # before this one may leave: a late leg goes on without it
        answers: list[LegResults] = yield together(
            [run(leg) for leg in request.legs], [leg.timeout for leg in request.legs]
        )
        if any(isinstance(answer, Gone) for answer in answers):
            raise Gone
        return answers

    def _recognise(self, ask: Ask, results: Sequence[OutsideResult]) -> Flow[list[Found]]:
        """The leaves that a host's retriever returned, as far as they are wanted, each once, at its best place.

        A scoped view does not tell what it does not show from what there is not: it leaves out both, and no rank or score
        of the others shows it.
        """
        scoped = self._reader.scope is not None
        leaves: list[tuple[str, OutsideResult]] = []
        for rank, result in enumerate(results, start=1):
            id_ = _as_leaf_id(result.id)
            if id_ is None:
                quoted = "" if scoped else f", text {result.text[:60]!r}"
                raise NotALeaf(
                    f"the results of {ask.name} must be leaves of this index, but number {rank} is not: "
                    f"id {result.id!r}{quoted}"
                )
            leaves.append((id_, result))
        stored = yield from self._reader.fetch_leaves([id_ for id_, _ in leaves])
        for id_, _ in leaves:
            if id_ not in stored and not scoped:
                self._reader.doubt(id_)
                raise NotALeaf(
                    f"the results of {ask.name} must be leaves of this index, but {id_!r} is not in it "
                    "(any more): give that retriever the leaves as they are now"
                )
        shown = [(id_, result) for id_, result in leaves if id_ in stored and _is_wanted(stored[id_], ask.where)]
        found: dict[str, Found] = {}
        for (id_, _), score in zip(shown, _scores([result for _, result in shown]), strict=True):
            found.setdefault(id_, self._found(stored[id_], score, ask.name))
        return list(found.values())

    def _found(self, stored: StoredLeaf, score: float = 0.0, source: str | None = None) -> Found:
        """The leaf, with its text kept for later; ``source``: what found it."""
        leaf = stored.leaf
        self._texts[leaf.id] = stored.text
        span = Span(leaf.document_id, leaf.version, leaf.ordinal, leaf.ordinal, (leaf.ordinal, leaf.start))
        found = Found(span, 0.0, Trace(), stored.metadata, words=leaf.words, leaf=leaf)
        return found if source is None else scored(found, score, source)

    def _passage(self, found: Found) -> Passage:
        """The span with its text; leaves partition the text, so the anchor's place gives that of every other."""
        span = found.span
        if found.summary is not None:
            return summary_passage(found, self._texts[span.leaf_ids[0]])
        texts = [self._texts[id_] for id_ in span.leaf_ids]
        ordinal, place = span.anchor
        start = place - sum(len(text) for text in texts[: ordinal - span.first])
        text = "".join(texts)
        return Passage(
            span.id, span.document_id, start, start + len(text), text, found.score, dict(found.metadata), found.trace
        )


def _scores(results: Sequence[OutsideResult]) -> Iterator[float]:
    """The results' own scores, where all have one and none rises above the one before; else by rank."""
    scores = [float(result.score) for result in results if result.score is not None and math.isfinite(result.score)]
    if len(scores) == len(results) and all(a >= b for a, b in itertools.pairwise(scores)):
        return iter(scores)
    return iter([1 / rank for rank in range(1, len(results) + 1)])


def _is_wanted(stored: StoredLeaf, where: Where | None) -> bool:
    return where is None or where.matches(stored.metadata, stored.leaf.document_id)


def _as_leaf_id(id_: str | None) -> str | None:
    """The id as a leaf's: as it is, or from the id of a passage of one leaf (``...#4-4``)."""
    head, _, place = (id_ or "").rpartition("#")
    first, dash, last = place.partition("-")
    if "#" not in head or not first.isdecimal() or (dash and last != first):
        return None
    return f"{head}#{first}"
