"""Titles in the forms in which texts mention them."""

from __future__ import annotations

import time

import pytest

from leafspan.search._naming import capitalised_words, is_name, names_in, title_key


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Karl von Frisch", "karl von frisch"),
        ("Rosemary's Baby", "rosemary baby"),
        ("Beyoncé", "beyonce"),
        ("U.S. Route 66", "u s route 66"),
        ("東京都", "東京 京都"),
        ("---", ""),
    ],
)
def test_a_key_has_the_words_without_case_accents_and_possessive(title, key):
    assert title_key(title) == key


def test_what_stands_in_parentheses_can_be_left_out():
    assert names_in("Mercury (planet)", {}, None) == ["Mercury (planet)", "Mercury"]
    assert names_in("(untitled)", {}, None) == ["(untitled)"]
    assert names_in(None, {}, None) == []


@pytest.mark.parametrize(
    ("value", "names"), [("PSP", ["PSP"]), (["PSP", "Portable"], ["PSP", "Portable"]), (5, []), ([5, 6], []), (None, [])]
)
def test_aliases_are_a_text_or_a_list_of_texts(value, names):
    assert names_in(None, {"also": value}, "also") == names
    assert names_in(None, {"also": value}, "aliases") == names_in(None, {"also": value}, None) == []


@pytest.mark.parametrize(("key", "is_one"), [("a", False), ("1984", False), ("", False), ("we", True), ("a b", True)])
def test_neither_a_letter_nor_a_number_is_a_name(key, is_one):
    assert is_name(key) is is_one


def test_a_sentence_is_no_name():
    assert is_name(" ".join(["word"] * 32))
    assert not is_name(" ".join(["word"] * 33))


def test_words_with_a_capital_letter():
    assert capitalised_words("The Notes of Émile, noted in 2020 for iPhone: 東京") == {"the", "notes", "emile", "東京"}


@pytest.mark.parametrize(
    "title", ["(" + " " * 200_000 + "x", "(a" * 100_000, "word (of many) " * 50_000, "\u0300\u0316" * 20_000]
)
def test_a_long_title_is_no_name_and_takes_no_time(title):
    before = time.process_time()
    assert names_in(title, {"also": [title, "PSP"]}, "also") == ["PSP"]
    assert time.process_time() - before < 1
