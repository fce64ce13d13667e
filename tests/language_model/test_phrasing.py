from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.language_model import DEFAULT_PROMPT, check_prompt, read_phrasings
from tests.profiles import examples


@pytest.mark.parametrize(
    "line",
    [
        "When did it burn?",
        "  When did it burn?\r",
        "1. When did it burn?",
        "2) When did it burn?",
        "(3) When did it burn?",
        "1.When did it burn?",
        "- When did it burn?",
        "* When did it burn?",
        "• When did it burn?",
        '"When did it burn?"',
        '12. "When did it burn?"',
        "- “When did it burn?”",
        "**When did it burn?**",
        "1. **When did it burn?**",
        "`When did it burn?`",
    ],
)
def test_numbering_and_quotes_are_no_part_of_a_phrasing(line):
    assert read_phrasings(line, without=[], count=3) == ["When did it burn?"]


@pytest.mark.parametrize(
    "line",
    [
        "1.5 million people lived where?",
        "1984. Who wrote it?",
        "10:30, which train?",
        "-40 degrees is how cold in Fahrenheit?",
        "3D printing of what?",
        "Whose is the book 'Emma'",
        "'Emma' or 'Persuasion'?",
        "the dogs'",
    ],
)
def test_what_only_looks_like_numbering_or_quotes_stays(line):
    assert read_phrasings(line, without=[], count=3) == [line]


def test_each_line_is_one_and_those_that_say_nothing_are_left_out():
    answer = "Here are three phrasings:\n\n1. a fire\n   \n---\n```\n2. the pier burning\n"
    assert read_phrasings(answer, without=[], count=3) == ["a fire", "the pier burning"]


@pytest.mark.parametrize(
    "answer",
    [
        "```\na fire\nthe pier burning\n```",
        "```text\r\n1. a fire\r\n2. the pier burning\r\n```",
        '["a fire", "the pier\\n burning"]',
        '```json\n["a fire", "the pier burning", ""]\n```',
        'Here they are:\n~~~json\n["a fire", "the pier burning"]\n~~~\nThey keep its meaning.',
        '{"question": "When did it burn?", "phrasings": ["a fire", "the pier burning"]}',
    ],
)
def test_they_may_stand_in_a_fence_or_a_json_list(answer):
    assert read_phrasings(answer, without=["When did it burn?"], count=3) == ["a fire", "the pier burning"]


@pytest.mark.parametrize(
    "answer", ["[a fire]", '{"a fire": 1}', '["a", ["fire"]]', '{"a": ["fire"], "b": ["pier"]}', "[" * 9999 + "a"]
)
def test_what_only_looks_like_a_json_list_is_a_line_like_any_other(answer):
    assert read_phrasings(answer, without=[], count=3) == [answer]


def test_what_is_known_or_there_already_is_left_out_in_any_case():
    answer = "1. The Fire\n2. the  fire\n3. WHEN did it burn?\n4. the blaze"
    assert read_phrasings(answer, without=["When did it burn?"], count=9) == ["The Fire", "the blaze"]


def test_the_first_ones_are_kept():
    assert read_phrasings("a\nb\na\nc\nd", without=[], count=3) == ["a", "b", "c"]
    assert read_phrasings("", without=[], count=3) == []


def test_what_is_not_unicode_is_dropped_from_a_phrasing():
    assert read_phrasings("a \ud800fire", without=[], count=3) == ["a fire"]


@examples(200)
@given(st.text(), st.lists(st.text(), max_size=3), st.integers(1, 5))
def test_any_answer_can_be_read(answer, known, count):
    phrasings = read_phrasings(answer, without=known, count=count)
    assert len(phrasings) <= count
    assert len({text.casefold() for text in phrasings}) == len(phrasings)
    assert all(text == text.strip() and any(map(str.isalnum, text)) for text in phrasings)


def test_a_prompt_is_filled_and_braces_in_the_question_stay():
    check_prompt(DEFAULT_PROMPT)
    filled = DEFAULT_PROMPT.format(question="What is {x}?", count=4)
    assert filled.startswith("Write 4 other phrasings")
    assert filled.endswith("Question: What is {x}?\n")
    check_prompt('{count} of "{question}" as {{"json": []}}')


@pytest.mark.parametrize(
    "prompt",
    [
        "Rephrase {question}",
        "{count}",
        "{question} {count} {other}",
        "{question} {count} {}",
        "{question",
        "{count:x!} {question}",
        "{question.text} {count}",
        "{question:d} {count}",
        None,
        3,
    ],
)
def test_a_prompt_without_its_fields_is_refused(prompt):
    with pytest.raises(InvalidArgument, match=r"prompt must be a text with {question} and {count}, and no other fields"):
        check_prompt(prompt)
