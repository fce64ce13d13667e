"""The value of an option that is nearest to what it is, and that lets something in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from leafspan.flows import Flow

Works = Callable[[Any], Flow[bool]]
"""Whether a value lets it in."""

_UNLIMITED = 10_000_000  # as good as no limit
_HALVINGS = 14
_DIGITS = (1, 2, 3, 4)  # significant ones
_EXACT = 200  # whole numbers up to which the nearest one is found
_SHARE = 25  # of a larger one, by a part of which it may be beyond
_NEAR = 0.001  # share of a number by which rounding may change it


def least_change(now: Any, loosest: Any, works: Works, guesses: Iterable[float] = ()) -> Flow[Any]:
    """The value nearest to the present one that works, found by trying; the loosest one if there is no number to try.

    A value that is returned has been tried. It is the nearest one if all values beyond it work, too.

    Args:
        now: The present value, which does not work.
        loosest: A value that works.
        works: Flow that tries a value.
        guesses: Numbers that are likely, and are tried first. Default: none.
    """
    if isinstance(loosest, tuple) and isinstance(now, tuple):

        def lifted(least: int) -> tuple[int, ...]:
            return tuple(max(each, least) for each in now)

        return lifted((yield from _whole(min(now), max(loosest), lambda each: works(lifted(each)), guesses)))
    if isinstance(now, bool) or isinstance(loosest, bool):
        return loosest
    if isinstance(loosest, float) or (loosest is None and isinstance(now, float)):
        return (yield from _number(now, loosest, works, guesses))
    if isinstance(loosest, int):
        return (yield from _whole(now or 0, loosest, works, guesses))
    if isinstance(now, int) and (yield from works(_UNLIMITED)):
        return (yield from _whole(now, _UNLIMITED, works, guesses))
    return loosest


def _whole(bad: int, good: int, works: Works, guesses: Iterable[float]) -> Flow[int]:
    """The whole number nearest to one that does not work, on the way to one that does."""
    back = -1 if good > bad else 1
    step = 0  # back from one that works, if a guess has led to it
    for guess in guesses:
        if guess == int(guess) and min(bad, good) < guess < max(bad, good):
            if not (yield from works(int(guess))):
                bad = int(guess)
                continue
            good = int(guess)
            step = _slack(good)
            if abs(good - bad) <= step or not (yield from works(good + back * step)):
                return good
            good += back * step
    while step and abs(good - bad) > 2 * step:  # in steps that double, since a guess that works is mostly near
        step *= 2
        if not (yield from works(good + back * step)):
            bad = good + back * step
            break
        good += back * step
    while abs(good - bad) > _slack(good):
        step = max(8, abs(bad))  # first in steps that double, since most are near
        way = good - bad
        middle = bad + (way // 2 if abs(way) <= 2 * step else math.copysign(step, way))
        if (yield from works(int(middle))):
            good = int(middle)
        else:
            bad = int(middle)
    return good


def _slack(good: int) -> int:
    """How far one may be from the nearest one, at least 1: looking far takes long, and nobody counts that far."""
    return abs(good) // _SHARE if abs(good) > _EXACT else 1


def _number(now: float | None, loosest: float | None, works: Works, guesses: Iterable[float]) -> Flow[float | None]:
    """A number that works, near to one that does not."""
    good = loosest
    for guess in (*guesses, 0.0, -1.0):
        if now is not None and guess < now and (yield from works(guess)):
            good = guess
            break
    if good is None or now is None or abs(good) > _UNLIMITED:
        return good
    bad: float = now
    if good not in guesses:
        for _ in range(_HALVINGS):
            middle = (good + bad) / 2
            if (yield from works(middle)):
                good = middle
            else:
                bad = middle
    return (yield from _rounded(good, bad, works))


def _rounded(good: float, bad: float, works: Works) -> Flow[float]:
    """The same number with fewer digits, where that works as well."""
    rounds = math.floor if good < bad else math.ceil
    for significant in _DIGITS if good else ():
        digits = significant - 1 - math.floor(math.log10(abs(good)))
        number: float = round(rounds(good * 10.0**digits) / 10.0**digits, digits)
        if abs(number - good) <= _NEAR * abs(good) and (yield from works(number)):
            return number
    return good
