"""Retrieving again and again in what one reader sees, each time with other options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from leafspan.errors import InvalidArgument
from leafspan.flows import Flow
from leafspan.lab.explaining._least_change import least_change
from leafspan.lab.explaining._options import Option, Setting
from leafspan.lab.explaining._target import Target
from leafspan.retrieval import Answers, Result, Sources, look_at
from leafspan.store import Reader, Scope
from leafspan.values import Passage, Query


class Retrievals:
    """Retrievals of one query. Nothing is embedded twice, and neither a model nor a host is asked the same again.

    Args:
        sources: The open index.
        answers: What answers.
        reader: What is visible of the index.
        query: The query.
        setting: What the user retrieves with.
        scope: The view that is asked, None for the whole index.
    """

    def __init__(
        self,
        sources: Sources,
        answers: Answers,
        reader: Reader,
        query: Query,
        setting: Setting,
        scope: Scope | None,
    ) -> None:
        self._sources = sources
        self._answers = answers
        self._reader = reader
        self._query = query
        self._setting = setting
        self._scope = scope
        self.done = 0
        self.seconds = 0.0

    def setting(self, values: Mapping[Option, Any]) -> Setting:
        """What the user retrieves with, but for these options.

        Raises:
            InvalidArgument: if one of the values is out of its range.
        """
        setting = self._setting
        for option, value in values.items():
            setting = option.put(setting, value)
        return setting

    def retrieve(self, setting: Setting) -> Flow[Result]:
        """What is retrieved with this."""
        began = perf_counter()
        (result,) = yield from look_at(
            self._sources,
            self._answers,
            self._reader,
            setting.strategy,
            [self._query],
            setting.limits,
            self._scope,
        )
        self.seconds = perf_counter() - began
        self.done += 1
        return result


@dataclass(frozen=True, slots=True)
class Held:
    """Where a piece is among what is returned.

    Attributes:
        passage: The first passage that holds it.
        place: Its place, from 1.
        length: Length of all passages up to this one, as the budget counts. 0 without a budget.
    """

    passage: Passage
    place: int
    length: int


class Counterfactuals:
    """What would have to be otherwise for a piece of a document to be returned.

    Args:
        retrievals: What retrieves.
        target: The piece, which is not returned as it is.
    """

    def __init__(self, retrievals: Retrievals, target: Target) -> None:
        self._retrievals = retrievals
        self._target = target
        self._tried: dict[tuple[tuple[Option, str], ...], Held | None] = {}
        self.last: Held | None = None
        self.most = 0  # passages of a retrieval

    def lets_in(self, values: Mapping[Option, Any]) -> Flow[bool]:
        """Whether the piece is returned with these options. If so, ``last`` says where."""
        key = tuple((option, repr(value)) for option, value in values.items())
        if key not in self._tried:
            self._tried[key] = yield from self._held(values)
        self.last = self._tried[key] or self.last
        return self._tried[key] is not None

    def _held(self, values: Mapping[Option, Any]) -> Flow[Held | None]:
        try:
            setting = self._retrievals.setting(values)
        except InvalidArgument:  # such as a number beyond the range of an option
            return None
        passages = (yield from self._retrievals.retrieve(setting)).passages
        self.most = max(self.most, len(passages))
        for place, each in enumerate(passages, start=1):
            if self._target.is_in_passage(each):
                budget = setting.limits.budget
                length = 0 if budget is None else sum(budget.length(passage.text) for passage in passages[:place])
                return Held(each, place, length)
        return None

    def loosened(self, of_call: list[Option], of_strategy: list[Option]) -> Flow[list[Option] | None]:
        """Options that must be loosened for the piece to be returned: those of the call if they are enough.

        Of the strategy's options, one alone comes before all together, and one that needs fewer others comes before one
        that needs more. None if no options are enough.
        """
        filters = [option for option in of_strategy if option.kind == "filter"]
        others = [option for option in of_strategy if option.kind != "filter"]
        limits = [*filters, *of_call]
        without_candidates = [option for option in limits if option.kind != "candidates"]  # which k often brings along
        for options in (without_candidates, limits):
            if (yield from self._lets_in_loosest(options)):
                return (yield from self._needed(options))
        ways = []
        for option in others:
            if (yield from self._lets_in_loosest([*limits, option])):
                ways.append((yield from self._needed([*limits, option])))
        if not ways and len(others) > 1 and (yield from self._lets_in_loosest([*limits, *others])):
            ways.append((yield from self._needed([*limits, *others])))
        return min(ways, key=len, default=None)

    def _lets_in_loosest(self, options: Iterable[Option]) -> Flow[bool]:
        return self.lets_in({option: option.loosest for option in options})

    def _needed(self, options: Iterable[Option]) -> Flow[list[Option]]:
        """Those of the options that must be loosened: with all others as they were, the piece is returned."""
        left = list(options)
        order = ("option", "candidates", "min_score", "budget", "k", "filter")
        for option in sorted(left, key=lambda each: order.index(each.kind)):
            without = [each for each in left if each is not option]
            if (yield from self._lets_in_loosest(without)):
                left = without
        return left

    def least(self, options: Iterable[Option], guesses: Iterable[float]) -> Flow[dict[Option, Any]]:
        """The options with the values nearest to what they were at which the piece is returned.

        Options that turn out not to be needed at these values are left out.

        Args:
            options: Options that let the piece in at their loosest values.
            guesses: Numbers that may be the ones, such as ranks.
        """
        values = {option: option.loosest for option in options}
        numbers = list(guesses)
        for option in list(values):
            if option.kind != "filter":
                yield from self.lets_in(values)

                def works(value: Any, option: Option = option) -> Flow[bool]:
                    return self.lets_in({**values, option: value})

                own = [*self._own_guess(option), *numbers]
                values[option] = yield from least_change(option.now, option.loosest, works, own)
        for option in list(values):
            others = {each: value for each, value in values.items() if each is not option}
            if len(values) > 1 and (yield from self.lets_in(others)):
                values = others
        yield from self.lets_in(values)
        return values

    def _own_guess(self, option: Option) -> list[float]:
        """What the last result that held the piece says of an option."""
        assert self.last is not None
        if option.kind == "k":
            return [self.last.place]
        return [self.last.length] if option.kind == "budget" else [self.last.passage.score]
