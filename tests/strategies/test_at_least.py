"""Results below a score are left out, of any strategy."""

from __future__ import annotations

import pytest

from leafspan import BM25, Index, InvalidArgument, Vector
from leafspan.strategies._over_base import AtLeast, at_least
from tests.corpus import QUESTIONS


def test_results_of_at_least_the_score_match_the_strategy(shared_index: Index):
    every = shared_index.retrieve(QUESTIONS[0], Vector(), k=10)
    third = every[2].score
    assert (
        shared_index.retrieve(QUESTIONS[0], at_least(Vector(), third), k=10) == every[:3]
    )  # the leaf with exactly the score, too
    assert shared_index.retrieve(QUESTIONS[0], Vector(), k=10, min_score=third) == every[:3]
    assert shared_index.retrieve(QUESTIONS[0], at_least(Vector(), 1.1), k=10) == []


def test_without_a_score_the_strategy_stays_as_it_is():
    strategy = BM25()
    assert at_least(strategy, None) is strategy
    assert at_least(strategy, 0) == AtLeast(strategy, 0)


@pytest.mark.parametrize("wrong", ["high", None, float("nan")])
def test_a_score_is_a_number(wrong):
    with pytest.raises(InvalidArgument, match=f"^min_score must be a number, got {wrong!r}$"):
        AtLeast(BM25(), wrong)


def test_its_base_is_a_strategy():
    with pytest.raises(InvalidArgument, match=r"^base must be a strategy"):
        AtLeast("words", 0.5)  # type: ignore[arg-type]
