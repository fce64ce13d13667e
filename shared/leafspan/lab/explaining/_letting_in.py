"""Finds the limits that keep a piece out, and the value of each that lets the piece in, by retrieving again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any

from leafspan.filters import valid_documents
from leafspan.flows import Flow
from leafspan.lab.explaining._target import Target
from leafspan.retrieval import Limits, Result
from leafspan.store import Row
from leafspan.strategies import LOWEST_SCORE, MOST_CANDIDATES, Strategy, at_least
from leafspan.values import Passage

_MOST_WORDS = 100_000_000
_NEAR_PASSAGES, _NEAR_CANDIDATES, _NEAR_WORDS = 100, 400, 3_000  # looking further takes long and is rarely needed
_TIMES = 4  # times the user's value is near, too
_DIGITS = 4  # significant digits of a score
_ORDER = ("candidates", "min_score", "per_document", "budget", "k", "as_of", "where")  # limits are tightened in this order

Retrieve = Callable[[Limits], Flow[Result]]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the call: the user's value, its number, and the loosest value."""

    name: str
    value: Any
    now: Any
    loosest: Any

    def put(self, limits: Limits, value: Any) -> Limits:
        """The call's limits with another value of this limit."""
        if self.name == "budget" and limits.budget is not None:
            value = replace(limits.budget, limit=value)
        return replace(limits, **{self.name: value})


@dataclass(frozen=True, slots=True)
class Held:
    """The first passage that holds the piece, its rank from 1, and the length of all passages up to it."""

    passage: Passage
    place: int
    length: int


def limits_of_call(limits: Limits, strategy: Strategy, row: Row, *, far: bool) -> list[Limit]:
    """The limits that may keep a document's leaves out, each with a value that is near or as loose as possible."""
    context = limits.context(at_least(strategy, limits.min_score), None)
    possible = []
    for name, filter in (("where", limits.where), ("as_of", valid_documents(None, limits.as_of))):
        if filter is not None and not filter.matches(row.metadata, row.document_id):
            possible.append(Limit(name, getattr(limits, name), filter, None))

    def number(name: str, value: Any, now: int, near: int, most: int) -> None:
        if now < most:
            possible.append(Limit(name, value, now, most if far else min(most, max(near, _TIMES * now))))

    number("candidates", limits.candidates, context.candidates, _NEAR_CANDIDATES, MOST_CANDIDATES)
    if limits.min_score is not None:
        possible.append(Limit("min_score", limits.min_score, limits.min_score, LOWEST_SCORE))
    if limits.per_document is not None:
        number("per_document", limits.per_document, limits.per_document, _NEAR_PASSAGES, MOST_CANDIDATES)
    if context.k is not None:
        number("k", limits.k, context.k, _NEAR_PASSAGES, MOST_CANDIDATES)
    if limits.budget is not None:
        number("budget", limits.budget.limit, limits.budget.limit, _NEAR_WORDS, _MOST_WORDS)
    return possible


class LettingIn:
    """Retrieves with other limits until the piece is returned."""

    def __init__(self, retrieve: Retrieve, limits: Limits, target: Target) -> None:
        self._retrieve = retrieve
        self._limits = limits
        self._target = target
        self._tried: dict[str, Held | None] = {}
        self.held: Held | None = None
        self.most = 0  # passages of the largest retrieval

    def values(self, possible: Sequence[Limit]) -> Flow[dict[Limit, Any] | None]:
        """The limits that keep the piece out, each with the value nearest to the user's that lets the piece in.

        If any of these limits keeps the user's value, the piece is not returned. None if the loosest values do not.
        """
        without = [each for each in possible if each.name != "candidates"]  # a larger k also raises candidates
        for some in (without, possible):
            if (yield from self._lets_in({each: each.loosest for each in some})):
                break
        else:
            return None
        values = yield from self._needed({each: each.loosest for each in some})
        for limit in values:
            if limit.loosest is not None:  # not a filter
                values[limit] = yield from self._nearest(limit, values)
        values = yield from self._needed(values)
        yield from self._lets_in(values)
        return values

    def _lets_in(self, values: Mapping[Limit, Any]) -> Flow[bool]:
        """Whether these values let the piece in. If so, ``held`` has its passage."""
        limits = self._limits
        for limit, value in values.items():
            limits = limit.put(limits, value)
        key = repr([(limit.name, value) for limit, value in values.items()])
        if key not in self._tried:
            self._tried[key] = self._held((yield from self._retrieve(limits)).passages)
        self.held = self._tried[key] or self.held
        return self._tried[key] is not None

    def _held(self, passages: Sequence[Passage]) -> Held | None:
        self.most = max(self.most, len(passages))
        for place, each in enumerate(passages, start=1):
            if self._target.is_in_passage(each):
                budget = self._limits.budget
                length = 0 if budget is None else sum(budget.length(passage.text) for passage in passages[:place])
                return Held(each, place, length)
        return None

    def _needed(self, values: Mapping[Limit, Any]) -> Flow[dict[Limit, Any]]:
        """The values that the piece needs to be returned."""
        left = dict(values)
        for limit in sorted(values, key=lambda each: _ORDER.index(each.name)):
            others = {each: value for each, value in left.items() if each is not limit}
            if (yield from self._lets_in(others)):
                left = others
        return left

    def _nearest(self, limit: Limit, values: Mapping[Limit, Any]) -> Flow[Any]:
        """The value of a limit nearest to the user's that lets the piece in while the other limits have these values."""
        yield from self._lets_in(values)
        held = self.held
        assert held is not None

        def works(value: Any) -> Flow[bool]:
            return self._lets_in({**values, limit: value})

        if limit.name != "min_score":
            place = {"k": held.place, "budget": held.length}.get(limit.name, 0)
            return (yield from _smallest(limit.now, limit.loosest, works, place))
        score = held.passage.score
        for guess in (_rounded_down(score), score):
            if guess < limit.now and (yield from works(guess)):
                return guess
        return limit.loosest


def _smallest(bad: int, good: int, works: Callable[[int], Flow[bool]], guess: int) -> Flow[int]:
    """The smallest number that works, above one that does not. Tries near a guess, then doubles the steps, then halves."""
    for number in (guess, guess - 1):
        if bad < number < good:
            if (yield from works(number)):
                good = number
            else:
                bad = number
    while good - bad > 1:
        middle = min((bad + good) // 2, 2 * bad + 8)
        if (yield from works(middle)):
            good = middle
        else:
            bad = middle
    return good


def _rounded_down(score: float) -> float:
    """The score, rounded down to fewer digits."""
    if not score:
        return score
    digits = _DIGITS - 1 - floor(log10(abs(score)))
    return float(round(floor(score * 10.0**digits) / 10.0**digits, digits))
