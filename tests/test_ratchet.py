"""The ratchet: it fails at a worse number, and at a number without a limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.ratchet import GROUPS, LIMITS, Group, judge, loosened, measured_values, read_limits, tightened

ROOT = Path(__file__).parents[1]

AT_MOST = Group(list, share=0.2, decimals=2)
AT_LEAST = Group(list, least=0.02, decimals=3)


@pytest.mark.parametrize(
    ("group", "value", "verdict"),
    [
        (Group(list), 101, "worse"),
        (Group(list), 100, ""),
        (Group(list), 99, "better"),
        (AT_MOST, 121, "worse"),
        (AT_MOST, 119, ""),
        (AT_MOST, 84, ""),
        (AT_MOST, 83, "better"),
        (AT_LEAST, 99.97, "worse"),
        (AT_LEAST, 99.99, ""),
        (AT_LEAST, 100, ""),
        (AT_LEAST, 100.1, "better"),
    ],
)
def test_a_number_is_worse_or_better_than_its_limit_by_more_than_the_margin(
    group: Group, value: float, verdict: str
) -> None:
    assert [each[1] for each in judge(group, {"it": [value]}, {"it": [100]})] == [verdict]


def test_one_worse_number_of_several_is_enough() -> None:
    assert [each[1] for each in judge(Group(list), {"walk": [9, 11, 9]}, {"walk": [10, 10, 10]})] == ["worse"]


def test_a_number_without_a_limit_and_a_limit_without_a_number_fail() -> None:
    assert {each[:2] for each in judge(Group(list), {"new": [1]}, {"old": [1]})} == {("new", "worse"), ("old", "worse")}


def test_a_worse_value_is_measured_again_and_the_best_one_counts() -> None:
    rounds = [[("add", [150.0]), ("ask", [90.0])], [("add", [110.0]), ("ask", [95.0])], [("add", [1.0])]]
    group = Group(lambda: iter(rounds.pop(0)), share=0.2, tries=3)
    assert measured_values(group, {"add": [100], "ask": [100]}) == {"add": [110], "ask": [90]}
    assert len(rounds) == 1


def test_loosened_limits_are_named() -> None:
    before = {"size": {"lines": [10.0], "files": [3.0]}, "quality": {"squad": [0.5, 0.9]}}
    assert loosened(before, before) == []
    assert loosened(before, {"size": {"lines": [9.0], "files": [3.0]}, "quality": {"squad": [0.6, 0.9]}}) == []
    assert loosened(before, {"size": {"lines": [11.0]}, "quality": {"squad": [0.5, 0.8]}}) == ["lines", "files", "squad"]


def test_tightening_changes_one_line_of_the_file() -> None:
    text = LIMITS.read_text(encoding="utf-8")
    new = tightened(text, "walks", "add", [1, 2, 3])
    assert read_limits(new)["walks"]["add"] == [1, 2, 3]
    assert len([pair for pair in zip(text.splitlines(), new.splitlines(), strict=True) if pair[0] != pair[1]]) == 1


def test_each_group_has_limits() -> None:
    limits = read_limits(LIMITS.read_text(encoding="utf-8"))
    assert limits.keys() == GROUPS.keys()
    assert all(values for table in limits.values() for values in table.values())


def test_make_check_runs_the_ratchet() -> None:
    assert re.search(r"^check:.*\bratchet\b", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
