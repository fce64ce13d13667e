"""Each entry in the lists of ``make mutants`` stands in the code as it is now."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "shared" / "leafspan"


def changes(name: str) -> list:
    tables = tomllib.loads((HERE / name).read_text(encoding="utf-8"))["change"]
    return [pytest.param(each, id=f"{each['module']} {each.get('name', each['before'])}") for each in tables]


@pytest.mark.parametrize("change", changes("by_hand.toml"))
def test_what_a_change_by_hand_replaces_is_in_its_module_once(change):
    assert (PACKAGE / change["module"]).read_text(encoding="utf-8").count(change["before"]) == 1


@pytest.mark.parametrize("change", changes("equivalent.toml"))
def test_what_an_equivalent_change_replaces_is_in_its_module(change):
    lines = (PACKAGE / change["module"]).read_text(encoding="utf-8").splitlines()
    assert change["before"] in " ".join(line.strip() for line in lines)  # several lines are shown as one
