"""Limits on the length of results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan.agents._citations import as_many_as_fit, end_within, short_metadata, shortened, word_start
from leafspan.text import count_words, end_of_words


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [(0, 0, 0), (1, 0, 4), (2, 0, 9), (3, 0, 11), (1, 4, 9), (1, 6, 9), (9, 0, 11)],
)
def test_the_end_of_some_words(words, start, end):
    assert end_of_words("one two  si", words, start) == end


def test_each_character_of_chinese_is_a_word():
    assert end_of_words("茶是热的", 2) == 2


@given(text=st.text(alphabet="ab \n日"), words=st.integers(0, 20))
def test_what_stands_before_the_end_has_no_more_words(text, words):
    assert count_words(text[: end_of_words(text, words)]) == min(words, count_words(text))


@pytest.mark.parametrize(
    ("text", "words", "end"),
    [
        ("aa bb cc", 2, 6),
        ("aa bb cc", 9, 8),
        ("x" * 100, 2, 2 * 16),  # a word that is too long is cut
        ("aa " + "x" * 100, 2, 3),  # unless a cut before it spares it
    ],
)
def test_a_text_ends_within_its_words_of_sixteen_characters(text, words, end):
    assert end_within(text, words) == end


@pytest.mark.parametrize(("place", "start"), [(0, 0), (2, 0), (3, 3), (4, 4), (6, 4), (7, 7)])
def test_the_begin_of_a_word(place, start):
    assert word_start("one two", place) == start


def test_a_begin_that_is_far_away_is_not_looked_for():
    assert word_start("x" * 61, 60) == 0
    assert word_start("x" * 62, 61) == 61


def test_the_first_item_is_there_however_long_it_is():
    items = [{"a": "x" * 50}, {"a": "y"}, {"a": "z"}]
    assert as_many_as_fit(items, 10) == items[:1]
    assert as_many_as_fit(items, 59 + 10) == items[:2]  # {"a": "xxx..."} has 9 + 50 characters, {"a": "y"} has 9 + 1


def test_long_values_are_shortened():
    assert shortened("abcdef", 4) == "abc…"
    short = short_metadata({"a": "x" * 300, "b": [1] * 50, "c": True})
    assert short == {"a": "x" * 199 + "…", "b": [1] * 20, "c": True}
    assert list(short_metadata({str(number): "x" * 200 for number in range(50)})) == [str(number) for number in range(7)]
