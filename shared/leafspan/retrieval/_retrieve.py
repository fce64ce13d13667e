"""One retrieval from an index: from queries to passages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from leafspan.checks import shown_below
from leafspan.filters import Where, valid_documents
from leafspan.flows import Flow
from leafspan.retrieval._answers import Answers
from leafspan.retrieval._index_answers import IndexAnswers
from leafspan.retrieval._limits import Limits, Sources
from leafspan.retrieval._passages import INDEX_IS_EMPTY, Passages, WhyEmpty, to_passage, to_results, without_damaged
from leafspan.spans import has_more, limit_per_document, shortlist, within_budget
from leafspan.store import Reader, ReadHistory, Scope, read_consistently
from leafspan.strategies import NoteWhyEmpty, RetrievalContext, Strategy, to_queries
from leafspan.text import has_word
from leafspan.trace import Trace
from leafspan.values import Candidate, LeafId, Passage, Query


def retrieve_from_index(
    sources: Sources, things: Any, strategy: Strategy, limits: Limits, scope: Scope | None = None
) -> Flow[list[Passages]]:
    queries = to_queries(things, needed=strategy.needs_query)
    if not queries:
        return []
    history = ReadHistory()

    def attempt(reader: Reader) -> Flow[tuple[list[list[Passage]], list[WhyEmpty | None]]]:
        index = IndexAnswers(sources, reader, history, (yield from sources.embedder.identity()), scope)
        answers = Answers(sources.embedder, index)
        results = yield from run_strategy(index, answers, reader, strategy, queries, limits)
        reasons: list[WhyEmpty | None] = [None] * len(queries)
        for number, (query, result) in enumerate(zip(queries, results, strict=True)):
            if not result.passages:
                noted = answers.why_empty(query, len(queries))
                reasons[number] = yield from why_empty(result, limits, reader, noted)
        passages = [result.passages for result in results]
        return without_damaged(passages, reader.warn_of_left_out(), index.warn_of_left_out()), reasons

    passages, reasons = yield from read_consistently(sources.indexes.store, attempt, scope)
    return to_results(queries, passages, sources.indexes.words.analyzer, reasons)


def run_strategy(
    index: IndexAnswers, answers: Answers, reader: Reader, strategy: Strategy, queries: Sequence[Query], limits: Limits
) -> Flow[list[Result]]:
    """Run a strategy on one reader's view of the index, and choose what to return for each query."""
    first = limits.context(strategy, index.identity.name if index.identity else None)
    texts = answers.texts

    def search(some: Sequence[Query], context: RetrievalContext) -> Flow[list[Result]]:
        answers.hits.clear()
        answers.summary_hits.clear()
        rows = yield from answers.run(strategy, some, context)
        split = [limits.split(index.visible(row)) for row in rows]
        allowed = [limit_per_document(high, limits.per_document) for high, _ in split]
        # Leaves and summaries are searched separately, so the most hits of both are added.
        most_hits = max(answers.hits, default=0) + max(answers.summary_hits, default=0)
        searched_out = most_hits < context.candidates
        chosen = [shortlist(row, first.k, limits.budget) for row in allowed]
        yield from _read(reader, texts, (each for row, _ in chosen for each in row))
        has_blank = [not all(_has_word(each, texts) for each in row) for row, _ in chosen]
        if any(has_blank):  # this is rare: otherwise only the texts of the chosen candidates are read
            yield from _read(reader, texts, chain.from_iterable(allowed))
            with_words = ([each for each in row if _has_word(each, texts)] for row in allowed)
            chosen = [shortlist(row, first.k, limits.budget) for row in with_words]
        kept = [within_budget(row, limits.budget, texts) for row, _ in chosen]
        documents = yield from reader.cached_rows(id_ for row, _ in kept for each in row if (id_ := each.document_id))
        results = []
        for (high, low), row, blank, (_, ended), (few, full) in zip(split, allowed, has_blank, chosen, kept, strict=True):
            left_out = blank or len(row) < len(high)
            returned = few[: first.k] if first.where is None else _matched(few[: first.k], first.where)
            enough = full or ended or len(returned) == first.k
            complete = searched_out or (not strategy.finds_spans and len(high) < context.candidates)
            if left_out and context.k is not None:
                complete = False  # the strategy may have more, but returns at most k
            passages = [to_passage(each, texts, documents) for each in returned]
            more = (left_out or may_widen(context)) and not (context.exactly or enough or complete)
            results.append(Result(high, passages, more, low, left_out))
        return results

    return (yield from search_until_full(search, queries, first))


