"""What a strategy knows about a call."""

from __future__ import annotations

from leafspan.strategies import RetrievalContext


def test_no_more_results_are_loaded_than_come_back():
    assert RetrievalContext(candidates=10).results == 10
    assert RetrievalContext(candidates=10, k=3).results == 3
    assert RetrievalContext(candidates=2, k=3).results == 2
    assert RetrievalContext(candidates=10, k=3).for_base.results == 10


def test_there_are_more_candidates_unless_the_call_said_how_many():
    assert RetrievalContext(candidates=10).at_least(30).candidates == 30
    assert RetrievalContext(candidates=10).at_least(5).candidates == 10
    assert RetrievalContext(candidates=10, exactly=True).at_least(30).candidates == 10


def test_a_result_is_no_longer_than_the_option_and_the_budget():
    assert RetrievalContext(candidates=1).longest(None) is None
    assert RetrievalContext(candidates=1).longest(40) == 40
    assert RetrievalContext(candidates=1, words=30).longest(40) == 30
    assert RetrievalContext(candidates=1, words=50).longest(40) == 40
    assert RetrievalContext(candidates=1, words=50).longest(None) == 50
