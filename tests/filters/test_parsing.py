"""Filters from their text."""

from __future__ import annotations

import pytest
from hypothesis import given

from leafspan import F, InvalidArgument
from leafspan.filters._builder import filter_from_text
from tests.filters.test_filters import FILTERS
from tests.profiles import examples


@examples(300)
@given(FILTERS)
def test_the_text_of_a_filter_is_that_filter(filter):
    again = filter_from_text(repr(filter))
    assert again == filter
    assert repr(again) == repr(filter)


def test_texts_are_read_as_python_reads_them():
    text = "(F('year') >= 2020) & ~F(\"tags\").contains_any(['draft', 'old']) | (F('a') == -1.5)"
    assert filter_from_text(text) == (F("year") >= 2020) & ~F("tags").contains_any(["draft", "old"]) | (F("a") == -1.5)
    assert filter_from_text(" F('t').text_match('Bee', ignore_case=True)\n") == F("t").text_match("Bee", ignore_case=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "F('a')",
        "1",
        "F('a') == b",
        "F('a') == __import__('os').getcwd()",
        "F('a').__class__",
        "F('a').__init__('b')",
        "F('a').in_(open('x'))",
        "F(F) == 1",
        "F('a') == 1 and F('b') == 2",
        "1 < F('a') < 3",
        "F('a') & F('b')",
        "F('a').contains(*['x'])",
        "F('a').text_match(**{'part': 'x'})",
        "F('a').exists(**{'part': 'x'})",
        "(F('a') == 1).exists()",
        "F('a') == 1; import os",
        "(lambda: 1)()",
        "[F('a') == 1]",
        "F('a').contains('x', 'y')",
        "\ud800",
        "F('a') == 1 & 2",
        "~" * 50_000 + "F('a').exists()",
        "(" * 5_000 + ")" * 5_000,
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidArgument, match=r"given as a text|a filter's"):
        filter_from_text(text)


def test_a_misspelt_method_is_named():
    with pytest.raises(InvalidArgument, match=r"got \.contain\(\) in .*did you mean 'contains'"):
        filter_from_text("F('a').contain('x')")


def test_a_value_that_no_document_can_have_is_named():
    with pytest.raises(InvalidArgument, match=r"F\('a'\): a value must be a str, int, float, bool or date"):
        filter_from_text("F('a') == {'b': 1}")
