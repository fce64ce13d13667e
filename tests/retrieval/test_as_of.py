"""Documents that are valid for a time, and retrieval as of a moment."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import BM25, Browse, Config, Document, Ensemble, F, Hybrid, Index, InvalidArgument, RelevantSegments, Vector
from leafspan.filters import _builder, filter_from_option
from leafspan.filters._builder import filter_from_text
from leafspan.lab import explain
from leafspan.private import Vault, private_view
from leafspan.strategies import Filtered, Strategy
from tests.profiles import examples

QUESTION = "What does the ferry cost?"
TIMES = {
    "always": {},
    "first": {"valid_until": "2024-05-01"},
    "second": {"valid_from": "2024-05-01", "valid_until": "2024-06-01T12:00+02:00"},
    "third": {"valid_from": datetime(2024, 6, 1, 10, tzinfo=UTC)},
    "future": {"valid_from": date(2999, 1, 1)},
    "unreadable": {"valid_until": "soon"},
}
DOCUMENTS = [
    Document(name, f"The ferry costs {price} euros. It takes bicycles.", metadata={"price": price, **times})
    for price, (name, times) in enumerate(TIMES.items(), start=3)
]
VALID = {  # worked out by hand: an offset counts, a date is its start in UTC, and the end is exclusive
    "2024-04-30T23:59:59.999999": {"always", "first"},
    "2024-05-01": {"always", "second"},
    "2024-05-01T01:00+02:00": {"always", "first"},
    "2024-06-01T09:59:59Z": {"always", "second"},
    "2024-06-01T10:00:00Z": {"always", "third"},
    "2024-06-01T12:00:00+02:00": {"always", "third"},
    "2999-01-01": {"always", "third", "future"},
}
STRATEGIES = [Vector(), BM25(), Hybrid(), RelevantSegments(), Ensemble(retrievers=[BM25(), Vector()]), Browse()]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("fares") / "kb") as opened:
        opened.add(DOCUMENTS)
        yield opened


def set_now(monkeypatch, text):
    """Let ``"now"`` mean this moment, in UTC."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.fromisoformat(text).replace(tzinfo=tz)

    monkeypatch.setattr(_builder, "datetime", Clock)


def names(passages):
    return {each.document_id for each in passages}


@pytest.mark.parametrize(("moment", "valid"), VALID.items())
def test_only_documents_that_are_valid_then_are_searched(index, moment, valid):
    assert names(index.retrieve(QUESTION, BM25(), k=20, as_of=moment)) == valid
    assert names(index.retrieve(None, "browse", as_of=moment)) == valid
    assert {each.id for each in index.documents(F.valid_at(moment))} == valid


def test_dates_and_datetimes_are_moments_as_their_texts_are(index):
    moments = [
        date(2024, 5, 1),
        datetime(2024, 5, 1),
        datetime(2024, 5, 1, tzinfo=UTC),
        datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        "2024-05-01",
        "2024-05-01 00:00",
    ]
    assert [names(index.retrieve(QUESTION, k=20, as_of=each)) for each in moments] == [{"always", "second"}] * 6


def test_now_is_the_moment_of_the_call(index, monkeypatch):
    strategy, elsewhere = Filtered(BM25(), as_of="now"), index.as_strategy(BM25(), as_of="now")
    for moment in ("2024-04-30", "2024-05-01", "2024-06-02"):
        set_now(monkeypatch, moment)
        expected = index.retrieve(QUESTION, BM25(), k=20, as_of=moment)
        assert names(index.retrieve(QUESTION, BM25(), k=20, as_of="now")) == names(expected)
        assert names(index.retrieve(QUESTION, strategy, k=20)) == names(expected)
        found = index.retrieve(QUESTION, elsewhere, k=20)
        assert {each.metadata["doc_id"] for each in found} == names(expected)


