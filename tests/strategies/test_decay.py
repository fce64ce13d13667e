from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Decay, F, Hybrid, Index, InvalidArgument, SentenceWindow, Strategy, retrieve
from leafspan.strategies import Filtered, HostResult, HostRetriever, RetrievalContext
from leafspan.strategies._decay import to_microseconds
from leafspan.values import Query
from tests.profiles import examples
from tests.word_trees import hits, spans, tree

LEAVES = tree(4, 4, 4)
NOW = "2026-05-21"


class Found(Strategy):
    """A base that always finds these."""

    def __init__(self, *found):
        self.found = list(found)

    def retrieve(self, queries, context):
        self.context = context
        yield from ()
        return [self.found for _ in queries]


def dated(values, scores=None):
    """Leaves with these values as their dates, and scores that are 1."""
    found = hits(LEAVES, scores or dict.fromkeys(range(len(values)), 1.0))
    return [replace(each, metadata={"date": values[each.span.first]}) for each in found]


def decayed(values, scores=None, **options):
    strategy = Decay(base=Found(*dated(values, scores)), **{"now": NOW, **options})
    asking = strategy.retrieve([Query("?")], RetrievalContext(10, k=3))
    with pytest.raises(StopIteration) as stop:
        next(asking)
    [row] = stop.value.value
    return row


def test_the_score_is_the_bases_times_a_factor_that_halves_every_thirty_days():
    found = decayed(["2026-05-21", "2026-04-21", "2026-03-22"])
    assert spans(found) == [(0, 0, 1), (1, 1, pytest.approx(0.5)), (2, 2, pytest.approx(0.25))]


def test_results_are_sorted_again():
    found = decayed(["2026-04-21", "2026-05-21"], {0: 0.9, 1: 0.6})
    assert spans(found) == [(1, 1, 0.6), (0, 0, pytest.approx(0.9 * 0.5))]


def test_a_score_below_zero_falls_too():
    found = decayed(["2026-04-21", "2026-05-21"], {0: -0.2, 1: -0.2})
    assert spans(found) == [(1, 1, -0.2), (0, 0, pytest.approx(-0.2 * (2 - 0.5)))]


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({"scale": 10}, 0.5**6),
        ({"scale": timedelta(days=10)}, 0.5**6),
        ({"scale": timedelta(hours=12), "decay": 0.99}, 0.99**120),
        ({"offset": 30}, 0.5),
        ({"offset": timedelta(days=60)}, 1),
        ({"shape": "gaussian"}, 0.5**4),
        ({"shape": "linear", "decay": 0.6}, 1 - 2 * 0.4),
        ({"shape": "linear"}, 0),
        ({"weight": 0.4}, 0.6 + 0.4 * 0.25),
    ],
)
def test_how_it_falls_in_sixty_days(options, factor):
    [found] = decayed(["2026-03-22"], **options)
    assert found.score == pytest.approx(factor)


@pytest.mark.parametrize(
    "value",
    [
        "2026-04-21",
        "2026-04-21T00:00",
        "2026-04-21 02:00:00+02:00",
        "2026-04-20T24:00",
        date(2026, 4, 21),
        datetime(2026, 4, 21),
        datetime(2026, 4, 20, 19, tzinfo=timezone(timedelta(hours=-5))),
        1776729600,
        1776729600.0,
        np.int64(1776729600),
    ],
)
def test_the_same_date_in_many_forms(value):
    [found] = decayed([value])
    assert found.score == pytest.approx(0.5)


def test_a_whole_number_up_to_9999_is_a_year():
    [found] = decayed([2016], now="2026-01-01", scale=3653)
    assert found.score == pytest.approx(0.5)
    assert to_microseconds(2016) == to_microseconds("2016-01-01") == to_microseconds(2016.0)
    assert to_microseconds(10_000) == 10_000 * 1_000_000


@pytest.mark.parametrize("value", ["2026-05-22", "2999-01-01", 9999, "2026-05-21T00:01"])
def test_what_is_in_the_future_is_as_new_as_can_be(value):
    [found] = decayed([value])
    assert found.score == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "no date"),
        ("yesterday", "date 'yesterday', which is not a date,"),
        ("2026-02-30", "date '2026-02-30', which is not a date,"),
        ("2026", "date '2026', which is not a date,"),
        (True, "date True, which is not a date,"),
        (float("nan"), "date nan, which is not a date,"),
        (1776729600_000, "date 1776729600000, which is not a date,"),  # milliseconds
        (["2026-04-21"], "date ['2026-04-21'], which is not a date,"),
        (10**400, f"date {'1' + 46 * '0'}"),
    ],
)
def test_what_has_no_date_that_can_be_read_has_the_factor_for_that_and_says_so(value, said):
    [found] = decayed([value], missing=0.25)
    assert found.score == 0.25
    [note] = found.trace.notes
    assert note.startswith(f"Decay: {said}")
    assert note.endswith("gave the factor 0.250, and the score 1.000 became 0.250")


