"""LlamaIndex's filters beside its own evaluator, which its in-memory vector store uses."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.vector_stores import (
    ExactMatchFilter,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from leafspan import InvalidArgument
from leafspan.filters import Columns, F, to_filter
from tests.profiles import examples

# Without ISO dates, which LlamaIndex compares as any text: see below.
TEXTS = st.sampled_from(["", "a", "A", "ab", "AB", "Straße"])
NUMBERS = st.sampled_from([0, 1, 2, -3, 0.0, 1.0, 1.5])
SCALARS = [TEXTS, NUMBERS, st.booleans()]
LISTS_OF_FILTERS = st.one_of(st.lists(TEXTS, min_size=1, max_size=3), st.lists(NUMBERS, min_size=1, max_size=3))
LISTS = LISTS_OF_FILTERS | st.lists(st.booleans(), min_size=1, max_size=3)
METADATA = st.dictionaries(st.sampled_from(["k", "l"]), st.one_of(*SCALARS) | LISTS, max_size=2)
METADATAS = st.lists(METADATA, min_size=1, max_size=8)

ORDERS = [FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE]
NEEDING_LISTS = [FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL]
NEEDING_TEXTS = [FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE]


@st.composite
def single_filters(draw):
    operator = draw(st.sampled_from(FilterOperator))
    if operator in NEEDING_LISTS:
        value = draw(LISTS_OF_FILTERS | st.just([]))
    elif operator in NEEDING_TEXTS:
        value = draw(TEXTS)
    elif operator == FilterOperator.IS_EMPTY:
        value = None
    elif operator in (FilterOperator.EQ, FilterOperator.NE):
        value = draw(TEXTS | NUMBERS | LISTS_OF_FILTERS)
    else:
        value = draw(TEXTS | NUMBERS)
    return MetadataFilter(key=draw(st.sampled_from(["k", "l"])), value=value, operator=operator)


GROUPS = st.builds(
    lambda filters, condition: MetadataFilters(filters=filters, condition=condition),
    st.lists(single_filters(), min_size=1, max_size=3),
    st.sampled_from([None, *FilterCondition]),
)


def theirs(filters, metadata):
    group = filters if isinstance(filters, MetadataFilters) else MetadataFilters(filters=[filters])
    return build_metadata_filter_fn({"node": metadata}.__getitem__, group)("node")


def ours(filters, metadata):
    matches = to_filter(filters).matches(metadata)
    assert Columns([("", metadata)]).matching(to_filter(filters)).tolist() == [matches]
    return matches


def one(operator, value, key="k"):
    return MetadataFilter(key=key, value=value, operator=operator)


@examples(400)
@given(single_filters() | GROUPS, METADATAS)
def test_the_same_documents_match_as_in_llamaindex(filters, metadatas):
    for metadata in metadatas:
        decided = ours(filters, metadata)
        try:
            expected = theirs(filters, metadata)
        except TypeError:  # it compares values that have no order, or looks for a part of a number: see below
            continue
        assert decided == expected


VALUES = [0, 1, 1.0, 1.5, "", "a", "A", "1", "abc", [0], [1], [1.0], [2], [1, 0], ["a"], ["a", "b"], ["A"], []]
STORED = [None, True, False, [True], [True, False], *VALUES]


@pytest.mark.parametrize("operator", FilterOperator)
def test_every_operator_means_the_same_for_every_type_of_value(operator):
    compared = 0
    for value in [None] if operator == FilterOperator.IS_EMPTY else VALUES:
        if isinstance(value, list) != (operator in NEEDING_LISTS) or (
            operator in NEEDING_TEXTS and not isinstance(value, str)
        ):
            continue
        filters = one(operator, value)
        for stored in STORED:
            metadata = {} if stored in (None, []) else {"k": stored}
            decided = ours(filters, metadata)
            try:
                expected = theirs(filters, metadata)
            except TypeError:  # it compares values that have no order, or looks for a part of a number: see below
                continue
            compared += 1
            assert decided == expected, (filters, metadata)
    assert compared >= len(STORED) - 1


def test_every_operator_is_read():
    for operator in FilterOperator:
        value = None if operator == FilterOperator.IS_EMPTY else ["a"] if operator in NEEDING_LISTS else "a"
        assert to_filter(one(operator, value)) is not None
    assert to_filter(ExactMatchFilter(key="k", value="a")) == (F("k") == "a")
    assert to_filter(one(">", 3)) == to_filter(one(FilterOperator.GT, 3))


def test_no_filters_allow_everything():
    for condition in (None, *FilterCondition):
        empty = MetadataFilters(filters=[], condition=condition)
        assert theirs(empty, {}) is True
        assert to_filter(empty) is None


def test_not_is_that_none_matches():
    filters = MetadataFilters(filters=[one("==", "a"), one("==", "b", "l")], condition="not")
    assert to_filter(filters) == ~((F("k") == "a") | (F("l") == "b"))
    for metadata in ({}, {"k": "a"}, {"l": "b"}, {"k": "a", "l": "b"}, {"k": "b"}):
        assert ours(filters, metadata) == theirs(filters, metadata)


def test_a_number_is_the_only_way_to_ask_for_a_bool():
    with pytest.raises(ValueError, match="validation error"):
        one("==", True)
    assert theirs(one("==", 1), {"k": True}) is ours(one("==", 1), {"k": True}) is True


def test_contains_looks_into_texts_too():
    assert theirs(one("contains", "b"), {"k": "abc"}) is ours(one("contains", "b"), {"k": "abc"}) is True
    assert theirs(one("all", ["a", "c"]), {"k": "abc"}) is ours(one("all", ["a", "c"]), {"k": "abc"}) is True
    assert not F("k").contains("b").matches({"k": "abc"})


def test_is_empty_is_a_missing_key_or_an_empty_text():
    assert to_filter(one("is_empty", None)) == ~F("k").exists() | (F("k") == "")


def test_objects_of_that_shape_are_taken_and_others_are_not():
    single = SimpleNamespace(key="k", value=3, operator=">=")
    assert to_filter(single) == (F("k") >= 3)
    assert to_filter(SimpleNamespace(filters=[single], condition=None)) == to_filter(single)
    with pytest.raises(InvalidArgument, match=r"unknown operator '=>' in .*; one of ==, !=, >, "):
        to_filter(SimpleNamespace(key="k", value=3, operator="=>"))
    with pytest.raises(InvalidArgument, match=r"unknown condition 'xor' in .*; one of and, or, not"):
        to_filter(SimpleNamespace(filters=[single], condition="xor"))
    with pytest.raises(InvalidArgument, match=r"a filter must be a MetadataFilter or MetadataFilters, got {'k': 3}"):
        to_filter(SimpleNamespace(filters=[{"k": 3}], condition="and"))


# Where they differ.


def test_groups_may_be_nested_where_llamaindex_refuses_it():
    inner = MetadataFilters(filters=[one("==", "a"), one("==", "b")], condition="or")
    filters = MetadataFilters(filters=[inner, one("==", "c", "l"), MetadataFilters(filters=[])])
    with pytest.raises(ValueError, match="Nested MetadataFilters are not supported"):
        theirs(filters, {"k": "a"})
    assert ours(filters, {"k": "b", "l": "c"})
    assert not ours(filters, {"k": "b"})


@pytest.mark.parametrize(
    ("filters", "value"),
    [
        (one(">", 3), "a"),
        (one(">", "a"), 3),
        (one("<=", 3), [1]),
        (one("contains", "a"), 3),
        (one("contains", 3), "a"),
        (one("any", ["a"]), 3),
        (one("all", [3]), "a"),
        (one("text_match", "a"), 3),
        (one("text_match_insensitive", "a"), ["a"]),
    ],
)
def test_a_value_of_another_type_does_not_match_where_llamaindex_fails_for_all_documents(filters, value):
    with pytest.raises(TypeError):
        theirs(filters, {"k": value})
    assert ours(filters, {"k": value}) is False


def test_iso_dates_are_compared_as_points_in_time_where_llamaindex_compares_characters():
    filters, value = one(">=", "2024-05-01T00:00:00"), {"k": "2024-05-01"}
    assert not theirs(filters, value)
    assert ours(filters, value)

    assert theirs(filters, {"k": "unknown"})
    assert not ours(filters, {"k": "unknown"})


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (one("in", "abc"), "a list of values is needed, got 'abc' in MetadataFilter"),
        (one("any", "abc"), "a list of values is needed, got 'abc'"),
        (one("==", None), "operator '==' needs a value, got None in .*; is_empty asks for a missing key"),
        (one("==", []), "no document has an empty list as a value"),
        (one("==", float("nan")), "a number must be finite, got nan"),
        (
            one("contains", ["a"]),
            r"a value must be a str, int, float, bool or date, got \['a'\] in .*; use ANY for one of ",
        ),
    ],
)
def test_what_can_match_by_accident_only_is_refused_where_llamaindex_takes_it(filters, message):
    assert theirs(filters, {"k": "a" if filters.operator != "contains" else ["a"]}) in (True, False)
    with pytest.raises(InvalidArgument, match=message):
        to_filter(filters)


@pytest.mark.parametrize("filters", [one(">", ["a"]), one("text_match", 3)])
def test_what_makes_no_sense_is_refused_by_both(filters):
    with pytest.raises(TypeError):
        theirs(filters, {"k": "a"})
    with pytest.raises(InvalidArgument, match=r"where: .* in MetadataFilter\("):
        to_filter(filters)
