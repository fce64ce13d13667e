"""Rerank: another strategy's results in another order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from leafspan.checks import check_choice, check_functions, check_number, keep_whole
from leafspan.errors import InvalidArgument
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._queries import query_texts
from leafspan.strategies._requests import RetrievalContext, StrategyFlow
from leafspan.strategies._rerankers import HostReranker, diversify, rerank_by_host, rerank_by_scores
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.values import Candidate, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank(OverBase):
    """What ``base`` finds, reordered by a function that reads question and texts, by diversity, or by both.

    Leaves, longer spans, summaries and passages of other sources are reordered alike. The trace of each passage has its old
    and its new rank and score.

    Args:
        base: A strategy. Default: ``Hybrid()``.
        rerank: Function from a question and the list of texts that the base found for it to a score for each, such as
            a cross-encoder's: a list of finite numbers. A higher score is better. It is called once for each query for
            which something was found. Default: none.
        arerank: Its coroutine function. Default: none, in an event loop ``rerank`` runs in a thread.
        depth: Most results of the base to reorder for each query, >= 1; the others are left out. Default: all that the base
            finds among the ``candidates`` of the call.
        diversity: Weight, in [0, 1], of being unlike the better results; the score has the rest of the weight
            (maximal marginal relevance). Default: 0, the scores alone.
        on_failure: What to do if ``rerank`` raises an error. ``"raise"``: the error is raised. ``"keep"``: the results
            keep the order and the scores of the base, and their traces say so. An InvalidArgument is always raised.
            Default: ``"raise"``.

    Raises:
        InvalidArgument: if an option is out of its range, neither ``rerank`` nor ``diversity`` is given, or ``rerank`` does
            not return a finite number for each text.

    The score is the one that ``rerank`` returns. With ``diversity`` it is (1 - diversity) * relevance - diversity *
    similarity, in [-1, 1]. The relevance is the cosine similarity to the query; with ``rerank`` its score, scaled to [0, 1]
    over the results. The similarity is the cosine with the most similar result before it. The vector of a span is the mean
    of its leaves' vectors. The vector of a passage of another source is computed from its text.

    Ties are ordered by document id, then position; with ``diversity``, by the rank before. Source of the diversity:
    Carbonell and Goldstein, SIGIR 1998.
    """

    needs_query = True
    base: Strategy = field(default_factory=Hybrid)
    rerank: Callable[[str, list[str]], Sequence[float]] | HostReranker | None = None
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None = None
    depth: int | None = None
    diversity: float = 0
    on_failure: Literal["raise", "keep"] = "raise"

    def __post_init__(self) -> None:
        check_strategy("base", self.base)
        check_number("diversity", self.diversity, at_least=0, at_most=1)
        if self.rerank is not None and not isinstance(self.rerank, HostReranker):
            check_functions("rerank", self.rerank, self.arerank, arguments=2)
        elif self.arerank is not None:
            raise InvalidArgument("arerank must have a function rerank beside it, got arerank alone")
        if self.rerank is None and not self.diversity:
            raise InvalidArgument("Rerank must have a function rerank, or a diversity > 0, got neither")
        keep_whole(self, "depth", 1, optional=True)
        check_choice("on_failure", self.on_failure, ("raise", "keep"))

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """One call of the function for each query; in an event loop all calls run at once."""
        questions = () if self.rerank is None else query_texts("Rerank", queries)
        results = yield from self.base.retrieve(queries, context.for_base.at_least(self.depth or 1))
        rows: Sequence[Sequence[Candidate]] = [row[: self.depth] for row in results]
        keeps = self.on_failure == "keep"
        if isinstance(self.rerank, HostReranker):
            rows = yield from rerank_by_host(self.rerank, questions, rows, keeps_on_failure=keeps)
        elif self.rerank is not None:
            rows = yield from rerank_by_scores(self.rerank, self.arerank, questions, rows, keeps_on_failure=keeps)
        if self.diversity:
            by_score = self.rerank is not None
            rows = yield from diversify(
                queries, self.query_instruction, rows, self.diversity, by_score=by_score, count=context.k
            )
        return [list(row) for row in rows]
