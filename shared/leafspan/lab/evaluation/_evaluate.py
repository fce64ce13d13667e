"""Asks questions with several strategies, and measures the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leafspan.checks import check_whole, shown
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.flows import Call, Flow, Progress, run
from leafspan.lab.evaluation._evaluation import Evaluation
from leafspan.lab.evaluation._measuring import Judged, evaluation_of, measure
from leafspan.lab.evaluation._questions import Question, placed_questions
from leafspan.strategies import Strategy, StrategyLike, name_strategies, to_strategy
from leafspan.values import Passage
from leafspan.view import View

BUDGETS = (150, 300, 600, 1_200)


def evaluate(
    index: View,
    questions: str | Path | Iterable[Question | Mapping[str, Any]],
    strategies: Mapping[str, StrategyLike | Config] | Sequence[StrategyLike | Config] | Strategy | Config | str,
    *,
    budgets: Sequence[int] = BUDGETS,
    where: object = None,
    progress: bool | None = None,
) -> Evaluation:
    """Measure how well strategies answer questions over an index or view.

    If a question has ``answers``, each strategy retrieves passages for each budget of words. Recall is 1 if the passages
    contain one answer in full (or all answers, if all are needed). Precision is the share of the passages' characters that
    are part of an answer. Iou (intersection over union) is the number of characters that are in passages and in an answer,
    divided by the number that are in either. If a question has ``relevant`` documents, each document has the rank of its
    best passage, and the measures are nDCG@10, recall at 10 (R@10) and the reciprocal rank (RR). If a question has no
    answer, abstention is 1 if the strategy returns nothing. It needs a ``min_score``, or ``Hybrid``'s
    ``min_answer_probability``.

    Args:
        index: The index or view.
        questions: The path of a file in JSON Lines, or questions. See ``read_questions``.
        strategies: A mapping from names of your own to strategies, a list of strategies, or one strategy. In a list, each
            strategy gets its name in configurations, and a second strategy with this name becomes ``"hybrid 2"``. A name
            such as ``"hybrid"`` means the strategy with its defaults. A ``Config`` means its strategy with its
            ``candidates`` and ``min_score``. Its ``k`` and ``budget`` are ignored, since all strategies retrieve the same
            amount.
        budgets: Numbers of words, each >= 1. Default: 150, 300, 600 and 1,200.
        where: Filter on the documents, for all questions. Default: all documents.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if an option is out of its range, or an answer or a relevant document is not in the index. The
            message names these questions.
        MissingExtra: if questions have relevant documents, but ir-measures is not installed.

    Source of the measures of spans: Smith and Troynikov, Evaluating Chunking Strategies for Retrieval, 2024.
    """
    placed = placed_questions(questions)
    named = _named(strategies)
    words = checked_budgets(budgets)
    return evaluation_by(index, judged_in(index, placed), named, words, where, progress, title="evaluating")


def judged_in(index: View, placed: Mapping[str, Question]) -> Judged:
    """Questions, by their places in a file or list, with their answers in the documents."""
    ids = [each.id for each in index.documents()]
    texts = {id_: index.get(id_).text for id_ in ids} if any(each.answers for each in placed.values()) else {}
    return Judged.of(placed, ids, texts)


def evaluation_by(
    index: View,
    judged: Judged,
    named: Mapping[str, Config],
    budgets: tuple[int, ...],
    where: object,
    progress: bool | None,
    *,
    title: str,
) -> Evaluation:
    """Evaluate strategies, by their names, on these questions."""
    bar = Progress(len(named) * judged.steps(budgets), show=progress, what=title, unit=" questions")

    def ask(texts: list[str], strategy: Strategy, **limits: Any) -> Flow[list[list[Passage]]]:
        return (yield Call(index.retrieve_many, (texts, strategy), limits))  # type: ignore[no-any-return]

    try:
        scores = {name: run(measure(ask, judged, config, budgets, where, bar)) for name, config in named.items()}
    finally:
        bar.close()
    return evaluation_of(judged, budgets, scores)


def _named(strategies: object) -> dict[str, Config]:
    """Name each strategy. In a list, a strategy gets its own name, with a number if the name is taken."""
    if isinstance(strategies, str | Strategy | Config):
        strategies = [strategies]
    if not isinstance(strategies, Mapping | Sequence) or not strategies:
        raise InvalidArgument(
            f"strategies must be strategies by their names in the result, a list of some, or one, got {shown(strategies)}"
        )
    if isinstance(strategies, Mapping):
        return {str(name): _config(each) for name, each in strategies.items()}
    chosen = [each.defaults().strategy if isinstance(each, Config) else each for each in strategies]
    return dict(zip(name_strategies("strategies", chosen), map(_config, strategies), strict=True))


def _config(strategy: object) -> Config:
    """Return the configuration, or a strategy as a configuration without other options."""
    return strategy if isinstance(strategy, Config) else Config(strategy=to_strategy("each of strategies", strategy))


def checked_budgets(budgets: object) -> tuple[int, ...]:
    """Return the numbers of words in ascending order."""
    if not isinstance(budgets, Sequence) or isinstance(budgets, str) or not budgets:
        raise InvalidArgument(f"budgets must be a list of numbers of words, got {shown(budgets)}")
    return tuple(sorted({check_whole("each of budgets", each, 1) for each in budgets}))
