"""Retrieving without an index: what strategies find in other sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from leafspan.checks import calling, with_option_names
from leafspan.embedding import Embedder, check_vectors, default_embedder, to_embedder
from leafspan.flows import Flow, arun_within, run_within
from leafspan.retrieval._limits import Limits, check_timeout
from leafspan.retrieval._retrieve_outside import retrieve_outside
from leafspan.spans import Budget
from leafspan.strategies import StrategyLike, to_strategy
from leafspan.telemetry import recorded
from leafspan.values import Passage, Query

Numbers = Sequence[float]


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


@overload
def retrieve(
    query: str | Query | Numbers | None,
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[Passage]: ...


@overload
def retrieve(
    query: list[str] | list[Query] | list[Numbers],
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[list[Passage]]: ...


@with_option_names
def retrieve(
    query: str | Query | Numbers | list[str] | list[Query] | list[Numbers] | None,
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[Passage] | list[list[Passage]]:
    """The passages that a strategy finds in other sources than an index, such as ``SQL``; best first.

    Strategies that need leaves, such as ``Hybrid``, search an index: see ``Index.retrieve``, which has the same options.

    Args:
        query: A text, a ``Query``, or a list of these; for a list of queries, the result is a list for each.
        strategy: What finds: a strategy, or a mapping such as ``Strategy.to_config`` gives.
        k: Most passages, >= 1. Default: 5, or any number if a budget or ``min_score`` is given.
        candidates: Results to look at, in [1, 10000]. Default: as many as it takes; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. Default: any number.
        where: Filter on the passages' metadata. Default: all.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Default: any.
        embedder: What embeds questions, for strategies that need that. Default: the bundled model.
        timeout: Seconds, > 0, after which the retrieval ends with an error, whatever it waits for. Default: none.

    Raises:
        InvalidArgument: if an option is out of its range, a query is blank, or the strategy searches an index.
        RetrievalTimeout: if it takes longer than ``timeout``. It then goes no further than the call that it is in.
    """
    check_timeout(timeout)
    limits = Limits.of(k, candidates, budget, where, min_score)
    chosen = to_strategy("strategy", strategy)
    with recorded(chosen, limits.given) as recording:
        flow = retrieve_outside(_QuestionEmbedder(embedder), query, chosen, limits)
        return run_within(recording.of(flow, query), timeout)


@overload
async def aretrieve(
    query: str | Query | Numbers | None,
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[Passage]: ...


@overload
async def aretrieve(
    query: list[str] | list[Query] | list[Numbers],
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[list[Passage]]: ...


@with_option_names
async def aretrieve(
    query: str | Query | Numbers | list[str] | list[Query] | list[Numbers] | None,
    strategy: StrategyLike,
    *,
    k: int | None = None,
    candidates: int | None = None,
    budget: int | Budget | None = None,
    where: object = None,
    min_score: float | None = None,
    embedder: object = None,
    timeout: float | None = None,
) -> list[Passage] | list[list[Passage]]:
    """Like ``retrieve``."""
    check_timeout(timeout)
    limits = Limits.of(k, candidates, budget, where, min_score)
    chosen = to_strategy("strategy", strategy)
    with recorded(chosen, limits.given) as recording:
        flow = retrieve_outside(_QuestionEmbedder(embedder), query, chosen, limits)
        return await arun_within(recording.of(flow, query), timeout)
