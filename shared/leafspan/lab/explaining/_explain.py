"""Explaining one retrieval: what was returned and why, and why a certain piece of a document was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.flows import Flow
from leafspan.lab.explaining._explanation import Explanation, Obstacle, Standing, TimedRequest
from leafspan.lab.explaining._options import Setting, options_of_call, options_of_strategy
from leafspan.lab.explaining._places import inside
from leafspan.lab.explaining._retrievals import Counterfactuals, Retrievals
from leafspan.lab.explaining._sentences import (
    explained,
    name_of_piece,
    no_option,
    obstacle_of,
    several_places,
    without_leaves,
)
from leafspan.lab.explaining._standings import ranks_beside, searches_leaves, standing_in_results, standings_in_searches
from leafspan.lab.explaining._target import Piece, Target, find_target
from leafspan.retrieval import (
    Answered,
    Answers,
    IndexAnswers,
    Limits,
    Sources,
    checked_queries,
    without_damaged,
)
from leafspan.store import Met, Reader, Row, Scope, read_consistently
from leafspan.strategies import (
    MOST_CANDIDATES,
    LexicalMatches,
    RetrievalContext,
    RunStrategies,
    Strategy,
    StrategyRun,
)
from leafspan.values import Passage, Query

_REACHES = {
    1: 1_000,
    8: 4_000,
    None: MOST_CANDIDATES,
}  # how far is looked, and the candidates of the strategies inside then
_LIKELY = 3  # ranks to try as the number that an option needs


def explain(
    sources: Sources, asked: Any, strategy: Strategy, limits: Limits, piece: Piece | None, scope: Scope | None = None
) -> Flow[Explanation]:
    """Why a retrieval returns what it does, and why it does not return a piece of a document.

    Args:
        sources: The open index.
        asked: A query in any of its forms.
        strategy: What finds.
        limits: How much to look at and to return.
        piece: The piece. None to explain only what is returned.
        scope: The view that is asked, None for the whole index.

    Raises:
        InvalidArgument: if ``asked`` is no single query, ``strategy`` no strategy, or the piece is not in the document.
        DocumentNotFound: if the view has no such document.
        ConcurrentUpdate: if what was read was replaced at every one of ten attempts.
    """
    queries, single = yield from checked_queries(sources, asked, strategy)
    if not single:
        raise InvalidArgument(f"one query can be explained at a time, got {shown(asked)}")
    met = Met()

    def attempt(reader: Reader) -> Flow[Explanation]:
        index = IndexAnswers(sources, reader, met, scope)
        answers = Answers(sources.embedder, index, record=[])
        explaining = _Explaining(sources, index, answers, reader, queries[0], Setting(limits, strategy), scope)
        try:
            return (yield from explaining.explain(piece))
        finally:
            index.leave()

    return (yield from read_consistently(sources.store, attempt, scope))


class _Explaining:
    """One explanation, of what one reader sees."""

    def __init__(
        self,
        sources: Sources,
        index: IndexAnswers,
        answers: Answers,
        reader: Reader,
        query: Query,
        setting: Setting,
        scope: Scope | None,
    ) -> None:
        self._index = index
        self._answers = answers
        self._reader = reader
        self._query = query
        self._setting = setting
        self._retrievals = Retrievals(sources, answers, reader, query, setting, scope)

    def explain(self, piece: Piece | None) -> Flow[Explanation]:
        """The explanation."""
        target = None if piece is None else (yield from find_target(self._reader, piece))
        result = yield from self._retrievals.retrieve(self._setting)
        left_out = self._reader.warn_of_left_out(), self._index.warn_of_left_out()
        (passages,) = without_damaged([list(map(_without_origin, result.passages))], *left_out)
        explanation = Explanation(
            question=self._query.text,
            strategy=shown(self._setting.strategy),
            passages=tuple(passages),
            found=len(result.found),
            requests=tuple(map(_timed, self._answers.record or [])),
            seconds=self._retrievals.seconds,
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
        passage: tuple[Passage, int] | None = None
        if holding:
            standings = standings_in_searches(self._answers.record or [], target)
        else:
            obstacles, passage, standings = yield from self._obstacles(target)
        places = {each.id: place for place, each in enumerate(passages, start=1)}
        covering = [each.id for each in passages if target.is_covered_by(each)]
        lines = explained(name_of_piece(target), holding, places, obstacles, standings, passage, covering)
        return replace(
            explanation,
            holding=holding,
            obstacles=tuple(obstacles),
            standings=tuple(standings),
            passage=None if passage is None else _without_origin(passage[0]),
            retrievals=self._retrievals.done,
            piece_lines=(*several_places(target), *lines),
        )

    def _obstacles(self, target: Target) -> Flow[tuple[list[Obstacle], tuple[Passage, int] | None, list[Standing]]]:
        """What keeps the piece out, the passage that holds it without that, and where it stands."""
        of_strategy = list(options_of_strategy(self._setting.strategy, target.row))
        tried = Counterfactuals(self._retrievals, target)
        filters = [each for each in of_strategy if each.kind == "filter"]
        for reach in _REACHES:
            of_call = options_of_call(self._setting, target.row, reach)
            options = yield from tried.loosened(of_call, of_strategy if reach is None else filters)
            if options is not None:
                break
        standings = standings_in_searches(self._answers.record or [], target)
        searches = searches_leaves(self._answers.record or [])
        of_parts, beside = yield from self._standings_inside(target, _REACHES[reach])
        standings += of_parts
        self._answers.record = None  # answers of many retrievals would keep Python's garbage collector busy
        if options is None:
            filters += [each for each in of_call if each.kind == "filter"]
            kept_out = [obstacle_of(each, each.loosest, target.row, None, None) for each in filters]
            return (
                [*kept_out, no_option(self._setting.strategy, standings, searches=searches, results=tried.most)],
                None,
                standings,
            )
        ranks = sorted({each.rank for each in standings if each.rank is not None})[:_LIKELY]
        scores = [each.score for each in standings if each.score is not None]
        values = yield from tried.least(options, [*sorted({*ranks, *beside}), *scores])
        assert tried.last is not None
        found, place = passage = tried.last.passage, tried.last.place
        obstacles = [obstacle_of(each, value, target.row, place, found.score) for each, value in values.items()]
        return sorted(obstacles, key=_order), passage, standings

    def _standings_inside(self, target: Target, depth: int) -> Flow[tuple[list[Standing], list[int]]]:
        """Where the piece stands in each strategy inside of the one that was asked, among so many candidates.

        And at which ranks the leaves beside it stand there, whose windows may hold it.
        """
        strategy = self._setting.strategy
        parts = [(place, each) for place, each in inside(strategy) if place]
        if not parts:
            return [], []
        where = self._setting.limits.where
        if where is not None and not where.matches(target.row.metadata, target.row.document_id):
            where = None
        context = RetrievalContext(depth, where, exactly=True)
        runs = tuple(StrategyRun(each, [self._query], context) for _, each in parts)
        answers = yield from self._answers.answer(RunStrategies(runs))
        found = [
            (place, each, rows[0])
            for (place, each), rows in zip(parts, answers, strict=True)
            if not isinstance(rows, Exception)  # one that needs more than a question, and that was not asked either
        ]
        ranks = (rank for _, _, row in found for rank in ranks_beside(row, target))
        return [standing_in_results(*each, target) for each in found], list(dict.fromkeys(ranks))


def _without_origin(passage: Passage) -> Passage:
    """The passage without the host's object, which need not be one that can be pickled."""
    return passage if passage.origin is None else replace(passage, origin=None)


def _order(obstacle: Obstacle) -> int:
    """Obstacles come in the order in which a retrieval meets them."""
    return ("damage", "filter", "option", "candidates", "min_score", "k", "budget", "strategy").index(obstacle.kind)


def _timed(answered: Answered) -> TimedRequest:
    return TimedRequest(type(answered.request).__name__, _results(answered.answer), answered.seconds)


def _results(answer: Any) -> int | None:
    """How many results an answer has."""
    if isinstance(answer, list) and answer and all(isinstance(each, list) for each in answer):
        return sum(map(len, answer))
    if isinstance(answer, list) and answer and all(isinstance(each, LexicalMatches) for each in answer):
        return sum(len(each.hits) for each in answer)
    return len(answer) if isinstance(answer, Sequence | dict) and not isinstance(answer, str) else None
