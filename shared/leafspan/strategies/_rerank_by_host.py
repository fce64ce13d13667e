"""Reordering results by a reranker of a host framework."""

from __future__ import annotations

from collections.abc import Sequence

from leafspan.checks import unusable
from leafspan.scoring import scores_in_order
from leafspan.strategies._calling import call_for_each
from leafspan.strategies._host_reranker import HostReranker, Reranked
from leafspan.strategies._requests import LoadPassages, StrategyFlow
from leafspan.strategies._rerank_by_scores import Rows, as_they_are, moved
from leafspan.values import Candidate, Passage


def rerank_by_host(
    reranker: HostReranker, questions: Sequence[str], rows: Rows, *, keeps_on_failure: bool
) -> StrategyFlow[Rows]:
    """Those results of each question that a reranker keeps, in its order.

    Args:
        reranker: The reranker, which is given passages as the call would return them.
        questions: The questions.
        rows: What was found for each.
        keeps_on_failure: Whether the results of a question stay as they are if the reranker fails.

    Raises:
        InvalidArgument: if the reranker returns anything but results that it was given.
    """
    asked = [number for number, row in enumerate(rows) if row]
    if not asked:
        return rows
    passages: list[Passage] = yield LoadPassages([found for row in rows for found in row])
    rest = iter(passages)
    given = [[next(rest) for _ in row] for row in rows]
    jobs = [(questions[number], given[number]) for number in asked]
    keys = [(questions[number], tuple(found.span.id for found in rows[number])) for number in asked]
    answers = dict(zip(asked, (yield from call_for_each(reranker.rerank, reranker.arerank, jobs, keys)), strict=True))
    reordered: list[Sequence[Candidate]] = []
    for number, row in enumerate(rows):
        answer = answers.get(number, ())
        if isinstance(answer, Exception):
            reordered.append(as_they_are(row, answer, reranker.name, questions[number], keeps_on_failure=keeps_on_failure))
        else:
            kept = _checked(reranker, answer, len(row))
            scores = scores_in_order([each.score for each in kept])
            both = enumerate(zip(kept, scores, strict=True))
            remarks = [f" by {reranker.name}" + (each.note and f": {each.note}") for each in kept]
            reordered.append([moved(row[each.place], score, each.place, new, remarks[new]) for new, (each, score) in both])
    return reordered


def _checked(reranker: HostReranker, answer: object, count: int) -> list[Reranked]:
    """Each result once, at its best place."""
    kept = list(answer) if isinstance(answer, Sequence) and not isinstance(answer, str) else None
    if kept is None or not all(isinstance(each, Reranked) and 0 <= each.place < count for each in kept):
        raise unusable("the reranker", reranker.name, f"return a list of Reranked of {count} results", answer)
    first: dict[int, Reranked] = {}
    for each in kept:
        first.setdefault(each.place, each)
    return list(first.values())
