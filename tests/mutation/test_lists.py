"""Each entry in the lists of ``make mutants`` matches the present code."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "shared" / "leafspan"


def changes(name: str) -> list[dict[str, str]]:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))["change"]


@cache
def source(module: str) -> str:
    return (PACKAGE / module).read_text(encoding="utf-8")


def test_what_a_change_by_hand_replaces_is_in_its_module_once():
    assert [each for each in changes("by_hand.toml") if source(each["module"]).count(each["before"]) != 1] == []


def test_what_an_equivalent_change_replaces_is_in_its_module():
    def shown(module: str) -> str:  # several lines are shown as one
        return " ".join(line.strip() for line in source(module).splitlines())

    assert [each for each in changes("equivalent.toml") if each["before"] not in shown(each["module"])] == []