def test_the_trace_says_the_age_and_both_scores():
    [found] = decayed(["2026-04-21"], {0: 0.8})
    note = "Decay: an age of 30.0 days gave the factor 0.500, and the score 0.800 became 0.400"
    assert found.trace.notes == (note,)
    assert found.trace.hits[0].score == 0.8


def test_ages_count_from_now_unless_said_otherwise():
    month_ago = (datetime.now(UTC) - timedelta(days=30)).isoformat()
    [found] = decayed([month_ago], now=None)
    assert found.score == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize(
    "now", ["2026-05-21", date(2026, 5, 21), datetime(2026, 5, 21, 2, tzinfo=timezone(timedelta(hours=2)))]
)
def test_now_may_be_of_any_type_for_dates(now):
    [found] = decayed(["2026-04-21"], now=now)
    assert found.score == pytest.approx(0.5)


def test_the_base_is_hybrid_unless_another_one_is_given():
    assert Decay().base == Hybrid()


def test_all_results_of_the_base_are_looked_at_with_any_k():
    base = Found(*dated([NOW]))
    with pytest.raises(StopIteration):
        next(Decay(base=base, now=NOW).retrieve([Query("?")], RetrievalContext(10, k=3)))
    assert base.context == RetrievalContext(10)


@given(st.lists(st.tuples(st.dates(), st.floats(-1, 1)), min_size=1, max_size=12))
@examples(100)
def test_nothing_is_lost_and_no_score_rises(rows):
    before = {number: score for number, (_, score) in enumerate(rows)}
    found = decayed([day.isoformat() for day, _ in rows], before)
    assert sorted(each.span.first for each in found) == list(range(len(rows)))
    assert all(each.score <= before[each.span.first] for each in found)
    assert found == sorted(found, key=lambda each: each.order)


def test_over_an_index_it_prefers_the_new_and_keeps_filter_and_spans(index: Index):
    strategy = Decay(key="year", base=SentenceWindow(base=BM25()), now="1974-01-01", scale=365, missing=0)
    assert strategy.finds_spans
    found = index.retrieve("water goods bees", strategy, k=50)
    assert [passage.document_id for passage in found if passage.score > 1e-9] == ["bees"]
    within = index.retrieve("water goods bees", Filtered(strategy, F("year") < 1900), k=50)
    assert {passage.document_id for passage in within} == {"harbour"}


def test_passages_of_other_sources_decay_by_their_own_metadata():
    results = [HostResult("old", "old text", 0.9, {"date": date(2026, 4, 21)}), HostResult("new", "new text", 0.8)]

    async def aask(question):
        return results

    base = HostRetriever("dated", lambda question: results, aask)
    found = retrieve("when?", Decay(base=base, now=NOW))
    assert [(passage.id, passage.score) for passage in found] == [("new", 0.8), ("old", pytest.approx(0.45))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "x"}, r"base must be a strategy such as Vector\(\), got 'x'"),
        ({"key": ""}, "key must be a string that is not empty, got ''"),
        ({"scale": 0}, "scale must be a number of days > 0, got 0"),
        ({"scale": timedelta(0)}, "scale must be a number of days > 0, got 0.0"),
        ({"scale": "30d"}, "scale must be a number of days > 0, got '30d'"),
        ({"offset": -1}, "offset must be a number of days >= 0, got -1"),
        ({"decay": 1}, r"decay must be a number in \(0, 1\), got 1"),
        ({"decay": 0}, r"decay must be a number in \(0, 1\), got 0"),
        ({"shape": "exp"}, "shape must be one of 'exponential', 'gaussian', 'linear', got 'exp'"),
        ({"weight": 0}, r"weight must be a number in \(0, 1\], got 0"),
        ({"missing": 2}, r"missing must be a number in \[0, 1\], got 2"),
        ({"now": "today"}, "now must be a datetime, a date, or an ISO text of one, got 'today'"),
        ({"now": 2026}, "now must be a datetime, a date, or an ISO text of one, got 2026"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidArgument, match=message):
        Decay(**options)
