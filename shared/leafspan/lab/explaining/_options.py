"""The options of a call and of its strategy that can keep a piece of a document out of the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from leafspan.filters import Where
from leafspan.lab.explaining._places import Place, changed, in_words, inside
from leafspan.retrieval import Limits
from leafspan.store import Row
from leafspan.strategies import LOWEST_SCORE, MOST_CANDIDATES, Strategy, at_least

_MOST_WORDS = 100_000_000
_PASSAGES, _CANDIDATES, _WORDS = 100, 400, 3_000  # that are near
_TIMES = 4  # as many as are given are near, too


@dataclass(frozen=True, slots=True)
class Setting:
    """What a retrieval is done with: the limits of the call, and the strategy."""

    limits: Limits
    strategy: Strategy


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """An option that can keep something out.

    Attributes:
        kind: See ``Obstacle``.
        name: See ``Obstacle``.
        given: The value that the user gave, None if none.
        now: The value that it has.
        loosest: The value at which it keeps nothing out.
        place: See ``Obstacle``.
    """

    kind: str
    name: str
    given: Any
    now: Any
    loosest: Any
    place: Place = ()

    def put(self, setting: Setting, value: Any) -> Setting:
        """The setting with another value of the option."""
        if self.place:
            return replace(setting, strategy=changed(setting.strategy, self.place, value))
        if self.kind == "budget":
            budget = setting.limits.budget
            assert budget is not None
            value = budget if value is self.given else replace(budget, limit=value)
        changes: dict[str, Any] = {self.name: value}
        return replace(setting, limits=replace(setting.limits, **changes))


def options_of_call(setting: Setting, row: Row, reach: int | None) -> list[Option]:
    """The options of the call, in the order in which a retrieval meets them; the filter only if it does not match.

    Args:
        setting: What the retrieval is done with.
        row: What the index knows of the document.
        reach: How loose the numbers are: 1 for what is near, as most of what is asked about is; a multiple of that; or None
            for as loose as they can be, since looking at 10,000 candidates takes long.
    """
    limits = setting.limits
    context = limits.context(at_least(setting.strategy, limits.min_score), None)
    found = []
    if limits.where is not None and not limits.where.matches(row.metadata, row.document_id):
        found.append(Option("filter", "where", limits.where, limits.where, None))
    if context.candidates < MOST_CANDIDATES:
        most = _within(reach, max(_CANDIDATES, _TIMES * context.candidates), MOST_CANDIDATES)
        found.append(Option("candidates", "candidates", limits.candidates, context.candidates, most))
    if limits.min_score is not None:
        found.append(Option("min_score", "min_score", limits.min_score, limits.min_score, LOWEST_SCORE))
    if context.k is not None and context.k < MOST_CANDIDATES:
        most = _within(reach, max(_PASSAGES, _TIMES * context.k), MOST_CANDIDATES)
        found.append(Option("k", "k", limits.k, context.k, most))
    if limits.budget is not None and limits.budget.limit < _MOST_WORDS:
        most = _within(reach, max(_WORDS, _TIMES * limits.budget.limit), _MOST_WORDS)
        found.append(Option("budget", "budget", limits.budget, limits.budget.limit, most))
    return found


def _within(reach: int | None, near: int, most: int) -> int:
    return most if reach is None else min(most, reach * near)


def options_of_strategy(strategy: Strategy, row: Row) -> Iterator[Option]:
    """The options of a strategy and of those inside of it; a filter only if it does not match.

    Args:
        strategy: The strategy.
        row: What the index knows of the document.
    """
    for place, each in inside(strategy):
        for name, loosest in each.loosest.items():
            now = getattr(each, name)
            there = (*place, name)
            if isinstance(loosest, Where):
                if isinstance(now, Where) and not now.matches(row.metadata, row.document_id):
                    yield Option("filter", in_words(there), now, now, loosest, there)
            elif now != loosest:
                yield Option("option", in_words(there), now, now, loosest, there)
