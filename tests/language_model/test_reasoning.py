from __future__ import annotations

import pytest

from leafspan.language_model import without_reasoning


@pytest.mark.parametrize(
    "answer",
    [
        "<think>The vault, or the pump?</think>the pump",
        "<think>\nThe vault?\n\nOr the pump?\n</think>\n\nthe pump\n",
        "<think></think>the pump",
        "The template of the chat has the first tag.\n</think>\n\nthe pump",
        "<think>The vault.</think>\n<think>No.</think>\nthe pump",
        "<THINKING>The vault?</THINKING> the pump",
    ],
)
def test_thoughts_before_an_answer_are_no_part_of_it(answer):
    assert without_reasoning(answer) == "the pump"


def test_an_answer_that_was_cut_off_while_the_model_thought_is_none():
    assert without_reasoning("<think>\nThe vault, or the pump? The question") == ""


@pytest.mark.parametrize(
    "answer", ["", " the pump\n", "What do you <think> of it?", "a < b, so I think > c", "I think: the pump"]
)
def test_an_answer_without_thoughts_stays_as_it_is(answer):
    assert without_reasoning(answer) == answer