def _read(reader: Reader, texts: dict[LeafId, str], candidates: Iterable[Candidate]) -> Flow[None]:
    if missing := [id_ for each in candidates for id_ in each.span.leaf_ids if id_ not in texts]:
        texts.update((yield from reader.fetch(missing)))


def _has_word(candidate: Candidate, texts: Mapping[LeafId, str]) -> bool:
    """Whether a candidate has a word. Blank pages are never a result, even if their titles match well."""
    if candidate.outside is not None or candidate.summary is not None:
        return True
    return any(has_word(texts[id_]) for id_ in candidate.span.leaf_ids)


def _matched(candidates: Sequence[Candidate], where: Where) -> list[Candidate]:
    """Add the filter that the documents have matched to the candidates' traces."""
    matched = Trace(filters=(where,))
    return [replace(each, trace=each.trace + matched) for each in candidates]


_WIDER = 4


@dataclass(frozen=True, slots=True)
class Result:
    candidates: Sequence[Candidate]  # the strategy's results
    passages: list[Passage]
    more: bool  # whether to read more candidates: there is room for more results, and more candidates may give some
    too_low: Sequence[Candidate]  # the strategy's results below the call's lowest score
    left_out: bool = False


def may_widen(context: RetrievalContext) -> bool:
    """Whether more candidates may be read. They may not if the call sets their number, or only the number of results."""
    return not context.exactly and (context.k is None or context.words is not None)


def search_until_full(
    search: Callable[[Sequence[Query], RetrievalContext], Flow[list[Result]]],
    queries: Sequence[Query],
    context: RetrievalContext,
) -> Flow[list[Result]]:
    """The result for each query. While a result is not full and grows, four times as many candidates are read.

    Each query is widened independently, so that other queries do not change its result.
    """
    results = yield from search(queries, context)
    short = [number for number, result in enumerate(results) if result.more]
    while short:
        k = None if any(results[number].left_out for number in short) else context.k  # the strategy must give more than k
        context = replace(context, candidates=_WIDER * context.candidates, k=k)
        wider = yield from search([queries[number] for number in short], context)
        both = zip(short, wider, strict=True)
        grown = [(number, each) for number, each in both if has_more(each.candidates, results[number].candidates)]
        for number, result in grown:
            results[number] = result
        short = [number for number, result in grown if result.more]
    return results


def why_empty(result: Result, limits: Limits, reader: Reader, noted: NoteWhyEmpty | None) -> Flow[WhyEmpty]:
    """Why a result has no passages."""
    if not result.too_low:
        catalogue = yield from reader.catalogue()
        if not catalogue.select(None).ids:
            return WhyEmpty(INDEX_IS_EMPTY if reader.scope is None else "the view shows no document")
        where = valid_documents(limits.where, limits.as_of)
        if where is not None and not catalogue.select(where).ids:
            return WhyEmpty("no document matches the filter" + (f" as of {limits.as_of}" if limits.as_of else ""))
    return why_found_none(result, limits, noted)


def why_found_none(result: Result, limits: Limits, noted: NoteWhyEmpty | None) -> WhyEmpty:
    """Like ``why_empty``, from the strategy's results alone."""
    if limits.min_score is None or not result.too_low:
        return WhyEmpty("the strategy found nothing") if noted is None else WhyEmpty(noted.reason, noted.nearest)
    results = "the only result is" if len(result.too_low) == 1 else f"all {len(result.too_low)} results are"
    best_first = sorted(result.too_low, key=lambda each: each.order)
    nearest = list(dict.fromkeys(each.span.document_id for each in best_first if each.span.document_id))
    best = shown_below(best_first[0].score, limits.min_score)
    return WhyEmpty(f"{results} below min_score={limits.min_score:g}, the best has {best}", nearest)
