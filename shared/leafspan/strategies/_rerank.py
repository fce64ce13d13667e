"""Rerank: another strategy's results by a function's scores, by a host's reranker, or so that the first ones differ."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Literal, NamedTuple

from leafspan.checks import (
    check_choice,
    check_functions,
    check_number,
    function_failed,
    keep_whole,
    refuse_coroutine,
    shown,
    unusable,
)
from leafspan.errors import InvalidArgument, UnusableResult
from leafspan.flows import np
from leafspan.strategies._hybrid import Hybrid
from leafspan.strategies._over_base import OverBase
from leafspan.strategies._queries import query_texts, query_vectors
from leafspan.strategies._requests import (
    CallFunction,
    Embed,
    LoadPassages,
    LoadTexts,
    LoadVectors,
    RetrievalContext,
    StrategyFlow,
)
from leafspan.strategies._strategy import Strategy, check_strategy
from leafspan.strategies.scoring import min_max, scores_in_order
from leafspan.trace import Trace
from leafspan.values import Candidate, LeafId, Passage, Query


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


def call_for_each(
    function: Callable[..., Any],
    native: Callable[..., Awaitable[Any]] | None,
    questions: Sequence[str],
    rows: Rows,
    inputs: Sequence[object],
) -> StrategyFlow[dict[int, Any]]:
    """A function's answer or Exception for each question that has results, by its number; in an event loop all at once."""

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

    numbers = [number for number, row in enumerate(rows) if row]
    keys = [(questions[number], tuple(candidate.span.id for candidate in rows[number])) for number in numbers]
    requests = tuple(
        CallFunction(call, (questions[number], inputs[number]), native=acall if native else None, key=(id(function), key))
        for number, key in zip(numbers, keys, strict=True)
    )
    answers: list[Any] = (yield requests) if requests else []
    for answer in answers:
        if isinstance(answer, InvalidArgument):
            raise answer
    return dict(zip(numbers, answers, strict=True))


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
    ids = (id_ for row in rows for candidate in row if candidate.outside is None for id_ in candidate.span.leaf_ids)
    loaded: dict[LeafId, str] = yield LoadTexts(tuple(dict.fromkeys(ids)))
    texts = [[_text(candidate, loaded) for candidate in row] for row in rows]
    answers = yield from call_for_each(rerank, arerank, questions, rows, texts)
    reordered = []
    for number, row in enumerate(rows):
        answer = answers.get(number, ())
        if isinstance(answer, Exception):
            reordered.append(as_they_are(row, answer, "rerank", questions[number], keeps_on_failure=keeps_on_failure))
        else:
            scores = _numbers(answer, len(row))
            both = [replace(candidate, score=score) for candidate, score in zip(row, scores, strict=True)]
            places = sorted(range(len(row)), key=lambda place: both[place].order)
            reordered.append([moved(row[old], scores[old], old, new) for new, old in enumerate(places)])
    return reordered


def moved(candidate: Candidate, score: float, old: int, new: int, remark: str = "") -> Candidate:
    """A result with a new score, and a trace that names both places (given from 0)."""
    note = f"Rerank: rank {old + 1} with score {candidate.score:.3f} became rank {new + 1} with score {score:.3f}{remark}"
    return replace(candidate, score=score, trace=candidate.trace + Trace(notes=(note,)))


def as_they_are(
    row: Sequence[Candidate], error: Exception, name: str, question: str, *, keeps_on_failure: bool
) -> list[Candidate]:
    """The results as they were found, with a note on the failed reordering."""
    if not keeps_on_failure:
        failed = function_failed("the reranker", name, question, error)
        failed.add_note(f"{name} of Rerank failed; with on_failure='keep' the results stay in the order of the base")
        raise failed
    note = f"Rerank: not reordered, since {name} failed: {type(error).__name__}: {error}"
    return [replace(candidate, trace=candidate.trace + Trace(notes=(note,))) for candidate in row]


def _text(candidate: Candidate, loaded: dict[LeafId, str]) -> str:
    if candidate.outside is not None:
        return candidate.outside.text
    return "".join(loaded[id_] for id_ in candidate.span.leaf_ids)


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
    if not any(rows):
        return rows
    passages: list[Passage] = yield LoadPassages([candidate for row in rows for candidate in row])
    rest = iter(passages)
    passages_of = [[next(rest) for _ in row] for row in rows]
    answers = yield from call_for_each(reranker.rerank, reranker.arerank, questions, rows, passages_of)
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


class Chosen(NamedTuple):
    """A result in its new place."""

    place: int  # its place in the given results, from 0
    score: float  # its marginal relevance. No score is higher than the one before it
    similarity: float  # its cosine similarity to the most similar result before it. 0 for the first result


