"""Turns, and ratios of what was measured in the same turn."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("scripts")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """A clock that moves only within ``passes``."""
    import side_by_side

    class Clock:
        now = 0.0

        def passes(self, seconds: float) -> None:
            self.now += seconds

    stopped = Clock()
    monkeypatch.setattr(side_by_side.time, "perf_counter", lambda: stopped.now)
    return stopped


def test_a_ratio_is_the_median_of_the_turns_with_their_middle_half():
    from side_by_side import ratio

    assert ratio([1.0, 4.0, 6.0, 8.0, 50.0], [1.0, 2.0, 2.0, 2.0, 2.0]) == (6 / 2, 4 / 2, 8 / 2)


def test_what_slows_a_turn_slows_both_and_not_their_ratio():
    from side_by_side import ratio

    assert ratio([1.0, 100.0, 3.0], [2.0, 200.0, 6.0]) == (1 / 2, 1 / 2, 1 / 2)


def test_each_follows_each_other_one_about_as_often(clock):
    from side_by_side import take_turns

    calls: list[tuple[int, str]] = []
    work = {name: lambda value, name=name: calls.append((value, name)) for name in "abc"}
    take_turns(work, range(600), warm=0)
    turns = ["".join(name for turn, name in calls if turn == number) for number in range(600)]
    assert {"".join(sorted(turn)) for turn in turns} == {"abc"}
    for pair in ("ab", "ac", "ba", "bc", "ca", "cb"):  # each in a third of the turns: in 2 of the 6 orders
        assert 150 < sum(pair in turn for turn in turns) < 250


def test_turns_to_warm_up_do_not_count(clock):
    from side_by_side import take_turns

    times = take_turns({"a": clock.passes}, [5.0, 7.0], warm=1)
    assert times.seconds == {"a": [5.0, 7.0]}
    assert clock.now == 5.0 + 5.0 + 7.0


def test_what_has_taken_too_long_goes_on_for_two_turns_and_is_compared_in_these(clock):
    from side_by_side import take_turns

    work = {"slow": lambda value: clock.passes(10 * value), "fast": clock.passes}
    times = take_turns(work, [1.0, 2.0, 3.0, 4.0], warm=1, most=5.0)
    assert times.seconds == {"slow": [10.0, 20.0], "fast": [1.0, 2.0, 3.0]}  # 1 (warming) + 1 + 2 + 3 > 5
    assert times.ratio("slow", "fast").middle == 10.0
