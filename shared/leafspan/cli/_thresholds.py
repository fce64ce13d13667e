"""Decides which passages are worth printing."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.retrieval import DEFAULT_K, Passages
from leafspan.strategies import Hybrid, Strategy
from leafspan.view import View


def worth_printing(found: Passages, min_score: float | None) -> Passages:
    """The passages that reach the lowest score; without a score, the passages that are worth showing."""
    return found.worth_showing() if min_score is None else found.of(each for each in found if each.score >= min_score)


def k_of_query(k: int | None, budget: int | None, min_score: float | None, strategy: Strategy, view: View) -> int | None:
    """Return the ``k`` with which ``query`` retrieves: as many passages with a lowest score as without one.

    ``Index.retrieve`` returns all passages that reach a score. These may be thousands, too many to print.

    Args:
        k: The command's value, or None if it was not given.
        budget: The command's value, or None if it was not given.
        min_score: The command's value, or None if it was not given.
        strategy: The strategy.
        view: The index.
    """
    if k is not None or budget is not None or min_score is None or strategy.returns_all:
        return k
    configured = view.default_limits
    return DEFAULT_K if configured.k is None and configured.budget is None else None


def in_place_of_configured(view: View, min_score: float | None) -> float | None:
    """Return the lowest score to retrieve with: the given one if it replaces one in the configuration, or else none.

    Otherwise all passages are retrieved, so that the command can say how many it left out.
    """
    return None if view.default_limits.min_score is None else min_score


def with_answer_probability(strategy: Strategy, least: float, name: str) -> Strategy:
    """Return a strategy that finds no passage if an answer is less probable than this.

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
