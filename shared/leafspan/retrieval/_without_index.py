"""Retrieving without an index: what strategies find in other sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Unpack

from leafspan.checks import calling
from leafspan.embedding import Embedder, check_vectors, default_embedder, to_embedder
from leafspan.flows import Flow, arun_within, run_within
from leafspan.lexical import Analyzer
from leafspan.retrieval._answers import Answers, QuestionEmbedder
from leafspan.retrieval._limits import CallOptions, Limits, check_timeout, import_numpy, takes_call_options
from leafspan.retrieval._passages import Passages, to_results
from leafspan.retrieval._recording import recorded
from leafspan.retrieval._retrieve import Result, may_widen, search_until_full, why_found_none
from leafspan.spans import limit_per_document, shortlist, within_budget
from leafspan.strategies import RetrievalContext, Strategy, StrategyLike, to_queries, to_strategy
from leafspan.values import Query

One = str | Query | Sequence[float] | None


class _QuestionEmbedder:
    """Embeds questions, if a strategy asks for it: the embedder is made when it is needed first."""

    def __init__(self, embedder: object) -> None:
        self._embedder: Embedder | None = None if embedder is None else to_embedder(embedder)

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """A vector, as a row, for each question."""
        if self._embedder is None:
            self._embedder = default_embedder()
        with calling("the embedder", self._embedder.name, texts):
            vectors = yield self._embedder.embed_queries(texts)
        return check_vectors(vectors, texts, name=self._embedder.name)


@takes_call_options
def retrieve(query: One, strategy: StrategyLike, *, embedder: object = None, **options: Unpack[CallOptions]) -> Passages:
    """The passages that a strategy finds without an index, such as ``SQL``, best first.

    Strategies that need leaves, such as ``Hybrid``, search an index: see ``Index.retrieve``, which has the same options.

    Args:
        query: A text, a vector, or a ``Query`` of both.
        strategy: A strategy, or a mapping as ``Strategy.to_config`` returns.
        k: Most passages, >= 1. Default: 5, or any number if a budget or ``min_score`` is given.
        candidates: Results to look at, in [1, 10000]. Default: as many as it takes; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. Default: any number.
        where: Filter on the passages' metadata. Default: all.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Default: any.
        as_of: Moment at which passages must be valid by their metadata. Default: any.
        embedder: Embedder of questions, for strategies that need one. Default: the bundled model.
        timeout: Seconds, > 0, after which the retrieval ends with an error. Default: no limit.

    Raises:
        InvalidArgument: if an option is out of its range, a query is blank, or the strategy searches an index.
        RetrievalTimeout: if it takes longer than ``timeout``. The retrieval stops after the call that is running.
    """
    with _asking([query], strategy, embedder, options) as retrieval:
        [passages] = run_within(retrieval, options.get("timeout"))
    return passages


@takes_call_options
async def aretrieve(
    query: One, strategy: StrategyLike, *, embedder: object = None, **options: Unpack[CallOptions]
) -> Passages:
    """Like ``retrieve``."""
    with _asking([query], strategy, embedder, options) as retrieval:
        [passages] = await arun_within(retrieval, options.get("timeout"))
    return passages


@takes_call_options
def retrieve_many(
    queries: Sequence[One], strategy: StrategyLike, *, embedder: object = None, **options: Unpack[CallOptions]
) -> list[Passages]:
    """What ``retrieve`` finds for each of several queries, in one search. The options are the same."""
    with _asking(queries, strategy, embedder, options, several=True) as retrieval:
        return run_within(retrieval, options.get("timeout"))


@takes_call_options
async def aretrieve_many(
    queries: Sequence[One], strategy: StrategyLike, *, embedder: object = None, **options: Unpack[CallOptions]
) -> list[Passages]:
    """Like ``retrieve_many``."""
    with _asking(queries, strategy, embedder, options, several=True) as retrieval:
        return await arun_within(retrieval, options.get("timeout"))


@contextmanager
def _asking(
    things: Any, strategy: Any, embedder: object, options: CallOptions, *, several: bool = False
) -> Iterator[Flow[list[Passages]]]:
    """A retrieval that is recorded."""
    check_timeout(options.get("timeout"))
    limits = Limits.of(**{name: value for name, value in options.items() if name != "timeout"})  # type: ignore[arg-type]
    with recorded(chosen := to_strategy("strategy", strategy), several=several) as recording:
        yield recording.of(retrieve_outside(_QuestionEmbedder(embedder), things, chosen, limits), things)


def retrieve_outside(embedder: QuestionEmbedder, things: Any, strategy: Strategy, limits: Limits) -> Flow[list[Passages]]:
    """The passages for each query, from a strategy that needs no index."""
    queries = to_queries(things, needed=strategy.needs_query)
    if not queries:
        return []
    import_numpy()
    answers = Answers(embedder)

    def search(some: Sequence[Query], context: RetrievalContext) -> Flow[list[Result]]:
        rows = yield from answers.run(strategy, some, context)
        results = []
        for high, low in map(limits.split, rows):
            row = limit_per_document(high, limits.per_document)
            chosen, ended = shortlist(row, context.k, limits.budget)
            kept, full = within_budget(chosen, limits.budget, answers.texts)
            passages = [
                replace(each.outside, score=each.score, trace=each.trace)
                for each in kept[: context.k]
                if each.outside is not None
            ]
            enough = full or ended or len(passages) == context.k
            more = may_widen(context) and not enough and len(row) >= context.candidates
            results.append(Result(row, passages, more, low))
        return results

    results = yield from search_until_full(search, queries, limits.context(strategy, None))
    reasons = [
        None if result.passages else why_found_none(result, limits, answers.why_empty(query, len(queries)))
        for query, result in zip(queries, results, strict=True)
    ]
    return to_results(queries, [result.passages for result in results], Analyzer(), reasons)
