"""Chooses the lowest score that a question must reach, so that a promised share of the answerable questions is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, inf
from pathlib import Path
from typing import Any, Literal

from leafspan.checks import check_number
from leafspan.configuration import Config
from leafspan.errors import InvalidArgument
from leafspan.flows import Progress
from leafspan.lab.evaluation._evaluate import judged_in
from leafspan.lab.evaluation._questions import Question, placed_questions
from leafspan.lab.evaluation._tuning import config_in
from leafspan.retrieval import Passages
from leafspan.strategies import LOWEST_SCORE, Hybrid, Strategy, StrategyLike
from leafspan.values import Passage
from leafspan.view import View

Option = Literal["min_answer_probability", "min_score"]

_AT_ONCE = 32  # questions in one retrieval
_LIMITS = ("k", "candidates", "budget", "min_score", "per_document", "as_of")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold that keeps a promised share of the answerable questions, and how it was chosen.

    Attributes:
        option: The option that takes it: ``"min_answer_probability"`` of ``Hybrid``, or ``"min_score"``.
        value: The threshold. A question whose score is equal to it is kept.
        keep: The promised share.
        answerable: Number of answerable questions that it was chosen on.
        unanswerable: Number of the other questions.
        refused: Share of the other questions for which it leaves no passage, or None if there are no others.
        config: The strategy and its limits, with the threshold.
    """

    option: Option
    value: float
    keep: float
    answerable: int
    unanswerable: int
    refused: float | None
    config: Config = field(repr=False)


def choose_threshold(
    index: View,
    questions: str | Path | Iterable[Question | Mapping[str, Any]],
    strategy: StrategyLike | Config | None = None,
    *,
    keep: float = 0.9,
    where: object = None,
    progress: bool | None = None,
) -> Threshold:
    """The highest threshold that keeps a promised share of the questions that the documents answer.

    A question is kept if the strategy returns a passage. A question without answers and relevant documents counts as
    unanswerable: the threshold is not chosen by it, but its effect is measured on it. If the strategy is a ``Hybrid`` whose
    scores are probabilities, or is over one, the threshold is for ``min_answer_probability``. Otherwise it is for
    ``min_score``, and a question has the score of its best passage.

    The promise is about the mean: if many samples of questions each chose a threshold, at least the share ``keep`` of other
    questions of the same kind would be kept. One sample may keep less. The scores may mean anything.

    Args:
        index: The index or view.
        questions: The path of a JSON Lines file, or questions, as for ``evaluate``. They must be of the same kind as the
            questions to come: a threshold from ``make_questions`` is too high for users' questions.
        strategy: The strategy. A ``Config`` also gives its limits. Default: the strategy and limits of the index.
        keep: The promised share, in (0, 1). There must be at least ``keep / (1 - keep)`` answerable questions: 9 for 0.9,
            19 for 0.95, 99 for 0.99. Default: 0.9.
        where: Filter on the documents, for all questions. Default: all documents.
        progress: Whether to show a bar. Default: only in a terminal or a notebook.

    Raises:
        InvalidArgument: if an option is out of its range, there are too few answerable questions, the strategy finds
            nothing for too many of them even without a threshold, or an answer is not in the index.

    Source: split conformal prediction (Vovk et al., 2005; Lei et al., 2018), with the score of an answerable question.
    """
    check_number("keep", keep, above=0, below=1)
    judged = judged_in(index, placed_questions(questions))
    others = judged.without_answer
    answerable = [each for each in judged.questions if not each.has_no_answer]
    _check_enough(len(answerable), keep)
    own = config_in(index, strategy)
    config, option = _without_threshold(own)
    bar = Progress(len(judged.questions), show=progress, what="choosing a threshold", unit=" questions")
    try:
        rows = (row for texts in _in_parts(answerable, bar) for row in _ask(index, texts, config, where))
        scores = [max((_score(each, option) for each in row), default=-inf) for row in rows]
        value = conformal_threshold(scores, keep)
        if value == -inf:
            raise InvalidArgument(
                f"keep must be a share of questions for which the strategy finds a passage, got {keep} where it finds none "
                f"for {scores.count(-inf)} of {len(scores)}: lower keep, or look at these questions"
            )
        own = _with_threshold(own, option, value)
        refused = sum(not row for texts in _in_parts(others, bar) for row in _ask(index, texts, own, where))
    finally:
        bar.close()
    share = refused / len(others) if others else None
    return Threshold(option, value, keep, len(answerable), len(others), share, own)


def conformal_threshold(scores: Sequence[float], keep: float) -> float:
    """The highest of the scores that a further score reaches with a probability of at least ``keep``.

    Of n scores, it is the r-th smallest for r = floor((1 - keep) * (n + 1)). The further score is below it only if it is
    among the r lowest of all n + 1, which has a probability of at most r / (n + 1). Ties only make it reach more often.
    """
    rank = floor((1 - Fraction(str(keep))) * (len(scores) + 1))
    return sorted(scores)[rank - 1]


def _check_enough(count: int, keep: float) -> None:
    """Check that there are enough answerable questions for the promise."""
    if count == 0:
        raise InvalidArgument("some questions must have answers or relevant documents, got none: give answerable ones, too")
    left = 1 - Fraction(str(keep))
    needed = ceil(1 / left) - 1
    if count < needed:
        most = floor(Fraction(1000 * count, count + 1)) / 1000
        raise InvalidArgument(
            f"keep={keep} needs at least {needed} questions with answers, got {count}: give more, or lower keep to "
            f"at most {most}"
        )


def _in_parts(questions: Sequence[Question], bar: Progress) -> Iterator[list[str]]:
    """The texts of some questions at a time."""
    for start in range(0, len(questions), _AT_ONCE):
        texts = [each.text for each in questions[start : start + _AT_ONCE]]
        yield texts
        bar.advance(len(texts))


def _without_threshold(config: Config) -> tuple[Config, Option]:
    """The configuration without the threshold that is to choose, and the option for the threshold."""
    strategy = _with_answer_probability(config.defaults().strategy, None)
    if strategy is not None:
        return replace(config, strategy=strategy), "min_answer_probability"
    limited = config.k is not None or config.budget is not None
    # The lowest score replaces a min_score of the index. Without another limit, it would return all passages.
    return replace(config, min_score=LOWEST_SCORE, k=config.k if limited else 1), "min_score"


def _with_threshold(config: Config, option: Option, value: float) -> Config:
    """The configuration with a threshold."""
    if option == "min_score":
        return replace(config, min_score=value)
    return replace(config, strategy=_with_answer_probability(config.defaults().strategy, value))


def _with_answer_probability(strategy: Any, least: float | None) -> Any:
    """The strategy with this ``min_answer_probability`` of its ``Hybrid``, or None if no ``Hybrid`` takes it."""
    if isinstance(strategy, Hybrid):
        return replace(strategy, min_answer_probability=least)
    base = getattr(strategy, "base", None)
    changed = _with_answer_probability(base, least) if isinstance(base, Strategy) else None
    return None if changed is None else replace(strategy, base=changed)


def _score(passage: Passage, option: Option) -> float:
    """The highest threshold that keeps the passage."""
    if option == "min_score":
        return passage.score
    return max((each.answer_probability for each in passage.trace.calibrated), default=0.0)


def _ask(index: View, texts: list[str], config: Config, where: object) -> list[Passages]:
    limits: dict[str, Any] = {name: getattr(config, name) for name in _LIMITS}
    return index.retrieve_many(texts, config.defaults().strategy, where=where, **limits)
