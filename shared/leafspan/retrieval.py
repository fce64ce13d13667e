"""One retrieval: a strategy's requests answered from a store, and its results made into passages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.engine import Call, Flow
from leafspan.errors import InvalidArgument, NotALeaf
from leafspan.packing import Budget, pack, shortlist
from leafspan.reading import reading
from leafspan.requests import Ask, Embed, OutsideResult, Request, Search
from leafspan.store.collection import MOST_RESULTS
from leafspan.store.reading import Reader, StoredLeaf
from leafspan.store.store import Store
from leafspan.strategies.strategy import Reach, Strategy, whole
from leafspan.trace import Trace, TracedHit
from leafspan.values import Found, Passage, Query, Span

DEFAULT_K = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to look at and to return: see ``Index.retrieve``."""

    k: int | None
    candidates: int
    budget: Budget | None
    where: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        k: int | None = None,
        candidates: int | None = None,
        budget: int | Budget | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Limits:
        """The limits with their defaults filled in.

        Raises:
            InvalidArgument: if one is out of its range.
        """
        if k is None and budget is None:
            k = DEFAULT_K
        if k is not None:
            whole("k", k, 1)
        if candidates is None:
            candidates = min(max(24, 4 * (k or 0)), MOST_RESULTS)
        whole("candidates", candidates, 1)
        if candidates > MOST_RESULTS:
            raise InvalidArgument(f"candidates must be <= {MOST_RESULTS}, got {candidates}")
        if where is not None and not isinstance(where, Mapping):
            raise InvalidArgument(f"where must be a mapping, a filter of Chroma's, got {where!r}")
        if budget is not None and not isinstance(budget, Budget):
            budget = Budget(budget)
        return cls(k, candidates, budget, where or None)


def retrieving(
    store: Store,
    embed: Callable[[Sequence[str]], Flow[Any]],
    strategy: Strategy,
    queries: Sequence[Query],
    limits: Limits,
) -> Flow[list[list[Passage]]]:
    """The passages for each query."""
    if not queries:
        return []
    return (yield from reading(store, lambda reader: _Retrieval(reader, embed).run(strategy, queries, limits)))


class _Retrieval:
    """One attempt: what it has seen of leaves is kept, so that rendering fetches only what is missing."""

    def __init__(self, reader: Reader, embed: Callable[[Sequence[str]], Flow[Any]]) -> None:
        self._reader = reader
        self._embed = embed
        self._texts: dict[str, str] = {}

    def run(self, strategy: Strategy, queries: Sequence[Query], limits: Limits) -> Flow[list[list[Passage]]]:
        asking = strategy.retrieve(queries, Reach(limits.candidates, limits.where))
        answer: Any = None
        while True:
            try:
                request = asking.send(answer)
            except StopIteration as stop:
                results: list[list[Found]] = stop.value
                break
            if isinstance(request, tuple):
                answer = yield from self._answer_all(request)
            else:
                answer = yield from self._answer(request)
        chosen = [shortlist(found, limits.k, limits.budget) for found in results]
        missing = [id_ for row in chosen for found in row for id_ in found.span.leaf_ids if id_ not in self._texts]
        if missing:
            self._texts.update((yield from self._reader.fetch(missing)))
        return [pack([self._passage(found) for found in row], limits.budget) for row in chosen]

    def _answer(self, request: Request) -> Flow[Any]:
        if isinstance(request, Embed):
            return (yield from self._embed(request.texts))
        if isinstance(request, Search):
            rows = yield from self._reader.search(request.vectors, request.count, request.where)
            return [[self._found(stored, stored.score, "vector") for stored in row] for row in rows]
        return (yield from self._answer_all((request,)))[0]

    def _answer_all(self, requests: tuple[Request, ...]) -> Flow[list[Any]]:
        asks = [request for request in requests if isinstance(request, Ask)]
        replies = iter((yield [Call(ask.ask, (ask.question,), native=ask.aask) for ask in asks]) if asks else ())
        answers = []
        for request in requests:
            if isinstance(request, Ask):
                answers.append((yield from self._recognise(request.name, next(replies))))
            else:
                answers.append((yield from self._answer(request)))
        return answers

    def _recognise(self, name: str, results: Sequence[OutsideResult]) -> Flow[list[Found]]:
        """The leaves that a host's retriever returned, each once, at its best place."""
        ids: dict[str, float] = {}
        for (rank, result), score in zip(enumerate(results, start=1), _scores(results), strict=True):
            id_ = _as_leaf_id(result.id)
            if id_ is None:
                raise NotALeaf(
                    f"the results of {name} must be leaves of this index, but number {rank} is not: "
                    f"id {result.id!r}, text {result.text[:60]!r}"
                )
            ids.setdefault(id_, score)
        stored = yield from self._reader.fetch_leaves(list(ids))
        for id_ in ids:
            if id_ not in stored:
                self._reader.doubt(id_)
                raise NotALeaf(f"the results of {name} must be leaves of this index, but {id_!r} is not in it")
        return [self._found(stored[id_], score, name) for id_, score in ids.items()]

    def _found(self, stored: StoredLeaf, score: float, source: str) -> Found:
        leaf = stored.leaf
        self._texts[leaf.id] = stored.text
        span = Span(leaf.document_id, leaf.version, leaf.ordinal, leaf.ordinal, (leaf.ordinal, leaf.start))
        trace = Trace(hits=(TracedHit(leaf.ordinal, score, source),))
        return Found(span, score, trace, stored.metadata, words=leaf.words, leaf=leaf)

    def _passage(self, found: Found) -> Passage:
        """The span with its text; leaves partition the text, so the anchor's place gives that of every other."""
        span = found.span
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


def _as_leaf_id(id_: str | None) -> str | None:
    """The id as a leaf's: as it is, or from the id of a passage of one leaf (``...#4-4``)."""
    head, _, place = (id_ or "").rpartition("#")
    first, _, last = place.partition("-")
    if "#" not in head or not first.isdecimal() or (last and last != first):
        return None
    return f"{head}#{first}"
