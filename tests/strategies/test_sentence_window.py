"""Hits with their neighbours, as a strategy. How windows are made is in ``tests/spans``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Hybrid, Index, InvalidArgument, Query, SentenceWindow, Strategy, Vector
from leafspan.strategies import BM25, RetrievalContext
from tests.corpus import QUESTIONS
from tests.profiles import examples
from tests.word_trees import hits, tree

LEAVES = tree(12, 12, 12, 12)

WIDE = SentenceWindow(base=Vector(), before=3, after=3)


def lengths(passages) -> list[int]:
    return [len(passage.text.split()) for passage in passages]


def test_a_window_goes_on_to_the_leaf_behind_the_hit_by_default():
    assert SentenceWindow() == SentenceWindow(base=Hybrid(), before=0, after=1, max_words=300)


@pytest.mark.parametrize("wrong", [{"max_words": 0}, {"before": -1}, {"after": "2"}])
def test_a_wrong_option_is_named(wrong: dict):
    [(name, value)] = wrong.items()
    with pytest.raises(InvalidArgument, match=f"^{name} must be .*, got {value!r}"):
        SentenceWindow(**wrong)


@pytest.mark.parametrize("limit", [20, 40, 80])
def test_a_window_is_no_longer_than_it_may_be_without_a_budget_too(shared_index: Index, limit: int):
    windows = lengths(shared_index.retrieve(QUESTIONS[0], SentenceWindow(before=3, after=3, max_words=limit), k=2))
    single = lengths(shared_index.retrieve(QUESTIONS[0], SentenceWindow(before=0, after=0, max_words=1), k=2))
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


def first_request(strategy: Strategy, **limits):
    return next(strategy.retrieve([Query(vector=(1.0, 0.0))], RetrievalContext(24, **limits)))


@examples(100)
@given(
    ordinals=st.permutations(range(48)).flatmap(lambda all_: st.integers(0, 48).map(lambda count: all_[:count])),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    k=st.integers(1, 12),
    looks=st.booleans(),
)
def test_there_are_k_windows_as_long_as_there_are_hits_outside_of_them(ordinals, before, after, k, looks):
    found = hits(LEAVES, {ordinal: 1 - place / 100 for place, ordinal in enumerate(ordinals)})

    class Base(Strategy):
        def retrieve(self, queries, context):
            yield from ()
            return [found[: context.k] if looks else found]

    strategy = SentenceWindow(base=Base(), before=before, after=after, max_words=None)
    try:
        next(strategy.retrieve([Query("?")], RetrievalContext(48, k=k)))
    except StopIteration as stop:
        [windows] = stop.value
    inside = {ordinal for window in windows for ordinal in range(window.span.first, window.span.last + 1)}
    assert len(windows) == k or (len(windows) < k and set(ordinals) <= inside)
    assert windows[0].score == 1 if ordinals else not windows
    # Neighbours are not loaded where a window may have any length, so that only single leaves have a known one.
    assert all((window.words is None) == (window.span.first < window.span.last) for window in windows)


def test_the_base_is_asked_for_no_more_hits_than_get_a_window():
    assert first_request(WIDE, k=5).most == 2 * 5 + 1  # windows may unite; fewer than that are all there are
    assert first_request(WIDE).most is None
    assert first_request(WIDE, k=5, words=100).most is None  # the number of hits says whether there may be more


@pytest.mark.parametrize(
    ("found", "looks"),
    [
        ([0, 24, 1, 2, 3, 4, 5], [5]),  # 0 and 24 are apart, and no more hits are looked at
        ([0, 1, 2, 3], [5]),  # one window, but fewer hits than the five that were asked for
        ([0, 1, 2, 3, 24], [5]),  # the last of five
        ([0, 1, 2, 3, 4, 24], [5, None]),  # one window of five hits, and then another one
        (list(range(12)), [5, None]),  # one window of all
    ],
)
def test_a_base_is_asked_again_only_where_it_may_have_more_and_windows_are_missing(
    found: list[int], looks: list[int | None]
):
    row = hits(LEAVES, {ordinal: 1 - place / 100 for place, ordinal in enumerate(found)})
    asked = []

    class Base(Strategy):
        def retrieve(self, queries, context):
            yield from ()
            asked.append(context.k)
            return [row[: context.k]]

    strategy = SentenceWindow(base=Base(), max_words=None)
    with pytest.raises(StopIteration):
        next(strategy.retrieve([Query("?")], RetrievalContext(48, k=2)))
    assert asked == looks


@pytest.mark.parametrize("base", [Vector(), Hybrid(), BM25()])
def test_windows_around_the_hits_that_are_needed_are_those_around_the_first_of_all(shared_index: Index, base: Strategy):
    class All(Strategy):
        """Finds all hits of the base, even if fewer are needed."""

        def retrieve(self, queries, context):
            return (yield from base.retrieve(queries, context.for_base))

    for question in QUESTIONS:
        for k in (1, 3, 30):
            few = shared_index.retrieve(question, SentenceWindow(base=base), k=k)
            assert few == shared_index.retrieve(question, SentenceWindow(base=All()), k=k)
