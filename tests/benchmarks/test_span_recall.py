from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.span_recall import first_words, is_answered, is_held, span_recall

TEXTS = {"a": "one two three four five six seven eight nine ten", "b": "alpha beta gamma delta"}
START, END = TEXTS["a"].index("three"), TEXTS["a"].index("five") - 1  # "three four"
ANSWER = {"doc_id": "a", "start": START, "end": END, "text": "three four"}
BETA = {"doc_id": "b", "start": 6, "end": 10, "text": "beta"}


def place(document_id: str, words: str) -> tuple[str, int, int]:
    """Where these words stand."""
    start = TEXTS[document_id].index(words)
    return document_id, start, start + len(words)


def question(*answers: dict, mode: str | None = None) -> dict:
    return {"answers": list(answers), **({"answer_mode": mode} if mode else {})}


def test_passages_are_read_until_the_words_are_used_up_and_the_last_one_is_cut():
    passages = [place("b", "alpha beta"), place("a", "one two three"), place("b", "gamma")]
    assert first_words(passages, TEXTS, 2 + 2) == [place("b", "alpha beta"), place("a", "one two")]
    assert first_words(passages, TEXTS, 2 + 3) == passages[:2]
    assert first_words(passages, TEXTS, 2 + 3 + 1) == passages
    assert first_words(passages, TEXTS, 100) == passages
    assert first_words(passages, TEXTS, 0) == []


def test_a_passage_that_is_cut_ends_with_its_last_word():
    ((_, start, end),) = first_words([("a", 3, 20)], TEXTS, 2)  # " two three four f"
    assert TEXTS["a"][start:end] == " two three"


def test_words_that_overlap_count_each_time():
    passages = [place("a", "one two three"), place("a", "two three four"), place("b", "beta")]
    assert span_recall([passages], [question(BETA)], TEXTS, 3 + 3) == 0.0
    assert span_recall([passages], [question(BETA)], TEXTS, 3 + 3 + 1) == 1.0


def test_an_answer_may_lie_across_several_passages_in_any_order():
    assert is_held(ANSWER, [place("a", "four five"), place("b", "beta"), place("a", "two three ")])
    assert is_held(ANSWER, [place("a", "three"), place("a", "one two three four five")])


def test_an_answer_is_not_held_if_something_of_it_is_absent():
    assert not is_held(ANSWER, [place("a", "three"), place("a", "our five")])
    assert not is_held(ANSWER, [place("a", "four five")])
    assert not is_held(ANSWER, [place("a", "one two three")])
    assert not is_held(ANSWER, [("b", 0, 22)])
    assert not is_held(ANSWER, [])


def test_one_character_may_be_absent_at_either_end_but_no_more():
    assert is_held(ANSWER, [("a", START + 1, END - 1)])
    assert not is_held(ANSWER, [("a", START + 2, END)])
    assert not is_held(ANSWER, [("a", START, END - 2)])


def test_of_an_answer_of_two_characters_nothing_needs_to_be_read():
    assert is_held({"doc_id": "a", "start": 5, "end": 7}, [])
    assert not is_held({"doc_id": "a", "start": 5, "end": 8}, [])


def test_one_of_several_answers_is_enough_unless_all_are_needed():
    read = [place("b", "beta")]
    assert is_answered(question(ANSWER, BETA), read)
    assert is_answered(question(ANSWER, BETA, mode="any"), read)
    assert not is_answered(question(ANSWER, BETA, mode="all"), read)
    assert is_answered(question(ANSWER, BETA, mode="all"), [*read, place("a", "three four")])


def test_the_share_is_of_the_questions_that_have_an_answer():
    found, missed = [place("a", "three four")], [place("b", "gamma")]
    questions = [question(ANSWER), question(ANSWER), question(), question(BETA)]
    assert span_recall([found, missed, found, missed], questions, TEXTS, 10) == pytest.approx(1 / 3)


def test_without_a_question_that_has_an_answer_the_share_is_0():
    assert span_recall([], [], TEXTS, 10) == 0.0
    assert span_recall([[]], [question()], TEXTS, 10) == 0.0


def test_each_question_needs_its_results():
    with pytest.raises(ValueError, match="a list of passages for each question, got 1 for 2"):
        span_recall([[]], [question(ANSWER), question(BETA)], TEXTS, 10)


def test_a_negative_budget_is_refused():
    with pytest.raises(ValueError, match="budget must be >= 0, got -1"):
        span_recall([], [], TEXTS, -1)


places = st.tuples(st.sampled_from("ab"), st.integers(0, 22), st.integers(0, 22)).map(
    lambda each: (each[0], min(each[1:]), max(each[1:]))
)


@given(st.lists(places), st.integers(0, 30))
def test_no_more_words_are_read_than_the_budget_has(passages, budget):
    read = first_words(passages, TEXTS, budget)
    every = sum(len(TEXTS[document_id][start:end].split()) for document_id, start, end in passages)
    assert sum(len(TEXTS[document_id][start:end].split()) for document_id, start, end in read) == min(every, budget)


@given(st.lists(places), places)
def test_an_answer_is_held_exactly_if_each_of_its_characters_was_read(passages, answer):
    document_id, start, end = answer
    read = {(name, place) for name, first, last in passages for place in range(first, last)}
    wanted = {(document_id, place) for place in range(start + 1, end - 1)}
    assert is_held({"doc_id": document_id, "start": start, "end": end}, passages) == (wanted <= read)


@given(st.lists(places), st.integers(0, 30))
def test_a_larger_budget_never_loses_an_answer(passages, budget):
    smaller = span_recall([passages], [question(ANSWER)], TEXTS, budget)
    assert span_recall([passages], [question(ANSWER)], TEXTS, budget + 1) >= smaller
