"""Reorders results by a function, by scores, or by a host's reranker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from leafspan.checks import function_failed, refuse_coroutine, shown, unusable
from leafspan.errors import InvalidArgument, UnusableResult
from leafspan.strategies._requests import CallFunction, LoadPassages, LoadTexts, StrategyFlow
from leafspan.strategies.scoring import scores_in_order
from leafspan.trace import Trace
from leafspan.values import Candidate, Passage


def call_for_each(
    function: Callable[..., Any],
    native: Callable[..., Awaitable[Any]] | None,
    jobs: Sequence[tuple[Any, ...]],
    keys: Sequence[Hashable],
) -> StrategyFlow[list[Any]]:
    """A function's answer or Exception for each of several arguments; in an event loop all calls run at once."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            return error

    async def acall(*arguments: Any) -> Any:
        assert native is not None
        try:
            return await native(*arguments)
        except Exception as error:
            return error

    requests = tuple(
        CallFunction(call, job, native=acall if native else None, key=(id(function), key))
        for job, key in zip(jobs, keys, strict=True)
    )
    answers: list[Any] = (yield requests) if requests else []
    for answer in answers:
        if isinstance(answer, InvalidArgument):
            raise answer
    return answers


@dataclass(frozen=True, slots=True)
class Reranked:
    """A result that a host's reranker kept.

    Attributes:
        place: Its place in the given results, from 0.
        score: Its score, None without one.
        note: A remark for the trace, "" without one.
    """

    place: int
    score: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class HostReranker:
    """A document compressor of LangChain or a node postprocessor of LlamaIndex, for ``Rerank``. The adapters make these.

    Results that it leaves out are left out, and its order is kept. If each result has a score and no score rises above the
    previous one, the results keep these scores. Otherwise result number r, from 1, has the score 1 / r.

    Args:
        name: Name for traces and errors.
        rerank: Function from a question and passages to the passages to keep, best first.
        arerank: Its coroutine function.
    """

    name: str
    rerank: Callable[[str, Sequence[Passage]], Sequence[Reranked]]
    arerank: Callable[[str, Sequence[Passage]], Awaitable[Sequence[Reranked]]]


Rows = Sequence[Sequence[Candidate]]


def rerank_by_scores(
    rerank: Callable[[str, list[str]], Sequence[float]],
    arerank: Callable[[str, list[str]], Awaitable[Sequence[float]]] | None,
    questions: Sequence[str],
    rows: Rows,
    *,
    keeps_on_failure: bool,
) -> StrategyFlow[Rows]:
    """The results of each question with the function's scores, best first."""
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
    """A result with a new score, and a trace that names both places (given from 0)."""
    note = f"Rerank: rank {old + 1} with score {found.score:.3f} became rank {new + 1} with score {score:.3f}{remark}"
    return replace(found, score=score, trace=found.trace + Trace(notes=(note,)))


def as_they_are(
    row: Sequence[Candidate], error: Exception, name: str, question: str, *, keeps_on_failure: bool
) -> list[Candidate]:
    """The results as they were found, with a note on the failed reordering."""
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
    """A function's scores, which may be an array."""
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


def rerank_by_host(
    reranker: HostReranker, questions: Sequence[str], rows: Rows, *, keeps_on_failure: bool
) -> StrategyFlow[Rows]:
    """The results of each question that a reranker keeps, in its order."""
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
