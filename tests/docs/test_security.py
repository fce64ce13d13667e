"""Each test and each page that SECURITY.md names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_it_names_tests_for_each_part():
    assert len(NAMED) >= 20


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda part: part.rpartition("/")[2])
def test_each_test_is_there(path: str, name: str):
    names = {
        node.name
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert name in names


@pytest.mark.parametrize("link", re.findall(r"\]\(([\w/.-]+)\)", PAGE))
def test_each_page_is_there(link: str):
    assert (ROOT / link).exists()


def test_the_readme_links_it():
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text()
