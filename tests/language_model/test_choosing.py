from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.language_model import CHOOSING_PROMPT, check_choosing_prompt, fill_choosing_prompt, read_names
from tests.profiles import examples

NAMES = ["docs", "web search", "Docs2", "sql"]


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("docs", ["docs"]),
        ("DOCS\n", ["docs"]),
        ("web  Search", ["web search"]),
        ("1. docs", ["docs"]),
        ("- **docs**", ["docs"]),
        ('"sql".', ["sql"]),
        ("<docs>", ["docs"]),
        ('["sql", "docs"]', ["sql", "docs"]),
        ("{'name': 'sql'}", ["sql"]),
        ('```json\n{"choice": "docs", "reason": "not sql"}\n```', ["docs"]),
        ("The answer: docs", ["docs"]),
        ("docs: because sql has nothing of it", ["docs"]),
        ("sql\ndocs\nsql", ["sql", "docs"]),
        ("1) sql; 2) web search", ["sql", "web search"]),
        ("I would use the web search.", ["web search"]),
        ("I would use web search and docs.", ["web search", "docs"]),
        ("Docs2 knows it", ["Docs2"]),
        ("documents", []),
        ("docs3", []),
        ("", []),
        ("none of them", []),
    ],
)
def test_names_are_read_from_what_models_write(answer, names):
    assert read_names(answer, NAMES, 2) == names


def test_no_more_than_most_are_taken_from_a_list():
    assert read_names("sql\ndocs\nDocs2", NAMES, 2) == ["sql", "docs"]


def test_a_sentence_that_mentions_more_than_most_says_nothing():
    assert read_names("Use docs rather than sql.", NAMES, 1) == []


def test_names_that_differ_in_case_alone_are_distinguished():
    assert read_names("Docs", ["docs", "Docs"], 1) == ["Docs"]
    assert read_names("DOCS", ["docs", "Docs"], 1) == []


@given(st.text(), st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True), st.integers(1, 3))
@examples(200)
def test_at_most_most_names_of_any_answer_are_read(answer, names, most):
    found = read_names(answer, names, most)
    assert len(found) == len(set(found)) <= most
    assert set(found) <= set(names)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
@examples(50)
def test_names_on_lines_of_their_own_are_read_in_their_order(names):
    assert read_names("\n".join(names), NAMES, 3) == names


def test_the_prompt_shows_each_retriever_with_its_description():
    prompt = fill_choosing_prompt(CHOOSING_PROMPT, "Who {is} it?", {"docs": "the manual", "web": ""}, 2)
    assert "- docs: the manual\n- web\n" in prompt
    assert "Question: Who {is} it?" in prompt
    assert "at most 2 names" in prompt


def test_a_prompt_needs_its_fields():
    check_choosing_prompt(CHOOSING_PROMPT)
    with pytest.raises(InvalidArgument, match=r"prompt must be a text with \{retrievers\} and \{question\} and \{count\}"):
        check_choosing_prompt("{question} {count}")
