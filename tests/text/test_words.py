"""The beginning of a text on one line, for people."""

from __future__ import annotations

import pytest

from leafspan.text import first_words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ten chars.", "'Ten chars.'"),
        ("Eleven cha.", "'Eleven...'"),
        ("Elevencharss", "'Elevenc...'"),
        ("a" + 78 * " " + "b", "'a b'"),  # 80 characters are looked at, eight times ten
        ("a" + 79 * " " + "b", "'a...'"),
        ("a\n\tb", "'a b'"),
        ("", "''"),
    ],
)
def test_a_text_that_is_short_enough_is_whole_and_a_longer_one_ends_after_a_word(text: str, shown: str) -> None:
    assert first_words(text, 10) == shown
