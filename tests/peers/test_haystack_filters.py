"""Haystack's filters beside Haystack's own evaluator."""

from datetime import UTC, datetime

import pytest
from haystack import Document
from haystack.document_stores.types import FilterPolicy, apply_filter_policy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.filters import Columns, F, apply_policy, to_filter
from tests.profiles import examples

DATES = st.sampled_from(["2024-05-01", "2024-05-01T00:00:00", "2024-05-01 12:30", "2024-05-02T00:00", "2023-12-31"])
TEXTS = st.sampled_from(["", "a", "zebra"]) | DATES
NUMBERS = st.sampled_from([0, 1, 2, -3, 0.0, 1.0, 1.5])
SCALARS = [TEXTS, NUMBERS, st.booleans()]
LISTS = st.one_of(*(st.lists(items, min_size=1, max_size=3) for items in SCALARS))
METADATA = st.dictionaries(st.sampled_from(["k", "l"]), st.one_of(*SCALARS) | LISTS, max_size=2)
DOCUMENTS = st.lists(st.tuples(st.sampled_from(["a", "zebra", "2024-05-01"]), METADATA), min_size=1, max_size=8)


@st.composite
def comparisons(draw):
    operator = draw(st.sampled_from(["==", "!=", ">", ">=", "<", "<=", "in", "not in"]))
    if operator in (">", ">=", "<", "<="):
        value = draw(DATES | NUMBERS | st.none())
    elif operator in ("in", "not in"):
        value = draw(st.lists(st.one_of(*SCALARS) | LISTS | st.none(), max_size=4))
    else:
        value = draw(st.one_of(*SCALARS) | LISTS | st.none() | st.just(datetime(2024, 5, 1)))
    return {"field": draw(st.sampled_from(["meta.k", "meta.l", "k", "id"])), "operator": operator, "value": value}


FILTERS = st.recursive(
    comparisons(),
    lambda parts: st.builds(
        lambda operator, conditions: {"operator": operator, "conditions": conditions},
        st.sampled_from(["AND", "OR", "NOT"]),
        st.lists(parts, max_size=3),
    ),
    max_leaves=5,
)


def theirs(filters, id, metadata):
    return document_matches_filter(filters, Document(id=id, content="text", meta=metadata))


def ours(filters, id, metadata):
    matches = to_filter(filters).matches(metadata, id)
    assert Columns([(id, metadata)]).matching(to_filter(filters)).tolist() == [matches]
    return matches


def comparison(operator, value, field="meta.k"):
    return {"field": field, "operator": operator, "value": value}


@examples(400)
@given(FILTERS, DOCUMENTS)
def test_the_same_documents_match_as_in_haystack(filters, documents):
    for id, metadata in documents:
        decided = ours(filters, id, metadata)
        try:
            expected = theirs(filters, id, metadata)
        except (FilterError, TypeError):  # it compares values that have no order: see below
            continue
        assert decided == expected


DAY = ["2024-05-01", "2024-05-01T00:00"]
VALUES = [None, 0, 1, 1.0, 1.5, True, False, "", "zebra", *DAY]
VALUES += [[0], [1], [1.0], [2], [1, 0], [True], [True, False], ["1"], ["a", "b"], ["2024-05-01"]]


@pytest.mark.parametrize("operator", ["==", "!=", ">", ">=", "<", "<=", "in", "not in"])
def test_every_operator_means_the_same_for_every_type_of_value(operator):
    compared = 0
    for value in VALUES:
        if operator in (">", ">=", "<", "<=") and isinstance(value, list | bool | str) and value not in DAY:
            continue
        filters = comparison(operator, [value] if operator in ("in", "not in") else value)
        for stored in VALUES:
            metadata = {} if stored is None else {"k": stored}
            decided = ours(filters, "a", metadata)
            try:
                expected = theirs(filters, "a", metadata)
            except (FilterError, TypeError):  # it compares values that have no order: see below
                continue
            compared += 1
            assert decided == expected, (filters, metadata)
    assert compared > 40


