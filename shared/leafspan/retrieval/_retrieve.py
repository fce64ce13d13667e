"""One retrieval: from what was asked to passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import filterfalse
from typing import Any

from leafspan.engine import Flow
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.retrieval._empty_results import why_empty
from leafspan.retrieval._host_results import matches_outside
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.retrieval._left_out import without_damaged
from leafspan.retrieval._limits import Limits
from leafspan.retrieval._passages import to_passage
from leafspan.retrieval._result_list import Passages, to_results
from leafspan.retrieval._sources import Sources
from leafspan.retrieval._widening import Result, look_until_full
from leafspan.spans import shortlist, within_budget
from leafspan.store import Met, Reader, Scope, read_consistently
from leafspan.strategies import RetrievalContext, Strategy, at_least, check_strategy, to_queries
from leafspan.trace import Trace
from leafspan.tree import document_of
from leafspan.values import Candidate, Passage, Query


def retrieve_from_index(
    sources: Sources, asked: Any, strategy: Strategy, limits: Limits, scope: Scope | None = None
) -> Flow[Passages | list[Passages]]:
    """The passages for what was asked.

    Args:
        sources: The open index.
        asked: A query in any of its forms, or a list of them, for which the result is a list of lists.
        strategy: What finds.
        limits: How much to look at and to return.
        scope: The view that is asked, None for the whole index.

    Raises:
        InvalidArgument: if ``asked`` is no query, a vector has another length than the index's, or ``strategy`` is no
            strategy.
        ConcurrentUpdate: if what was read was replaced at every one of ten attempts.
    """
    queries, single = yield from checked_queries(sources, asked, strategy)
    if not queries:
        return []
    met = Met()

    def attempt(reader: Reader) -> Flow[tuple[list[list[Passage]], list[str | None]]]:
        answers = IndexAnswers(sources, reader, met, scope)
        try:
            results = yield from look_at(sources, answers, reader, strategy, queries, limits, scope)
            reasons = []
            for query, result in zip(queries, results, strict=True):
                noted = answers.why_empty(query, len(queries))
                reasons.append((yield from why_empty(result, limits, reader, noted)))
            found = [result.passages for result in results]
            return without_damaged(found, reader.warn_of_left_out(), answers.warn_of_left_out()), reasons
        finally:
            answers.leave()

    found, reasons = yield from read_consistently(sources.store, attempt, scope)
    results = to_results(queries, found, sources.indexes.words.analyzer, reasons)
    return results[0] if single else results


def checked_queries(sources: Sources, asked: Any, strategy: Strategy) -> Flow[tuple[list[Query], bool]]:
    """What was asked as queries, and whether it is a single one.

    Raises:
        InvalidArgument: if it is no query, a vector has another length than the index's, or ``strategy`` is no strategy.
    """
    check_strategy("strategy", strategy)
    queries, single = to_queries(asked, needed=strategy.needs_query)
    vectors = [each.vector for each in queries if each.vector is not None]
    if vectors:
        identity = yield from sources.embedder.identity()
        length = identity.dimension if identity else len(vectors[0])
        for vector in vectors:
            if len(vector) != length:
                raise InvalidArgument(f"a query's vector must have {length} dimensions, got {len(vector)}")
    return queries, single


def look_at(
    sources: Sources,
    answers: IndexAnswers,
    reader: Reader,
    strategy: Strategy,
    queries: Sequence[Query],
    limits: Limits,
    scope: Scope | None,
) -> Flow[list[Result]]:
    """What a strategy finds for each query in what one reader sees, and what is returned of it.

    Args:
        sources: The open index.
        answers: What answers the strategy's requests. It may be used for several retrievals of one reader.
        reader: What is visible of the index.
        strategy: What finds.
        queries: The queries.
        limits: How much to look at and to return.
        scope: The view that is asked, None for the whole index.
    """
    identity = yield from sources.embedder.identity()

    def look(asked: Sequence[Query], context: RetrievalContext) -> Flow[list[Result]]:
        answers.forget_hits()
        visible = [_visible(row, scope) for row in (yield from answers.run(strategy, asked, context))]
        found = [list(filter(limits.allow, row)) for row in visible]
        searched_out = answers.most_hits < context.candidates
        chosen = [shortlist(row, context.k, limits.budget) for row in found]
        texts = answers.texts
        missing = [id_ for row, _ in chosen for each in row for id_ in each.span.leaf_ids if id_ not in texts]
        if missing:
            texts.update((yield from reader.fetch(missing)))
        kept = [within_budget(row, limits.budget, texts) for row, _ in chosen]
        rows = yield from reader.rows_met(id_ for row, _ in kept for each in row if (id_ := document_of(each)))
        results = []
        for row, all_found, (_, ended), (few, full) in zip(visible, found, chosen, kept, strict=True):
            returned = few[: context.k] if limits.where is None else _matched(few[: context.k], limits.where)
            enough = full or ended or len(returned) == context.k
            complete = searched_out or (not strategy.finds_spans and len(all_found) < context.candidates)
            passages = [to_passage(each, texts, rows) for each in returned]
            too_low = list(filterfalse(limits.allow, row))
            results.append(Result(all_found, passages, more=not enough and not complete, too_low=too_low))
        return results

    # With a lowest score all that reach it are returned, as of a strategy that has one itself.
    context = limits.context(at_least(strategy, limits.min_score), identity.name if identity else None)
    return (yield from look_until_full(look, queries, context))


def _visible(row: list[Candidate], scope: Scope | None) -> list[Candidate]:
    """The candidates without those of other sources that the view does not show, going by their own metadata."""
    if scope is None:
        return row
    return [each for each in row if each.outside is None or matches_outside(each.metadata, each.outside.id, scope.where)]


def _matched(found: Sequence[Candidate], where: Where) -> list[Candidate]:
    """The candidates, whose traces have the filter that their documents have matched."""
    matched = Trace(filters=(where,))
    return [replace(each, trace=each.trace + matched) for each in found]
