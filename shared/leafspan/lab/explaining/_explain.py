"""Explains one retrieval: what was returned and why, and why a certain piece of a document was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Unpack

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.filters import valid_documents
from leafspan.flows import Flow, arun_within, run_within
from leafspan.lab.explaining._explanation import Explanation, Obstacle, Standing, TimedRequest
from leafspan.lab.explaining._letting_in import Held, LettingIn, limits_of_call
from leafspan.lab.explaining._sentences import (
    explained,
    name_of_piece,
    no_option,
    obstacle_of,
    several_places,
    without_leaves,
)
from leafspan.lab.explaining._target import (
    Piece,
    Target,
    find_target,
    inside,
    notes_of,
    searches_leaves,
    standing_in_results,
    standings_in_searches,
)
from leafspan.retrieval import (
    Answered,
    Answers,
    CallOptions,
    IndexAnswers,
    Limits,
    Result,
    Sources,
    check_timeout,
    run_strategy,
    takes_call_options,
    without_damaged,
)
from leafspan.store import Reader, ReadHistory, Row, Scope, read_consistently
from leafspan.strategies import (
    MOST_CANDIDATES,
    LexicalMatches,
    RetrievalContext,
    RunStrategies,
    Strategy,
    StrategyLike,
    StrategyRun,
    to_queries,
)
from leafspan.values import Passage, Query
from leafspan.view import View

_DEPTH = 1_000  # candidates of the inner strategies, unless the search had to look further

Numbers = Sequence[float]


@takes_call_options
def explain(
    view: View,
    query: str | Query | Numbers | None,
    strategy: StrategyLike | None = None,
    *,
    document_id: str | None = None,
    start: int | None = None,
    end: int | None = None,
    text: str | None = None,
    **options: Unpack[CallOptions],
) -> Explanation:
    """Explain why ``view.retrieve`` returns its passages, and why it does not return a certain piece of a document.

    A first retrieval shows whether the piece is returned, and its rank in each search. If it is not returned, more
    retrievals find the limits that keep it out, and the smallest ``k`` and budget and the largest ``min_score`` that let it
    in. They do not embed again, and do not repeat requests to language models or host retrievers. But they call a reranker
    again for each list of results.

    Args:
        view: An index or a view of one.
        query: A text, a vector, or a ``Query`` of both. None for a strategy that needs no query.
        strategy: See ``retrieve``.
        document_id: Id of the document that has the piece. Default: None, which explains only what is returned.
        start: The piece's first character, >= 0. Default: the document's start.
        end: The character after the piece's last one, > ``start``. Default: the document's end. leafspan extends the piece
            to whole leaves. It is returned if one of these leaves is returned.
        text: The piece's words, instead of its characters. White space does not matter. If the words have several places,
            the first one is explained, and the explanation names the others. Default: None.
        options: Options of ``retrieve``: ``k``, ``candidates``, ``budget``, ``where``, ``min_score``, ``per_document``,
            ``as_of`` and ``timeout``.

    Returns:
        The returned passages with their traces, the strategy's requests and their times. For a piece, also the passages
        that contain it. If it is not returned, the obstacles that keep it out, with the values that would let it in.
        ``print`` shows the explanation as sentences.

    Raises:
        DocumentNotFound: if the index has no document with that id, or the view does not show it.
        InvalidArgument: if the view is private, an option is out of its range, the text is not in the document, or there
            are several queries.
        RetrievalTimeout: if it takes longer than ``timeout``.
    """
    check_timeout(options.get("timeout"))
    piece = Piece.of(document_id, start, end, text)
    return run_within(_explained(view, query, strategy, piece, options), options.get("timeout"))


@takes_call_options
async def aexplain(
    view: View,
    query: str | Query | Numbers | None,
    strategy: StrategyLike | None = None,
    *,
    document_id: str | None = None,
    start: int | None = None,
    end: int | None = None,
    text: str | None = None,
    **options: Unpack[CallOptions],
) -> Explanation:
    """Like ``explain``, without blocking the event loop."""
    check_timeout(options.get("timeout"))
    piece = Piece.of(document_id, start, end, text)
    return await arun_within(_explained(view, query, strategy, piece, options), options.get("timeout"))


def _explained(
    view: View, query: Any, strategy: StrategyLike | None, piece: Piece | None, options: CallOptions
) -> Flow[Explanation]:
    chosen, limits = view._strategy_of(strategy), view._limits(options)
    if view.is_private:
        raise InvalidArgument(
            "a private view cannot explain, since an explanation quotes what it hides: passage.trace says why a passage "
            "was returned, and readers who may see everything can ask the index itself"
        )
    return (yield from _of_one_state(view._sources, query, chosen, limits, piece, view._scope))


def _of_one_state(
    sources: Sources, queries: Any, strategy: Strategy, limits: Limits, piece: Piece | None, scope: Scope | None
) -> Flow[Explanation]:
    """Make the explanation from one state of the index."""
    (query,) = to_queries([queries], needed=strategy.needs_query)
    history = ReadHistory()

    def attempt(reader: Reader) -> Flow[Explanation]:
        index = IndexAnswers(sources, reader, history, (yield from sources.embedder.identity()), scope)
        answers = Answers(sources.embedder, index, record=[])
        explaining = _Explaining(index, answers, reader, query, strategy, limits)
        return (yield from explaining.explain(piece))

    return (yield from read_consistently(sources.store, attempt, scope))


class _Explaining:
    """Makes one explanation, from what one reader may see."""

    def __init__(
        self, index: IndexAnswers, answers: Answers, reader: Reader, query: Query, strategy: Strategy, limits: Limits
    ) -> None:
        self._index = index
        self._answers = answers
        self._reader = reader
        self._query = query
        self._strategy = strategy
        self._limits = limits
        self._done = 0
        self._seconds = 0.0

    def explain(self, piece: Piece | None) -> Flow[Explanation]:
        """The explanation."""
        target = None if piece is None else (yield from find_target(self._reader, piece))
        result = yield from self._retrieve(self._limits)
        left_out = self._reader.warn_of_left_out(), self._index.warn_of_left_out()
        (passages,) = without_damaged([list(map(_without_origin, result.passages))], *left_out)
        explanation = Explanation(
            question=self._query.text,
            strategy=shown(self._strategy),
            passages=tuple(passages),
            found=len(result.candidates),
            requests=tuple(map(_timed, self._answers.record or [])),
            seconds=self._seconds,
            notes=notes_of(self._answers.record or []),
        )
        if piece is None or target is None:
            return explanation
        explanation = replace(explanation, document_id=piece.document_id, start=piece.start, end=piece.end)
        if isinstance(target, Row):
            obstacles = [without_leaves(target)]
            lines = explained(f"document {shown(piece.document_id)}", [], {}, obstacles, [], None, [])
            return replace(explanation, obstacles=tuple(obstacles), piece_lines=tuple(lines))
        explanation = replace(explanation, start=target.start, end=target.end, elsewhere=target.elsewhere)
        return (yield from self._of_target(explanation, target))

    def _of_target(self, explanation: Explanation, target: Target) -> Flow[Explanation]:
        passages = explanation.passages
        holding = tuple(each for each in passages if target.is_in_passage(each))
        obstacles: list[Obstacle] = []
        held: Held | None = None
        if holding:
            standings = standings_in_searches(self._answers.record or [], target)
        else:
            obstacles, held, standings = yield from self._obstacles(target)
        places = {each.id: place for place, each in enumerate(passages, start=1)}
        covering = [each.id for each in passages if target.is_covered_by(each)]
        lines = explained(name_of_piece(target), holding, places, obstacles, standings, held, covering)
        return replace(
            explanation,
            holding=holding,
            obstacles=tuple(obstacles),
            standings=tuple(standings),
            passage=None if held is None else _without_origin(held.passage),
            retrievals=self._done,
            piece_lines=(*several_places(target), *lines),
        )

    def _obstacles(self, target: Target) -> Flow[tuple[list[Obstacle], Held | None, list[Standing]]]:
        """The limits that keep the piece out, the passage that holds it without them, and its ranks in the searches."""
        letting_in = LettingIn(self._retrieve, self._limits, target)
        for far in (False, True):
            possible = limits_of_call(self._limits, self._strategy, target.row, far=far)
            values = yield from letting_in.values(possible)
            if values is not None:
                break
        standings = standings_in_searches(self._answers.record or [], target)
        searches = searches_leaves(self._answers.record or [])
        standings += yield from self._standings_inside(target, MOST_CANDIDATES if far else _DEPTH)
        self._answers.record = None  # the answers of many retrievals would slow down Python's garbage collector
        held = letting_in.held
        if values is not None:
            obstacles = [obstacle_of(limit, value, target.row, held) for limit, value in values.items()]
            return sorted(obstacles, key=_order), held, standings
        kept_out = [obstacle_of(each, None, target.row, None) for each in possible if each.loosest is None]
        kept_out.append(no_option(self._strategy, target.row, standings, searches=searches, results=letting_in.most))
        return kept_out, None, standings

    def _standings_inside(self, target: Target, depth: int) -> Flow[list[Standing]]:
        """The piece's rank in each inner strategy of the one that was asked, with ``candidates`` candidates."""
        parts = [(place, each) for place, each in inside(self._strategy) if place]
        if not parts:
            return []
        where = valid_documents(self._limits.where, self._limits.as_of)
        if where is not None and not where.matches(target.row.metadata, target.row.document_id):
            where = None
        context = RetrievalContext(depth, where, exactly=True)
        runs = tuple(StrategyRun(each, [self._query], context) for _, each in parts)
        answers = yield from self._answers.answer(RunStrategies(runs))
        return [
            standing_in_results(place, each, rows[0], target)
            for (place, each), rows in zip(parts, answers, strict=True)
            if not isinstance(rows, Exception)  # a strategy that needs more than a question, and that was not asked either
        ]

    def _retrieve(self, limits: Limits) -> Flow[Result]:
        began = perf_counter()
        (result,) = yield from run_strategy(self._index, self._answers, self._reader, self._strategy, [self._query], limits)
        self._seconds = perf_counter() - began
        self._done += 1
        return result


def _without_origin(passage: Passage) -> Passage:
    """The passage without the host's object, which may be impossible to pickle."""
    return passage if passage.origin is None else replace(passage, origin=None)


def _order(obstacle: Obstacle) -> int:
    """Sort obstacles in the order in which a retrieval meets them."""
    return ("filter", "candidates", "min_score", "per_document", "k", "budget").index(obstacle.kind)


def _timed(answered: Answered) -> TimedRequest:
    return TimedRequest(type(answered.request).__name__, _results(answered.answer), answered.seconds)


def _results(answer: Any) -> int | None:
    """How many results an answer has."""
    if isinstance(answer, list) and answer and all(isinstance(each, list) for each in answer):
        return sum(map(len, answer))
    if isinstance(answer, list) and answer and all(isinstance(each, LexicalMatches) for each in answer):
        return sum(len(each.hits) for each in answer)
    return len(answer) if isinstance(answer, Sequence | dict) and not isinstance(answer, str) else None
