"""The options of a call and of its strategy that can keep a piece of a document out of the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from leafspan.explaining._places import Place, changed, in_words, inside
from leafspan.filters import Where
from leafspan.retrieval import Limits
from leafspan.store import Row
from leafspan.strategies import LOWEST_SCORE, MOST_CANDIDATES, Strategy, at_least

_MOST_WORDS = 100_000_000
_NEAR_PASSAGES, _NEAR_CANDIDATES, _NEAR_WORDS, _TIMES = 100, 400, 3_000, 4


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


def options_of_call(setting: Setting, row: Row, *, far: bool) -> list[Option]:
    """The options of the call, in the order in which a retrieval meets them; the filter only if it does not match.

    Args:
        setting: What the retrieval is done with.
        row: What the index knows of the document.
        far: Whether numbers are as loose as they can be, or only several times as loose as they are. Most of what is asked
            about is near, and looking at 10,000 candidates takes long.
    """
    limits = setting.limits
    context = limits.context(at_least(setting.strategy, limits.min_score), None)
    found = []
    if limits.where is not None and not limits.where.matches(row.metadata, row.document_id):
        found.append(Option("filter", "where", limits.where, limits.where, None))
    if context.candidates < MOST_CANDIDATES:
        most = MOST_CANDIDATES if far else min(MOST_CANDIDATES, max(_NEAR_CANDIDATES, _TIMES * context.candidates))
        found.append(Option("candidates", "candidates", limits.candidates, context.candidates, most))
    if limits.min_score is not None:
        found.append(Option("min_score", "min_score", limits.min_score, limits.min_score, LOWEST_SCORE))
    if context.k is not None and context.k < MOST_CANDIDATES:
        most = MOST_CANDIDATES if far else min(MOST_CANDIDATES, max(_NEAR_PASSAGES, _TIMES * context.k))
        found.append(Option("k", "k", limits.k, context.k, most))
    if limits.budget is not None and limits.budget.limit < _MOST_WORDS:
        most = _MOST_WORDS if far else min(_MOST_WORDS, max(_NEAR_WORDS, _TIMES * limits.budget.limit))
        found.append(Option("budget", "budget", limits.budget, limits.budget.limit, most))
    return found


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
