"""How many words a text has, in any script, and the beginning of a text on one line, for people."""

from __future__ import annotations

import pytest

from leafspan.text import count_words, end_of_words, first_words


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("Two words", 2),
        ("東京都に", 4),
        ("ภาษา", 1),  # four letters
        ("ภาษาไทย", 2),
        ("น้ำที่นี่", 1),  # marks belong to the letters before them
        ("ภาษาไทย RAG ๒๕๖๓", 4),
        ("ພາສາລາວ", 2),
        ("မြန်မာဘာသာ", 2),
        ("ភាសាខ្មែរ", 2),
        ("ไทย東京abc", 4),
    ],
)
def test_words_are_counted_in_every_script(text: str, words: int) -> None:
    assert count_words(text) == words
    assert end_of_words(text, words) == len(text)
    for place in range(words):
        assert count_words(text[: end_of_words(text, place)]) == place