@pytest.mark.parametrize("offset", ["Z", "+02:00"])
@pytest.mark.parametrize("operator", ["==", "!=", ">", ">=", "<", "<="])
def test_points_in_time_with_offsets_are_compared_as_in_haystack(operator, offset):
    for value in ("2024-05-01T10:00Z", "2024-05-01T12:00+02:00", "2024-05-01T12:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)):
        for metadata in ({"k": f"2024-05-01T10:00{offset}"}, {"k": f"2024-05-01T12:00:00{offset}"}):
            filters = comparison(operator, value)
            assert ours(filters, "a", metadata) == theirs(filters, "a", metadata)


def test_not_is_not_all_and_no_conditions_are_a_conjunction_of_nothing():
    a, b = comparison("==", 1), comparison("==", 2, "meta.l")
    for metadata in ({}, {"k": 1}, {"k": 1, "l": 2}):
        for operator in ("AND", "OR", "NOT"):
            for conditions in ([], [a], [a, b]):
                filters = {"operator": operator, "conditions": conditions}
                assert ours(filters, "x", metadata) == theirs(filters, "x", metadata)
    assert to_filter({"operator": "NOT", "conditions": [a, b]}) == ~to_filter({"operator": "AND", "conditions": [a, b]})


def test_none_asks_for_a_missing_key():
    assert to_filter(comparison("==", None)) == ~F("k").exists()
    assert to_filter(comparison("!=", None)) == F("k").exists()
    assert ours(comparison("in", [None, 1]), "x", {}) is theirs(comparison("in", [None, 1]), "x", {}) is True


def test_true_is_one_as_in_haystack_though_not_in_the_builder():
    assert theirs(comparison("==", 1), "x", {"k": True}) is ours(comparison("==", 1), "x", {"k": True}) is True
    assert theirs(comparison(">", 0.5), "x", {"k": True}) is ours(comparison(">", 0.5), "x", {"k": True}) is True
    assert not (F("k") == 1).matches({"k": True})


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (
            comparison("~", 1),
            "unknown operator '~' in {'field': 'meta.k', 'operator': '~', 'value': 1}; one of ==, !=, >, ",
        ),
        (comparison(">", [1]), r"an order comparison needs a number or a str, got \[1\]"),
        (comparison(">", "zebra"), r"an order comparison needs a number or an ISO date \(YYYY-MM-DD\), got 'zebra'"),
        (comparison("in", "abc"), "a list of values is needed, got 'abc'"),
        ({"field": "meta.k", "value": 1}, "'operator' is missing in {'field': 'meta.k', 'value': 1}"),
        ({"field": "meta.k", "operator": "=="}, "'value' is missing"),
        ({"operator": "XOR", "conditions": []}, "unknown operator 'XOR' in .*; one of AND, OR, NOT"),
        ({"operator": "AND", "conditions": [{"operator": "=="}]}, "'conditions' is missing in {'operator': '=='}"),
        ({"operator": "AND", "conditions": [{"conditions": []}]}, "'operator' is missing in {'conditions': "),
    ],
)
def test_what_makes_no_sense_is_refused_by_both(filters, message):
    with pytest.raises(FilterError):
        theirs(filters, "x", {"k": "2024-05-01"})
    with pytest.raises(InvalidArgument, match=f"where: {message}"):
        to_filter(filters)


# Where they differ.


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (comparison("==", {"a": 1}), "a value must be a str, int, float, bool or date, got {'a': 1}"),
        (comparison("==", float("nan")), "a number must be finite, got nan"),
        (comparison("==", []), "no document has an empty list as a value"),
        (comparison("==", [1, "a"]), "the values of a list must have one type"),
        (comparison(">", True), "an order comparison needs a number or a str, got True"),
        (comparison("==", "text", "content"), "a field must be 'id' or a key of the metadata, got 'content'"),
        ({**comparison("==", 1), "comment": "x"}, "unknown key 'comment' in .*; one of field, operator, value, conditions"),
    ],
)
def test_what_can_match_nothing_by_mistake_only_is_refused_where_haystack_takes_it(filters, message):
    assert theirs(filters, "x", {"k": 0}) in (True, False)
    with pytest.raises(InvalidArgument, match=message):
        to_filter(filters)


@pytest.mark.parametrize(
    ("filters", "value"),
    [
        (comparison(">", 3), "zebra"),
        (comparison(">", 3), [1, 2]),
        (comparison(">", "2024-05-01"), "zebra"),
        (comparison(">", "2024-05-01"), 3),
    ],
)
def test_a_value_without_an_order_does_not_match_where_haystack_fails_for_all_documents(filters, value):
    with pytest.raises((FilterError, TypeError)):
        theirs(filters, "x", {"k": value})
    assert ours(filters, "x", {"k": value}) is False


def test_what_is_no_iso_date_is_refused_where_haystack_fills_it_up_with_todays():
    this_year = datetime.now(UTC).year
    assert theirs(comparison("<=", "31 December"), "x", {"k": f"{this_year}-01-01"})
    with pytest.raises(InvalidArgument, match="an ISO date"):
        to_filter(comparison("<=", "31 December"))


def test_times_without_an_offset_are_utc_where_haystack_lends_them_the_offset_of_the_other_side():
    filters = comparison("==", "2024-05-01T12:00+02:00")
    assert theirs(filters, "x", {"k": "2024-05-01T12:00"})
    assert ours(filters, "x", {"k": "2024-05-01T10:00"})
    assert not ours(filters, "x", {"k": "2024-05-01T12:00"})


def test_a_dot_is_part_of_the_key_where_haystack_looks_into_nested_metadata():
    filters = comparison("==", 1, "meta.a.b")
    assert theirs(filters, "x", {"a": {"b": 1}})
    assert not theirs(filters, "x", {"a.b": 1})
    assert ours(filters, "x", {"a.b": 1})


def test_a_runtime_filter_cannot_undo_the_own_one_where_haystacks_merging_lets_it():
    own, runtime = comparison("==", "a", "meta.tenant"), comparison("==", "b", "meta.tenant")
    either = {"operator": "OR", "conditions": [runtime, comparison("==", "c", "meta.tenant")]}
    document = {"tenant": "b"}
    for asked in (runtime, either):
        assert theirs(apply_filter_policy(FilterPolicy.MERGE, dict(own), dict(asked)), "x", document)
        assert not apply_policy(to_filter(own), to_filter(asked), "merge").matches(document)