MOMENTS = st.datetimes(datetime(2024, 4, 29), datetime(2024, 6, 3)).map(
    lambda at: at.replace(minute=0, second=0, microsecond=0)
)
OFFSETS = st.integers(-14 * 4, 14 * 4).map(lambda quarters: timezone(timedelta(minutes=15 * quarters)))
TIMED = st.one_of(
    MOMENTS.map(datetime.date), MOMENTS, st.builds(lambda at, offset: at.replace(tzinfo=offset), MOMENTS, OFFSETS)
).flatmap(lambda at: st.sampled_from([at, at.isoformat()]))


def by_hand(at):
    """The filter that a user would write."""
    begins = ~F("valid_from").exists() | (F("valid_from") <= at)
    return begins & (~F("valid_until").exists() | (F("valid_until") > at))


@examples(60)
@given(TIMED, st.sampled_from(STRATEGIES), st.none() | st.just(F("price") > 4))
def test_it_is_the_filter_written_by_hand_together_with_where(index, at, strategy, where):
    expected = by_hand(at) if where is None else where & by_hand(at)
    found = index.retrieve(QUESTION, strategy, k=20, as_of=at, where=where)
    assert found == index.retrieve(QUESTION, strategy, k=20, where=expected)
    assert [each.trace for each in found] == [
        each.trace for each in index.retrieve(QUESTION, strategy, k=20, where=expected)
    ]
    assert index.retrieve(QUESTION, Filtered(strategy, where, at), k=20) == found
    assert F.valid_at(at) == by_hand(at)


@examples(200)
@given(TIMED, st.none() | TIMED, st.none() | TIMED)
def test_a_document_is_valid_from_its_first_moment_to_before_its_end(at, first, end):
    def utc(moment):
        moment = datetime.fromisoformat(moment if isinstance(moment, str) else moment.isoformat())
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    metadata = {name: value for name, value in (("valid_from", first), ("valid_until", end)) if value is not None}
    expected = (first is None or utc(first) <= utc(at)) and (end is None or utc(at) < utc(end))
    assert F.valid_at(at).matches(metadata) == expected


@examples(100)
@given(TIMED, TIMED)
def test_of_two_versions_one_is_valid_at_every_moment(change, at):
    assert F.valid_at(at).matches({"valid_until": change}) != F.valid_at(at).matches({"valid_from": change})


async def test_several_questions_and_awaited_ones_have_it(index):
    expected = index.retrieve(QUESTION, as_of="2024-05-01")
    assert index.retrieve_many([QUESTION] * 2, as_of="2024-05-01") == [expected] * 2
    assert await index.aretrieve(QUESTION, as_of="2024-05-01") == expected
    assert await asyncio.wait_for(index.aretrieve_many([QUESTION], as_of="2024-05-01"), 60) == [expected]
    elsewhere = index.as_strategy(BM25(), as_of="2024-05-01")
    found = index.retrieve(QUESTION, elsewhere, k=20)
    assert {each.metadata["doc_id"] for each in found} == {"always", "second"}


def test_views_narrow_it(index, tmp_path):
    view = index.scoped(F("price") != 3)
    assert names(view.retrieve(QUESTION, k=20, as_of="2024-05-01")) == {"second"}
    fixed = index.scoped(F.valid_at("2024-05-01"))
    assert names(fixed.retrieve(QUESTION, k=20)) == {"always", "second"}
    assert names(fixed.retrieve(QUESTION, k=20, as_of="2999-01-01")) == {"always"}
    vault = Vault.open(tmp_path / "vault.db", "as of a moment, a key of 32 letters")
    private = private_view(index, vault, finder=lambda text: [])
    by_filter = private.retrieve(QUESTION, k=20, where=F.valid_at("2024-05-01"))
    assert len(by_filter) == 2
    assert private.retrieve(QUESTION, k=20, as_of="2024-05-01") == by_filter


