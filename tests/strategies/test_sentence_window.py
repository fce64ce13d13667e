"""Hits with their neighbours, as a strategy. How windows are made is in ``tests/spans``."""

from __future__ import annotations

import pytest

from leafspan import Hybrid, Index, InvalidArgument, SentenceWindow, Strategy, Vector
from tests.corpus import QUESTIONS

WIDE = SentenceWindow(base=Vector(), before=3, after=3)


def lengths(passages) -> list[int]:
    return [len(passage.text.split()) for passage in passages]


def test_a_window_goes_on_to_the_leaf_behind_the_hit_unless_told_otherwise():
    assert SentenceWindow() == SentenceWindow(base=Hybrid(), before=0, after=1, max_words=300)


@pytest.mark.parametrize("wrong", [{"max_words": 0}, {"before": -1}, {"after": "2"}])
def test_a_wrong_option_is_named(wrong: dict):
    [(name, value)] = wrong.items()
    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, got {value!r}"):
        SentenceWindow(**wrong)


@pytest.mark.parametrize("limit", [20, 40, 80])
def test_a_window_is_no_longer_than_it_may_be_without_a_budget_too(shared_index: Index, limit: int):
    windows = lengths(shared_index.retrieve(QUESTIONS[0], SentenceWindow(before=3, after=3, max_words=limit), k=2))
    single = lengths(shared_index.retrieve(QUESTIONS[0], SentenceWindow(before=0, after=0), k=2))
    assert all(words <= max(limit, *single) for words in windows)
    assert sum(windows) > sum(single)


@pytest.mark.parametrize("budget", [30, 60, 120])
def test_windows_fill_the_budget_and_no_more(shared_index: Index, budget: int):
    made = []

    class Watched(Strategy):
        finds_spans = True

        def retrieve(self, queries, context):
            rows = yield from WIDE.retrieve(queries, context)
            made.append(rows[0])
            return rows

    passages = shared_index.retrieve(QUESTIONS[0], Watched(), budget=budget)
    for row in made:
        assert sum(found.words for found in row if found.trace.window) <= budget
    assert 0.7 * budget < sum(lengths(passages)) <= budget
