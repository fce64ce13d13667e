"""The places of a question's words in a text."""

from __future__ import annotations

import pytest

from leafspan.lexical import Analyzer, matching_words


def met(question: str, text: str) -> list[str]:
    return [text[start:end] for start, end in matching_words(Analyzer(), question)(text)]


def test_words_are_met_in_any_form_and_wherever_they_stand():
    assert met("Do bees dance?", "Dances of a bee.") == ["Dances", "bee"]
    text = "Flowers are far away. " * 100 + "Bees dance."
    assert matching_words(Analyzer(), "Do bees dance?")(text) == [(2200, 2204), (2205, 2210)]


@pytest.mark.parametrize(("characters", "is_word"), [(60, True), (61, False)])
def test_more_than_60_characters_without_a_space_are_no_word(characters: int, is_word: bool):
    run = "b" * characters
    assert met(run, f"one {run} two") == [run] * is_word