def test_a_configuration_has_it_for_calls_without_it(index, tmp_path):
    (tmp_path / "kb.yaml").write_text("as_of: 2024-05-01\n")
    config = Config.load(tmp_path / "kb.yaml")
    assert config == Config(as_of="2024-05-01") == Config(as_of=date(2024, 5, 1)) == Config.from_dict(config.to_dict())
    assert Config(as_of="now").to_dict() == {"as_of": "now"}
    with Index.open(tmp_path / "kb", config=config) as configured:
        configured.add(DOCUMENTS)
        assert names(configured.retrieve(QUESTION, k=20)) == {"always", "second"}
        assert names(configured.retrieve(QUESTION, k=20, as_of="2024-04-01")) == {"always", "first"}


def test_a_strategy_with_it_can_be_written(index):
    strategy = Filtered(BM25(), as_of=date(2024, 5, 1))
    assert strategy.to_config() == {"type": "filtered", "base": "bm25", "as_of": "2024-05-01"}
    assert Strategy.from_config(strategy.to_config()) == strategy == Filtered(BM25(), as_of="2024-05-01")
    assert names(index.retrieve(QUESTION, strategy, k=20)) == {"always", "second"}


def test_an_empty_result_says_so(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("old", "The fare is 3.", metadata={"valid_until": "2024-05-01"}))
        found = index.retrieve("fare", as_of="2025-01-01")
        assert (found, found.why_empty) == ([], "no document matches the filter as of 2025-01-01")
        assert index.retrieve("fare", where=F("a").exists()).why_empty == "no document matches the filter"


def test_an_explanation_names_the_option(index):
    why = explain(index, QUESTION, BM25(), k=20, as_of="2025-01-01", document_id="first")
    [obstacle] = why.obstacles
    assert (obstacle.kind, obstacle.option, obstacle.value, obstacle.needed) == ("filter", "as_of", "2025-01-01", None)
    assert "its valid_until is '2024-05-01', which does not match F('valid_until') > '2025-01-01'" in str(why)
    both = {"where": F("price") == 3, "as_of": "2025-01-01"}
    why = explain(index, QUESTION, BM25(), k=20, document_id="first", **both)
    assert why.changes == {"where": None, "as_of": None}
    assert "first" in names(index.retrieve(QUESTION, BM25(), k=20, **{**both, **why.changes}))
    why = explain(index, QUESTION, Filtered(BM25(), as_of="2025-01-01"), k=20, document_id="first")
    assert "its filter" in str(why)
    assert "its valid_until is '2024-05-01'" in str(why)


def test_texts_of_filters_have_it():
    expected = (F("a") == 1) & F.valid_at("2024-05-01")
    assert filter_from_text('(F("a") == 1) & F.valid_at("2024-05-01")') == expected
    assert filter_from_option('F.valid_at("2024-05-01")') == F.valid_at("2024-05-01")
    with pytest.raises(InvalidArgument, match="moment must be a date"):
        filter_from_text('F.valid_at("today")')
    with pytest.raises(InvalidArgument, match="given as a text"):
        filter_from_text("F.valid_at()")


WRONG = [
    "today",
    "Now",
    "2024",
    "2024-05",
    "20240501",
    "01.05.2024",
    "2024-02-30",
    "",
    2024,
    True,
    1714521600.0,
    b"",
    [],
    object(),
]


@pytest.mark.parametrize("wrong", WRONG)
def test_anything_else_is_no_moment(index, wrong):
    rule = 'as_of must be a date, a datetime, an ISO text such as "2024-05-01", or "now", got '
    makers = [
        lambda: index.retrieve(QUESTION, as_of=wrong),
        lambda: Config(as_of=wrong),
        lambda: Filtered(BM25(), as_of=wrong),
        lambda: index.as_strategy(as_of=wrong),
    ]
    for make in makers:
        with pytest.raises(InvalidArgument, match=f"^{re.escape(rule)}"):
            make()


@pytest.mark.parametrize("wrong", [*WRONG, None, "now"])
def test_a_filter_needs_a_fixed_moment(wrong):
    rule = 'moment must be a date, a datetime, an ISO text such as "2024-05-01", got '
    with pytest.raises(InvalidArgument, match=f"^{re.escape(rule)}"):
        F.valid_at(wrong)