def maximal_marginal_relevance(
    relevance: Sequence[float], vectors: Any, *, diversity: float, count: int | None = None
) -> list[Chosen]:
    """The results reordered: each is the result with the highest marginal relevance, given the results before it.

    The marginal relevance of a result is (1 - ``diversity``) * its relevance - ``diversity`` * its cosine similarity to the
    most similar result before it. For the first result this similarity is 0. Ties keep the given order. A vector of zeros
    is similar to no other, with a cosine of 0.
    """
    if not len(relevance):
        return []
    matrix = _units(vectors, len(vectors[0]))
    relevant = np.asarray(relevance, dtype=np.float64) * (1 - diversity)
    closest = np.zeros(len(matrix))
    left = np.ones(len(matrix), dtype=bool)
    chosen: list[Chosen] = []
    for _ in range(len(matrix) if count is None else min(count, len(matrix))):
        values = np.where(left, relevant - diversity * closest, -np.inf)
        place = int(np.argmax(values))  # the first of equals
        # With negative cosines, the second result can have a higher value than the first.
        score = min(float(values[place]), chosen[-1].score) if chosen else float(values[place])
        chosen.append(Chosen(place, score, float(closest[place])))
        left[place] = False
        # No matrix product, whose rounding depends on the row: equal vectors must tie.
        cosines = (matrix * matrix[place]).sum(axis=1)
        closest = cosines if len(chosen) == 1 else np.maximum(closest, cosines)
    return chosen


def diversify(
    queries: Sequence[Query], instruction: str, rows: Rows, diversity: float, *, by_score: bool, count: int | None
) -> StrategyFlow[Rows]:
    """The results of each query by maximal marginal relevance: see ``maximal_marginal_relevance``."""
    if not any(rows):
        return rows
    of_queries = [None] * len(rows) if by_score else (yield from query_vectors(queries, instruction))
    vectors = yield from _vectors([candidate for row in rows for candidate in row])
    calls = []
    start = 0
    for row, of_query in zip(rows, of_queries, strict=True):
        own = vectors[start : start + len(row)]
        start += len(row)
        if of_query is not None and len(of_query) != own.shape[1]:
            raise InvalidArgument(f"a query's vector must have {own.shape[1]} dimensions, got {len(of_query)}")
        calls.append(CallFunction(_choose, ([candidate.score for candidate in row], of_query, own, diversity, count)))
    # Off the event loop, since the work grows with the square of the number of results.
    choices: list[list[Chosen]] = yield tuple(calls)
    return [
        [moved(row[each.place], each.score, each.place, new, _remark(each, new)) for new, each in enumerate(chosen)]
        for row, chosen in zip(rows, choices, strict=True)
    ]


def _remark(chosen: Chosen, new: int) -> str:
    return f", with a similarity of {chosen.similarity:.3f} to one before it" if new else ""


def _choose(scores: Sequence[float], of_query: Any, vectors: Any, diversity: float, count: int | None) -> list[Chosen]:
    if of_query is None:
        relevance: Any = min_max(scores)
    else:
        # No matrix product, whose rounding depends on the row: equal vectors must tie.
        relevance = (vectors * _units(of_query, len(of_query))).sum(axis=1)
    return maximal_marginal_relevance(relevance, vectors, diversity=diversity, count=count)


def _vectors(results: Sequence[Candidate]) -> StrategyFlow[Any]:
    """A vector of length 1, as a row, for each result.

    A span's vector is the mean of its leaves' vectors. A result of another source has the vector of its text. A blank text
    has a vector of zeros, which is similar to no other.
    """
    ids = tuple(dict.fromkeys(id_ for candidate in results if candidate.outside is None for id_ in candidate.span.leaf_ids))
    texts = tuple(dict.fromkeys(each.outside.text for each in results if each.outside and each.outside.text.strip()))
    loaded: Sequence[Any] = (yield LoadVectors(ids)) if ids else ()
    embedded: Sequence[Any] = (yield Embed(texts)) if texts else ()
    length = len(loaded[0]) if ids else len(embedded[0]) if texts else 1
    rows = np.concatenate([_units(vectors, length) for vectors in (loaded, embedded, np.zeros((1, length)))])
    of_leaf = {id_: number for number, id_ in enumerate(ids)}
    of_text = {text: number for number, text in enumerate(texts, start=len(ids))}

    def places(candidate: Candidate) -> list[int]:
        if candidate.outside is not None:
            return [of_text.get(candidate.outside.text, len(rows) - 1)]
        return [of_leaf[id_] for id_ in candidate.span.leaf_ids]

    return _units([rows[places(candidate)].mean(axis=0) for candidate in results], length)


def _units(vectors: Any, length: int) -> Any:
    """The vectors as rows of length 1; a vector of zeros stays zeros."""
    matrix = np.asarray(vectors, dtype=np.float64).reshape(-1, length)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
