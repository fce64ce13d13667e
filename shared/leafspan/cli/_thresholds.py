"""Which passages are worth printing: what a question needs to count as answered."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from leafspan.agents import is_worth_showing
from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.strategies import Hybrid, Strategy
from leafspan.values import Passage


def is_worth_printing(passage: Passage, min_score: float | None) -> bool:
    """Whether a passage has the score that is asked for; if none is, whether it is no probability of nearly 0.

    Args:
        passage: The passage.
        min_score: Lowest score. None for the default.
    """
    if min_score is not None:
        return passage.score >= min_score
    return is_worth_showing(passage)


def with_answer_probability(strategy: Strategy, least: float, name: str) -> Strategy:
    """The strategy, so that it finds nothing where an answer is less probable.

    Args:
        strategy: A strategy.
        least: Lowest probability, in [0, 1], that the index has an answer.
        name: Name of the strategy, for the error.

    Raises:
        InvalidArgument: if it does not compute that probability, or the number is out of its range.
    """
    if isinstance(strategy, Hybrid):
        return replace(strategy, min_answer_probability=least)
    based: Any = strategy
    if any(field.name == "base" for field in fields(based)) and isinstance(based.base, Hybrid):
        return replace(based, base=replace(based.base, min_answer_probability=least))  # type: ignore[no-any-return]
    raise InvalidArgument(f"min_answer_probability needs a strategy over hybrid, got {shown(name)}")
