"""Looking for the value that is just enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.flows import Flow, run
from leafspan.lab.explaining._least_change import least_change
from tests.profiles import examples


def found(now: Any, loosest: Any, enough: Callable[[Any], bool], guesses: tuple[float, ...] = ()) -> tuple[Any, list[Any]]:
    """What is found, and what was tried for it."""
    tried: list[Any] = []

    def works(value: Any) -> Flow[bool]:
        tried.append(value)
        return enough(value)
        yield

    return run(least_change(now, loosest, works, guesses)), tried


@examples(300)
@given(
    st.integers(0, 200), st.integers(0, 10_000), st.lists(st.floats(-1, 20_000).map(lambda guess: guess // 1), max_size=3)
)
def test_the_least_whole_number_is_found_whatever_is_guessed(now: int, more: int, guesses: list[float]):
    least = min(now + 1 + more, 10_000)
    number, tried = found(now, 10_000, lambda value: value >= least, tuple(guesses))
    assert least <= number <= (least if least <= 200 else least * 1.05)
    assert number == 10_000 or number in tried


def test_far_numbers_take_few_trials():
    number, tried = found(1, 10_000, lambda value: value >= 2_345, (2_400,))
    assert (number, tried) == (2_400, [2_400, 2_304])
    number, tried = found(1, 10_000, lambda value: value >= 2_345)
    assert (2_345 <= number <= 2_462, len(tried) <= 16) == (True, True)


def test_a_good_guess_takes_two_trials():
    assert found(5, 10_000, lambda value: value >= 37, (37,)) == (37, [37, 36])


def test_near_numbers_take_few_trials():
    number, tried = found(5, 10_000, lambda value: value >= 9)
    assert (number, len(tried) <= 5) == (9, True)


def test_a_smaller_number_is_looked_for_downwards():
    assert found(40, 0, lambda value: value <= 13)[0] == 13


def test_several_numbers_are_lifted_together():
    assert found((100, 50), (10_000, 10_000), lambda both: both[1] >= 70)[0] == (100, 70)


def test_what_has_no_highest_value_is_looked_for_above():
    assert found(300, None, lambda value: value >= 431)[0] == 431
    assert found(300, None, lambda _value: False)[0] is None  # only no limit at all is enough


def test_a_score_that_is_known_is_rounded_so_that_it_is_enough():
    number, _ = found(0.9, -1e308, lambda value: value <= 0.123456789, (0.123456789,))
    assert number == pytest.approx(0.123456789, rel=0.001)
    assert number <= 0.123456789


def test_other_numbers_are_halved():
    number, _ = found(0.5, 0.0, lambda value: value < 0.3)
    assert 0.299 < number < 0.3


@pytest.mark.parametrize("loosest", [True, False])
def test_a_switch_is_switched(loosest: bool):
    assert found(not loosest, loosest, lambda value: value is loosest) == (loosest, [])
