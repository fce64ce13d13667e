"""Asking questions by several strategies, and measuring what they find."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.checks import check_whole, shown
from leafspan.configuration import Config
from leafspan.engine import Progress
from leafspan.errors import InvalidArgument
from leafspan.evaluation._documents import MEASURES, document_scores
from leafspan.evaluation._evaluation import Evaluation
from leafspan.evaluation._finding_answers import find_all_answers
from leafspan.evaluation._questions import Answer, Question
from leafspan.evaluation._reading import placed_questions
from leafspan.evaluation._spans import first_words, span_scores
from leafspan.strategies import StrategyLike, name_strategies, to_strategy
from leafspan.values import Passage
from leafspan.view import View

BUDGETS = (150, 300, 600, 1_200)
ABSTENTION = "abstention"
"""The measure of questions that nothing answers."""

_DEPTH = 100  # passages whose documents are ranked
_AT_ONCE = 32  # questions of one retrieval


def evaluate(
    index: View,
    questions: Path | Iterable[Question | Mapping[str, Any]],
    strategies: Mapping[str, StrategyLike | Config] | Sequence[StrategyLike | Config],
    *,
    budgets: Sequence[int] = BUDGETS,
    where: object = None,
    progress: bool | None = None,
) -> Evaluation:
    """How well strategies answer questions over an index or view.

    Of a question with ``answers``, each strategy retrieves passages for each budget of words. Recall is 1 if they hold an
    answer in full (or all, if all are needed), precision the share of their characters that is part of an answer, and iou
    the intersection over the union of both. Of a question with ``relevant`` documents, these are ranked by their best
    passage, and measured by nDCG@10, recall at 10 (R@10) and the reciprocal rank (RR). Of a question that nothing answers,
    abstention is 1 if nothing is found for it: by a ``min_score``, or by a ``min_answer_probability`` of ``Hybrid``.

    Args:
        index: The index or view.
        questions: The ``pathlib.Path`` of a file in JSON Lines, or questions. See ``read_questions``.
        strategies: Strategies by their names in the result, or a list of them. A name such as ``"hybrid"`` stands for the
            strategy with its defaults. A ``Config`` stands for its strategy with its ``candidates`` and ``min_score``; how
            much is retrieved is the same for all, so its ``k`` and ``budget`` do not count.
        budgets: Numbers of words, each >= 1. Default: 150, 300, 600 and 1,200.
        where: Filter on the documents, for all questions. Default: all documents.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if something is out of its range, or an answer is in no document of the index, or a relevant
            document is not there; the message names these questions.
        MissingExtra: if documents are to be measured, and ir-measures is not installed.

    Source of the measures of spans: Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, 2024.
    """
    placed = placed_questions(questions)
    asked = list(placed.values())
    named = _named(strategies)
    words = _checked(budgets)
    ids = [each.id for each in index.documents()]
    texts = {id_: index.get(id_).text for id_ in ids} if any(each.answers for each in asked) else {}
    answers = find_all_answers(placed, frozenset(ids), texts)
    with_answers = [each for each in asked if each.answers]
    graded = [each for each in asked if each.relevant]
    without_answer = [each for each in asked if each.has_no_answer]
    steps = len(named) * (len(with_answers) * len(words) + len(graded) + len(without_answer))
    bar = Progress(steps, show=progress, what="evaluating", unit=" questions")
    scores: dict[str, dict[str, dict[str, float]]] = {}
    try:
        for name, config in named.items():
            row: dict[str, dict[str, float]] = {}
            for budget in words if with_answers else ():
                found = _ask(index, with_answers, config, bar, budget=budget, candidates=config.candidates, where=where)
                for each in with_answers:
                    read = first_words(_places(found[each.id]), texts, budget)
                    for measure, value in span_scores(answers[each.id], read, needs_all=each.needs_all)._asdict().items():
                        row.setdefault(f"{measure}@{budget}", {})[each.id] = value
            if graded:
                found = _ask(index, graded, config, bar, k=_DEPTH, candidates=_DEPTH, where=where)
                ranked = {id_: list(dict.fromkeys(each.document_id for each in row)) for id_, row in found.items()}
                row |= document_scores(ranked, {each.id: each.relevant for each in graded})
            if without_answer:
                found = _ask(
                    index, without_answer, config, bar, budget=words[-1], candidates=config.candidates, where=where
                )
                row[ABSTENTION] = {id_: float(not passages) for id_, passages in found.items()}
            scores[name] = row
    finally:
        bar.close()
    order = [f"{measure}@{budget}" for measure in ("recall", "precision", "iou") for budget in words] + [
        *MEASURES,
        ABSTENTION,
    ]
    ordered = {name: {each: row[each] for each in order if each in row} for name, row in scores.items()}
    return Evaluation({each.id: each.text for each in asked}, words, ordered)


def _ask(
    index: View, questions: Sequence[Question], config: Config, bar: Progress, **limits: Any
) -> dict[str, list[Passage]]:
    """The passages for each question, by its id."""
    found: dict[str, list[Passage]] = {}
    for start in range(0, len(questions), _AT_ONCE):
        some = questions[start : start + _AT_ONCE]
        texts = [each.text for each in some]
        rows = index.retrieve(texts, config.defaults().strategy, min_score=config.min_score, **limits)
        found.update((each.id, row) for each, row in zip(some, rows, strict=True))
        bar.advance(len(some))
    return found


def _places(passages: Sequence[Passage]) -> list[Answer]:
    """Where passages stand. What has no place in a document, such as a row of a database, answers nothing."""
    return [
        Answer(each.document_id, each.start, each.end)
        for each in passages
        if each.start is not None and each.end is not None
    ]


def _named(strategies: object) -> dict[str, Config]:
    """What takes part, by name: in a list, that of the strategy, with a number if several have it."""
    if isinstance(strategies, str) or not isinstance(strategies, Mapping | Sequence) or not strategies:
        raise InvalidArgument(f"strategies must be strategies by name, or a list of some, got {shown(strategies)}")
    if isinstance(strategies, Mapping):
        return {str(name): _config(each) for name, each in strategies.items()}
    chosen = [each.defaults().strategy if isinstance(each, Config) else each for each in strategies]
    return dict(zip(name_strategies("strategies", chosen), map(_config, strategies), strict=True))


def _config(strategy: object) -> Config:
    """A strategy as a configuration that says nothing else, or the configuration that was given."""
    return strategy if isinstance(strategy, Config) else Config(strategy=to_strategy("each of strategies", strategy))


def _checked(budgets: object) -> tuple[int, ...]:
    if not isinstance(budgets, Sequence) or isinstance(budgets, str) or not budgets:
        raise InvalidArgument(f"budgets must be a list of numbers of words, got {shown(budgets)}")
    for each in budgets:
        check_whole("each of budgets", each, 1)
    return tuple(sorted(set(budgets)))
