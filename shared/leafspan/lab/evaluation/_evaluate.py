"""Asking questions by several strategies, and measuring what they find."""

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
from leafspan.lab.evaluation._questions import Question
from leafspan.lab.evaluation._reading import placed_questions
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
    """How well strategies answer questions over an index or view.

    For a question with ``answers``, each strategy retrieves passages for each budget of words. Recall is 1 if they hold
    an answer in full (or all, if all are needed), precision the share of their characters that is part of an answer,
    and iou the intersection over the union of both. For a question with ``relevant`` documents, documents are ranked by
    their best passage, and measured by nDCG@10, recall at 10 (R@10) and the reciprocal rank (RR). For a question
    without an answer, abstention is 1 if nothing is found, as with a ``min_score``, or with ``min_answer_probability``
    of ``Hybrid``.

    Args:
        index: The index or view.
        questions: The path of a file in JSON Lines, or questions. See ``read_questions``.
        strategies: Strategies by their names in the result, a list of them, or one. In a list, each has its name in
            configurations, and a second one of a name is ``"hybrid 2"``. A name such as ``"hybrid"`` stands for the
            strategy with its defaults. A ``Config`` stands for its strategy with its ``candidates`` and ``min_score``;
            how much is retrieved is the same for all, so its ``k`` and ``budget`` are ignored.
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
    named = _named(strategies)
    words = checked_budgets(budgets)
    ids = [each.id for each in index.documents()]
    texts = {id_: index.get(id_).text for id_ in ids} if any(each.answers for each in placed.values()) else {}
    judged = Judged.of(placed, ids, texts)
    bar = Progress(len(named) * judged.steps(words), show=progress, what="evaluating", unit=" questions")

    def ask(texts: list[str], strategy: Strategy, **limits: Any) -> Flow[list[list[Passage]]]:
        return (yield Call(index.retrieve_many, (texts, strategy), limits))  # type: ignore[no-any-return]

    try:
        scores = {name: run(measure(ask, judged, config, words, where, bar)) for name, config in named.items()}
    finally:
        bar.close()
    return evaluation_of(judged, words, scores)


def _named(strategies: object) -> dict[str, Config]:
    """What takes part, by name: in a list, that of the strategy, with a number if it is not the first that has it."""
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
    """A strategy as a configuration that says nothing else, or the configuration that was given."""
    return strategy if isinstance(strategy, Config) else Config(strategy=to_strategy("each of strategies", strategy))


def checked_budgets(budgets: object) -> tuple[int, ...]:
    """Numbers of words in ascending order.

    Raises:
        InvalidArgument: if they are none.
    """
    if not isinstance(budgets, Sequence) or isinstance(budgets, str) or not budgets:
        raise InvalidArgument(f"budgets must be a list of numbers of words, got {shown(budgets)}")
    return tuple(sorted({check_whole("each of budgets", each, 1) for each in budgets}))
