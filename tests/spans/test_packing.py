from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Budget, InvalidArgument, Passage, Trace
from leafspan.spans import within_budget
from leafspan.spans._packing import longest_prefix


def passage(text):
    return Passage("d#v#0-0", "d", 0, len(text), text, 1.0, {}, Trace())


def test_the_first_passage_that_does_not_fit_ends_the_list():
    passages = [passage("one two"), passage("three four five"), passage("six")]
    assert within_budget(passages, Budget(5)) == passages[:2]
    assert within_budget(passages, Budget(4)) == passages[:1]
    assert within_budget(passages, Budget(6)) == passages


def test_the_first_of_all_is_returned_even_where_it_alone_is_over():
    passages = [passage("one two three"), passage("four")]
    assert within_budget(passages, Budget(1)) == passages[:1]


def test_a_budget_may_count_tokens():
    passages = [passage("abcd"), passage("ef")]
    assert within_budget(passages, Budget(5, count=len)) == passages[:1]


def test_nothing_stays_nothing():
    assert within_budget([], Budget(1)) == []
    assert within_budget([passage("x")], None) == [passage("x")]


@given(st.lists(st.integers(0, 9)), st.integers(1, 30))
def test_what_is_kept_is_the_longest_prefix_that_fits(sizes, limit):
    kept = longest_prefix(sizes, sizes, limit)
    assert kept == sizes[: len(kept)]
    assert len(kept) <= 1 or sum(kept) <= limit
    assert len(kept) == len(sizes) or sum(sizes[: len(kept) + 1]) > limit


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "many"])
def test_a_budget_is_a_positive_whole_number(wrong):
    with pytest.raises(InvalidArgument, match=f"budget must be a whole number >= 1, got {wrong!r}"):
        Budget(wrong)
