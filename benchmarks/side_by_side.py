"""Times of functions that take turns within one process, so that other work on the machine slows all of them.

A comparison is the ratio of the times in one turn. The figures are the median of these ratios and the middle half: a
quarter of the turns has a lower ratio than ``low``, and a quarter a higher one than ``high``.
"""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

Given = TypeVar("Given")


class Ratio(NamedTuple):
    """The median of ratios, and their middle half."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True)
class Times:
    """The seconds of each function, turn by turn."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        """The median of its seconds."""
        return statistics.median(self.seconds[name])

    def after(self, turns: int) -> Times:
        """The times without the first turns."""
        return Times({name: each[turns:] for name, each in self.seconds.items()})

    def ratio(self, name: str, beside: str) -> Ratio:
        """Its time over another function's time."""
        return ratio(self.seconds[name], self.seconds[beside])


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratios of numbers from the same turns, if both took part."""
    ratios = [mine / yours for mine, yours in zip(ours, theirs, strict=False)]
    if len(ratios) == 1:
        return Ratio(ratios[0], ratios[0], ratios[0])
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(middle, low, high)


def seconds(work: Callable[[], Any]) -> float:
    """The seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def take_turns(
    work: Mapping[str, Callable[[Given], Any]], given: Sequence[Given], *, warm: int = 20, most: float = math.inf
) -> Times:
    """The times of functions that get the same values in turns.

    Args:
        work: The functions, by name. Each turn draws a new order, since a function leaves its own data in the processor's
            caches for the next one.
        given: A value for each turn.
        warm: Number of first values whose times are dropped. Default: 20.
        most: Seconds after which a function takes part in only two more turns. Default: any number.
    """
    names = list(work)
    times: dict[str, list[float]] = {name: [] for name in names}
    spent = dict.fromkeys(names, 0.0)
    gc.collect()
    warming = given[:warm]
    for turn, value in enumerate([*warming, *given]):
        for name in random.Random(turn).sample(names, len(names)):
            if spent[name] > most and (turn < len(warming) or len(times[name]) >= 2):
                continue
            taken = seconds(lambda name=name, value=value: work[name](value))  # type: ignore[misc]
            spent[name] += taken
            if turn >= len(warming):
                times[name].append(taken)
    return Times(times)


Seconds = Callable[[int], float]
"""Does work for the number of a question, and returns the seconds that it took."""


def clocked(work: Callable[[int], Any]) -> Seconds:
    """The same work, returning the seconds that it takes."""

    def measured(number: int) -> float:
        started = time.perf_counter()
        work(number)
        return time.perf_counter() - started

    return measured


def medians(work: Sequence[Seconds], count: int) -> list[float]:
    """The median seconds of functions that take turns, after two turns that are dropped."""
    times = [[each(number) for each in work] for number in range(-2, count)]
    return [statistics.median(column) for column in zip(*times[2:], strict=True)]
