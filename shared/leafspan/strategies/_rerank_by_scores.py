"""Reordering results by the scores that a function gives to their texts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from leafspan.checks import function_failed, refuse_coroutine, shown
from leafspan.errors import UnusableResult
from leafspan.strategies._calling import call_for_each
from leafspan.strategies._requests import LoadTexts, StrategyFlow
from leafspan.trace import Trace
from leafspan.values import Candidate

Rows = Sequence[Sequence[Candidate]]


def rerank_by_scores(
    rerank: Callable[[str, list[str]], Sequence[float]],
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None,
    questions: Sequence[str],
    rows: Rows,
    *,
    keeps_on_failure: bool,
) -> StrategyFlow[Rows]:
    """The results of each question with the scores that a function gives them, best first.

    Args:
        rerank: Function from a question and texts to scores.
        arerank: Its coroutine function.
        questions: The questions.
        rows: What was found for each.
        keeps_on_failure: Whether the results of a question stay as they are if the function fails.

    Raises:
        InvalidArgument: if the function does not return a finite number for each text.
    """
    asked = [number for number, row in enumerate(rows) if row]
    ids = (id_ for row in rows for found in row if found.outside is None for id_ in found.span.leaf_ids)
    loaded: dict[str, str] = yield LoadTexts(tuple(dict.fromkeys(ids)))
    jobs = [(questions[number], [_text(found, loaded) for found in rows[number]]) for number in asked]
    keys = [(questions[number], tuple(found.span.id for found in rows[number])) for number in asked]
    answers = dict(zip(asked, (yield from call_for_each(rerank, arerank, jobs, keys)), strict=True))
    reordered = []
    for number, row in enumerate(rows):
        answer = answers.get(number, ())
        if isinstance(answer, Exception):
            reordered.append(as_they_are(row, answer, "rerank", questions[number], keeps_on_failure=keeps_on_failure))
        else:
            scores = _numbers(answer, len(row))
            both = [replace(found, score=score) for found, score in zip(row, scores, strict=True)]
            places = sorted(range(len(row)), key=lambda place: both[place].order)
            reordered.append([moved(row[old], scores[old], old, new) for new, old in enumerate(places)])
    return reordered


def moved(found: Candidate, score: float, old: int, new: int, remark: str = "") -> Candidate:
    """A result with a new score in a new place, both from 0, and with a trace that says so."""
    note = f"Rerank: rank {old + 1} with score {found.score:.3f} became rank {new + 1} with score {score:.3f}{remark}"
    return replace(found, score=score, trace=found.trace + Trace(notes=(note,)))


def as_they_are(
    row: Sequence[Candidate], error: Exception, name: str, question: str, *, keeps_on_failure: bool
) -> list[Candidate]:
    """The results as they were found, with a note that reordering failed.

    Raises:
        LeafspanError: for the failure, with a note of where it came from, unless the results are kept.
    """
    if not keeps_on_failure:
        failed = function_failed("the reranker", name, question, error)
        failed.add_note(f"{name} of Rerank failed; with on_failure='keep' the results stay in the order of the base")
        raise failed
    note = f"Rerank: not reordered, since {name} failed: {type(error).__name__}: {error}"
    return [replace(found, trace=found.trace + Trace(notes=(note,))) for found in row]


def _text(found: Candidate, loaded: dict[str, str]) -> str:
    if found.outside is not None:
        return found.outside.text
    return "".join(loaded[id_] for id_ in found.span.leaf_ids)


def _numbers(answer: Any, count: int) -> list[float]:
    """The scores that a function returned, which may be an array."""
    refuse_coroutine("rerank", answer)
    scores = answer.tolist() if hasattr(answer, "tolist") else answer
    if not isinstance(scores, Sequence) or isinstance(scores, str) or len(scores) != count:
        raise _refusal(count, answer)
    return [_number(score, count) for score in scores]


def _number(score: Any, count: int) -> float:
    try:
        number = None if isinstance(score, str | bool) else float(score)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not isfinite(number):
        raise _refusal(count, score)
    return number


def _refusal(count: int, got: object) -> UnusableResult:
    rule = f"rerank must return a finite number for each of the {count} texts"
    return UnusableResult(f"{rule}, got {shown(got)}", f"{rule}, got something else")
