"""Searches for better values, one number at a time. Cross-validation must confirm each change on other questions."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from leafspan.flows import Flow
from leafspan.lab.tuning._parameters import Parameter

Values = Mapping[str, Any]
"""The values of parameters by their names."""

MeasureValues = Callable[[Values], Flow[Sequence[float]]]
"""A function from the values of all parameters to the score of each question."""


def search(
    parameters: Sequence[Parameter], start: Values, measure: MeasureValues, *, folds: Sequence[int], rounds: int
) -> Flow[dict[str, Any]]:
    """Find the best values on the questions. A value changes only if that also helps on questions that did not choose it.

    The method is coordinate descent: for each parameter, it tries values in both directions from the present one, while the
    next value is better. Cross-validation decides: for each fold, the best value on the other folds is compared with the
    present value on the fold itself. The mean difference must be larger than its standard error. This is the rule of one
    standard error (Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, section 3.4.3).
    Without a clear improvement, the value stays.
    """
    chosen = dict(start)
    for _ in range(rounds):
        before = dict(chosen)
        for each in parameters:
            scores = yield from _along(each, chosen, measure)
            present = each.values.index(chosen[each.name])
            best = _best(scores, present)
            if best != present and generalises(scores, present, folds):
                chosen[each.name] = each.values[best]
        if chosen == before:
            break
    return chosen


def generalises(scores: Mapping[int, Sequence[float]], present: int, folds: Sequence[int]) -> bool:
    """Whether choosing among the values helps on questions that did not choose: see ``search``."""
    gains: list[float] = []
    for fold in sorted(set(folds)):
        others = [number for number, each in enumerate(folds) if each != fold]
        chosen = _best({value: [row[number] for number in others] for value, row in scores.items()}, present)
        held_out = [number for number, each in enumerate(folds) if each == fold]
        gains += [scores[chosen][number] - scores[present][number] for number in held_out]
    return fmean(gains) > stdev(gains) / math.sqrt(len(gains))


def folds_of(count: int, folds: int, seed: int) -> list[int]:
    """The fold of each of ``count`` questions, at random. The folds have nearly the same size."""
    drawn = [number % folds for number in range(count)]
    random.Random(seed).shuffle(drawn)
    return drawn


def _along(parameter: Parameter, chosen: Values, measure: MeasureValues) -> Flow[dict[int, Sequence[float]]]:
    """The scores of the present value and its neighbours, further in a direction as long as they get better."""
    present = parameter.values.index(chosen[parameter.name])
    scores = {present: (yield from measure(chosen))}
    for step in (1, -1):
        best, place = fmean(scores[present]), present + step
        while 0 <= place < len(parameter.values):
            scores[place] = yield from measure({**chosen, parameter.name: parameter.values[place]})
            if fmean(scores[place]) <= best:
                break
            best, place = fmean(scores[place]), place + step
    return scores


def _best(scores: Mapping[int, Sequence[float]], present: int) -> int:
    """The value with the highest mean. Of equal values the present one wins, then the nearest one."""
    return max(scores, key=lambda value: (fmean(scores[value]), -abs(value - present), -value))
