from __future__ import annotations

import time

import pytest

from leafspan.language_model import read_names, read_phrasings, without_reasoning


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


@pytest.mark.parametrize(
    "endless",
    [
        "a line of it\n",
        "word ",
        "x",
        "\n",
        " ",
        "```\n",
        "[",
        "<think>",
        "</think>",
        "<thin",
        "a, b: ",
        '["a",',
        "<think>x</think>a\n",
    ],
)
def test_an_endless_answer_is_read_in_a_moment(endless):
    answer = endless * (10_000_000 // len(endless))
    before = time.process_time()
    said = without_reasoning(answer)
    read_phrasings(said, without=["q"], count=3)
    read_names(said, ["pump", "vault", "foo bar"], 2)
    assert len(said) <= 100_000
    assert time.process_time() - before < 5  # 60 s to read and search all of it


def test_the_answer_after_long_thoughts_is_read():
    assert without_reasoning("<think>" + "Hmm. " * 100_000 + "</think>the pump") == "the pump"
