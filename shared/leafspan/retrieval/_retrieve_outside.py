"""One retrieval without an index: from queries to passages of other sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import filterfalse
from typing import Any

from leafspan.flows import Flow
from leafspan.lexical import Analyzer
from leafspan.retrieval._answers import Answers, QuestionEmbedder
from leafspan.retrieval._empty_results import why_found_none
from leafspan.retrieval._limits import Limits
from leafspan.retrieval._passages import Passages, to_results
from leafspan.retrieval._warm import import_numpy
from leafspan.retrieval._widening import Result, look_until_full, may_widen
from leafspan.spans import shortlist, within_budget
from leafspan.strategies import RetrievalContext, Strategy, at_least, check_strategy, to_queries
from leafspan.values import Query


def retrieve_outside(embedder: QuestionEmbedder, asked: Any, strategy: Strategy, limits: Limits) -> Flow[list[Passages]]:
    """The passages for each query, from a strategy that needs no index."""
    check_strategy("strategy", strategy)
    queries = to_queries(asked, needed=strategy.needs_query)
    if not queries:
        return []
    import_numpy()
    answers = Answers(embedder)

    def look(asked: Sequence[Query], context: RetrievalContext) -> Flow[list[Result]]:
        found = yield from answers.run(strategy, asked, context)
        results = []
        for all_found in found:
            row = limits.allowed(all_found)
            chosen, ended = shortlist(row, context.k, limits.budget)
            kept, full = within_budget(chosen, limits.budget, answers.texts)
            passages = [
                replace(each.outside, score=each.score, trace=each.trace)
                for each in kept[: context.k]
                if each.outside is not None
            ]
            enough = full or ended or len(passages) == context.k
            more = may_widen(context) and not enough and len(row) >= context.candidates
            results.append(Result(row, passages, more, list(filterfalse(limits.allow, all_found))))
        return results

    looked = yield from look_until_full(look, queries, limits.context(at_least(strategy, limits.min_score), None))
    reasons = [
        why_found_none(result, limits, answers.why_empty(query, len(queries)))
        for query, result in zip(queries, looked, strict=True)
    ]
    return to_results(queries, [result.passages for result in looked], Analyzer(), reasons)
