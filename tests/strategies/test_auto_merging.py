"""AutoMerging's options, and that merging gets them. The tests of merging are in ``tests/spans``."""

from __future__ import annotations

import pytest

from leafspan import AutoMerging, Budget, Hybrid, Index, InvalidArgument, Vector
from leafspan.text import count_words
from tests.corpus import QUESTIONS

MUCH = {"threshold": 0, "fill_gaps": 9}


def longest(index: Index, strategy: AutoMerging, **options) -> int:
    """The most words that a passage of several leaves has."""
    found = index.retrieve(QUESTIONS[0], strategy, k=20, candidates=20, **options)
    return max((count_words(each.text) for each in found if each.trace.merges), default=0)


def test_the_defaults_match_the_docstring():
    assert AutoMerging() == AutoMerging(
        base=Hybrid(), threshold=0.5, fill_gaps=1, max_level=None, max_words=400, score="max"
    )


def test_no_passage_is_merged_beyond_max_words_nor_beyond_the_budget(shared_index: Index):
    whole = longest(shared_index, AutoMerging(base=Vector(), max_words=None, **MUCH))
    assert whole > 60
    assert 0 < longest(shared_index, AutoMerging(base=Vector(), max_words=60, **MUCH)) <= 60
    assert longest(shared_index, AutoMerging(base=Vector(), max_words=None, **MUCH), budget=Budget(60)) <= 60


def test_no_passage_is_merged_beyond_max_level(shared_index: Index):
    found = shared_index.retrieve(QUESTIONS[0], AutoMerging(base=Vector(), max_level=1, max_words=None, **MUCH), k=20)
    assert {merge.level for each in found for merge in each.trace.merges} == {1}


@pytest.mark.parametrize("name", ["threshold", "fill_gaps", "max_level", "max_words", "score"])
def test_an_error_begins_with_the_name_of_the_option(name):
    with pytest.raises(InvalidArgument, match=f"^{name} must be"):
        AutoMerging(**{name: -1})
