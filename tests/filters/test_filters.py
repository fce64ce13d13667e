from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, InvalidArgument
from leafspan.documents import check_document
from leafspan.filters import Columns, F, Where, apply_policy, constant, implied, to_filter
from leafspan.filters._conditions import instant, kind
from tests.profiles import examples

BOOKS = [
    ("emma", {"year": 1815, "price": 7.5, "language": "en", "tags": ["love", "village"], "lent": False}),
    ("faust", {"year": 1808, "price": 5, "language": "de", "tags": ["devil", "love"], "lent": True}),
    ("notes", {"year": "unknown", "added": "2024-05-01"}),
    ("blank", {}),
]


def found(filter, documents=BOOKS):
    """The ids of the documents that match, decided one by one and by columns."""
    decided = [filter.matches(metadata, document_id) for document_id, metadata in documents]
    assert Columns(documents).matching(filter).tolist() == decided
    return [document_id for (document_id, _), matches in zip(documents, decided, strict=True) if matches]


# What the builder's conditions mean.


def test_a_key_is_compared_with_a_value():
    assert found(F("language") == "en") == ["emma"]
    assert found(F("year") < 1815) == ["faust"]
    assert found(F("year") <= 1815) == ["emma", "faust"]
    assert found(F("price") > 5) == ["emma"]
    assert found(F("price") >= 5.0) == ["emma", "faust"]
    assert found(F("lent") == True) == ["faust"]  # noqa: E712


def test_a_missing_key_matches_what_negates_and_nothing_else():
    assert found(F("language") != "en") == ["faust", "notes", "blank"]
    assert found(F("language").not_in(["en", "de"])) == ["notes", "blank"]
    assert found(~(F("year") < 1815)) == ["emma", "notes", "blank"]
    assert found(F("language") >= "") == ["emma", "faust"]
    assert found(F("language").exists()) == ["emma", "faust"]


def test_filters_combine():
    assert found((F("year") > 1800) & (F("language") == "de")) == ["faust"]
    assert found((F("language") == "en") | (F("added") >= "2024")) == ["emma", "notes"]
    assert found(~((F("language") == "en") | F("added").exists())) == ["faust", "blank"]


def test_in_matches_one_of_several_values():
    assert found(F("language").in_(["en", "fr"])) == ["emma"]
    assert found(F("price").in_([5.0, 9])) == ["faust"]
    assert found(F("language").in_(code for code in ("de",))) == ["faust"]
    assert found(F("language").in_([])) == []
    assert found(F("language").not_in([])) == ["emma", "faust", "notes", "blank"]


def test_contains_matches_members_of_lists():
    assert found(F("tags").contains("love")) == ["emma", "faust"]
    assert found(F("tags").contains_any(["village", "devil"])) == ["emma", "faust"]
    assert found(F("tags").contains_all(["love", "devil"])) == ["faust"]
    assert found(F("tags") == ["love", "village"]) == ["emma"]
    assert found(F("tags") == ["village", "love"]) == []
    assert found(F("tags") == "love") == []
    assert found(F("language").contains("en")) == []  # no list
    assert found(F("tags").contains_any([])) == []
    assert found(F("tags").contains_all([])) == ["emma", "faust", "notes", "blank"]


def test_contains_matches_parts_of_texts():
    assert found(F("year").text_match("know")) == ["notes"]
    assert found(F("language").text_match("E")) == []
    assert found(F("language").text_match("E", ignore_case=True)) == ["emma", "faust"]
    assert found(F("tags").text_match("love")) == []  # a list


def test_doc_id_is_the_documents_id():
    assert found(F("doc_id") == "emma") == ["emma"]
    assert found(F("doc_id").in_(["emma", "blank"])) == ["emma", "blank"]
    assert found(F("doc_id").text_match("a")) == ["emma", "faust", "blank"]
    assert (F("doc_id") == "a").matches({"doc_id": "a"}, "b") is False
    either = (F("doc_id") == "a") | (F("year") == 1)
    assert [either.matches({"year": year}, id_) for year, id_ in [(0, "a"), (1, "b"), (0, "b")]] == [True, True, False]
    assert F("doc_id").exists().matches({})


def test_numbers_are_equal_by_value_and_a_bool_is_no_number():
    documents = [
        ("int", {"n": 1}),
        ("float", {"n": 1.0}),
        ("bool", {"n": True}),
        ("text", {"n": "1"}),
        ("list", {"n": [1]}),
    ]
    assert found(F("n") == 1, documents) == found(F("n") == 1.0, documents) == ["int", "float"]
    assert found(F("n") == True, documents) == ["bool"]  # noqa: E712
    assert found(F("n") >= 0, documents) == ["int", "float"]
    assert found(F("n").in_([1, 2.5]), documents) == ["int", "float"]
    assert found(F("n") == [1.0], documents) == ["list"]
    assert found(F("n") == [True], documents) == []
    assert found(F("n").contains(1.0), documents) == ["list"]
    assert found(F("n").contains(True), documents) == []


def test_large_whole_numbers_are_distinguished():
    documents = [("a", {"n": 2**53}), ("b", {"n": 2**53 + 1}), ("c", {"n": float(2**53)})]
    assert found(F("n") == 2**53, documents) == ["a", "c"]
    assert found(F("n") > 2**53, documents) == ["b"]
    assert found(F("n") > float(2**53), documents) == ["b"]


def test_iso_dates_are_compared_as_points_in_time_and_other_texts_by_code_points():
    documents = [
        ("day", {"at": "2024-05-01"}),
        ("noon", {"at": "2024-05-01T12:00"}),
        ("east", {"at": "2024-05-01T01:00:00+02:00"}),  # 23:00 of the day before, in UTC
        ("word", {"at": "today"}),
        ("number", {"at": 2024}),
    ]
    assert found(F("at") < "2024-05-01", documents) == ["east"]
    assert found(F("at") >= "2024-05-01T00:00:00Z", documents) == ["day", "noon"]
    assert found(F("at") > date(2024, 5, 1), documents) == ["noon"]
    assert found(F("at") <= datetime(2024, 5, 1, tzinfo=UTC), documents) == ["day", "east"]
    assert found(F("at") >= "2024", documents) == ["day", "noon", "east", "word"]
    assert found(F("at") > "Z", documents) == ["word"]
    assert found(F("at") == "2024-05-01T00:00", documents) == []  # an equality compares texts


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86_400),
        ("1970-01-01T00:00:01", 1),
        ("1970-01-01 00:00:01.5", 1.5),
        ("1970-01-01t02:00+02:00", 0),
        ("1969-12-31T24:00:00Z", 0),
        ("1970", None),
        ("19700102", None),
        ("1970-W01-1", None),
        ("1970-02-30", None),
        ("1970-01-01T24:00:01", None),
        ("1970-01-01\n", None),
        ("1970-01-01x", None),
        ("", None),
    ],
)
def test_iso_dates_are_read_as_points_in_time(text, seconds):
    assert instant(text) == (None if seconds is None else seconds * 1_000_000)


@given(
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=23, minutes=59)), timezone(-timedelta(hours=9))]))
)
def test_every_time_that_python_knows_is_read_exactly(moment):
    difference = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert instant(moment.isoformat()) == difference // timedelta(microseconds=1)


def test_what_is_stored_as_missing_counts_as_missing():
    assert not F("k").exists().matches({"k": None})
    assert not F("k").exists().matches({"k": []})
    assert (F("k") != 1).matches({"k": None})


# Filters are values.


def test_a_filter_reads_like_the_text_that_built_it():
    year, tags = F("year"), F("tags")
    assert repr(year) == "F('year')"
    assert repr((year >= 2020) & (year != 2021)) == "(F('year') >= 2020) & (F('year') != 2021)"
    assert repr(year.not_in([1, 2]) | ~tags.contains("a")) == "F('year').not_in([1, 2]) | ~F('tags').contains('a')"
    assert repr(~(tags == ["a"]) & ~(year < 3)) == "(F('tags') != ['a']) & ~(F('year') < 3)"
    assert repr(tags.contains_any(["a", "b"])) == "F('tags').contains('a') | F('tags').contains('b')"
    assert repr(tags.text_match("a", ignore_case=True)) == "F('tags').text_match('a', ignore_case=True)"
    assert repr(year.in_({3, 1, 2})) == "F('year').in_([1, 2, 3])"


def test_filters_are_equal_where_they_read_the_same():
    assert (F("a") == 1) == (F("a") == 1)
    assert hash(F("a") == 1) == hash(F("a") == 1)
    assert (F("a") == 1) != (F("a") == True)  # noqa: E712
    assert (F("a") == 1) != "F('a') == 1"
    assert (F("a") != 1) == ~(F("a") == 1)
    assert len({F("a") < 1, F("a") < 1, F("a") < 2}) == 2


def test_filters_cannot_be_changed_and_can_be_copied():
    filter = (F("a") == [1, 2]) & F("b").in_(["x"])
    with pytest.raises(AttributeError):
        filter.parts = ()
    assert pickle.loads(pickle.dumps(filter)) == copy.deepcopy(filter) == filter


def test_values_are_taken_over_when_the_filter_is_made():
    values = ["a"]
    filter = F("k").in_(values) | (F("k") == values)
    values.append("b")
    assert not filter.matches({"k": "b"})
    assert filter.matches({"k": ["a"]})


def test_values_become_plain_ones():
    class Colour(StrEnum):
        RED = "red"

    filter = (F("a") == np.float32(0.5)) & (F("b") == np.True_) & (F(Colour.RED) == Colour.RED) & (F("d") >= np.int64(3))
    assert repr(filter) == "(F('a') == 0.5) & (F('b') == True) & (F('red') == 'red') & (F('d') >= 3)"


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: F("a") == 1 and F("b") == 2,
        lambda: F("a").exists() or F("b").exists(),
        lambda: not F("a").exists(),
        lambda: 1 < F("a") < 9,
    ],
)
def test_a_filter_has_no_truth_value(mistake):
    with pytest.raises(TypeError, match=r"combine filters with &, \| and ~ instead of and, or and not"):
        mistake()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: F("a") == 1 & F("b") == 2,
        lambda: F("a") == 1 | F("b") == 2,
        lambda: F("a") & F("b"),
        lambda: (F("a") == 1) & F("b"),
        lambda: F("b") | (F("a") == 1),
    ],
)
def test_a_key_beside_an_operator_gets_a_hint_at_parentheses(mistake):
    with pytest.raises(TypeError, match=r"F\('[ab]'\) .* \(F\(\"a\"\) == 1\) & \(F\(\"b\"\) == 2\) with each comparison"):
        mistake()


def test_the_negation_of_a_key_gets_a_hint_at_what_asks_for_one():
    with pytest.raises(TypeError, match=r"F\('a'\) is not a filter yet: ~F\('a'\).exists\(\)"):
        ~F("a")


def test_a_filter_combines_with_filters_only():
    with pytest.raises(TypeError):
        F("a").exists() & {"b": 1}
    with pytest.raises(TypeError):
        F("a").exists() | None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: F(""), "the key must be a non-empty str, got ''"),
        (lambda: F(3), "the key must be a non-empty str, got 3"),
        (lambda: F("a") == None, r"F\('a'\): a value must be a str, int, float, bool or date, got None"),  # noqa: E711
        (lambda: F("a") == {"b": 1}, "got {'b': 1}"),
        (lambda: F("a") == F("b"), r"got F\('b'\)"),
        (lambda: F("a").__eq__(float("nan")), "a number must be finite, got nan"),
        (lambda: F("a") == [], "no document has an empty list as a value"),
        (lambda: F("a") == [1, "x"], "the values of a list must have one type, got int and str"),
        (lambda: F("a") == [[1]], r"a value must be a str, int, float, bool or date, got \[1\]"),
        (lambda: F("a") > True, "an order comparison needs a number or a str, got True"),
        (lambda: F("a") > np.True_, "an order comparison needs a number or a str, got np.True_"),
        (lambda: F("a") <= [1], r"an order comparison needs a number or a str, got \[1\]"),
        (lambda: F("a") < float("inf"), "a number must be finite, got inf"),
        (lambda: F("a") < None, "got None"),
        (lambda: F("a").in_("abc"), "a list of values is needed, got 'abc'"),
        (lambda: F("a").in_(3), "a list of values is needed, got 3"),
        (lambda: F("a").in_({"b": 1}), "a list of values is needed, got {'b': 1}"),
        (lambda: F("a").not_in([1, True]), "the values of a list must have one type, got bool and int"),
        (lambda: F("a").contains(["x"]), r"a value must be a str, int, float, bool or date, got \['x'\]"),
        (lambda: F("a").contains_any("xy"), "a list of values is needed, got 'xy'"),
        (lambda: F("a").text_match(3), "a text match needs a str, got 3"),
    ],
)
def test_a_value_that_no_document_can_have_is_refused(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()


# Dialects; what they mean is tested beside the peers themselves, in tests/peers.


def test_nothing_is_no_filter():
    assert to_filter(None) is None
    assert to_filter({}) is None


def test_a_filter_stays_as_it_is():
    filter = F("a") == 1
    assert to_filter(filter) is filter


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ({"a": 1}, F("a") == 1),
        ({"a": 1, "b": "x"}, (F("a") == 1) & (F("b") == "x")),
        ({"a": {"$gte": 1, "$lt": 3}}, (F("a") >= 1) & (F("a") < 3)),
        ({"a": {"$ne": 1}}, F("a") != 1),
        ({"a": {"$gt": 1}}, F("a") > 1),
        ({"a": {"$lte": 1.5}}, F("a") <= 1.5),
        ({"a": {"$in": ["x", "y"]}}, F("a").in_(["x", "y"])),
        ({"a": {"$in": []}}, F("a").in_([])),
        ({"a": {"$nin": [1]}}, F("a").not_in([1])),
        ({"a": {"$contains": "x"}}, F("a").contains("x")),
        ({"a": {"$not_contains": "x"}}, ~F("a").contains("x")),
        ({"a": {"$eq": ["x"]}}, F("a") == ["x"]),
        ({"$and": [{"a": 1}, {"b": 2}]}, (F("a") == 1) & (F("b") == 2)),
        ({"$and": [{"a": 1}]}, F("a") == 1),
        ({"$or": [{"a": 1}, {"b": 2, "c": 3}]}, (F("a") == 1) | ((F("b") == 2) & (F("c") == 3))),
        ({"$not": {"a": 1}, "b": 2}, (F("a") != 1) & (F("b") == 2)),
        ({"$or": [{"a": 1}, {}]}, (F("a") == 1) | F("doc_id").exists()),
        ({"doc_id": {"$in": ["x"]}}, F("doc_id").in_(["x"])),
        ({"operator": "Tesla"}, F("operator") == "Tesla"),  # one of Haystack's keys alone is a key of the user's
    ],
)
def test_filters_of_chroma_are_read(where, same):
    assert to_filter(where) == same


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"year": {"$gtt": 3}}, r"where: unknown operator '\$gtt' in {'year': {'\$gtt': 3}}; one of \$eq, \$ne, "),
        ({"year": {"$gt": "x"}}, r"where: an order comparison needs a number, got 'x' in {'year': {'\$gt': 'x'}}"),
        ({"day": {"$gte": "2024-01-05"}}, r"; texts, such as ISO dates, are compared by F\('day'\) >= '2024-01-05'$"),
        ({"day": {"$lt": date(2024, 1, 5)}}, r"are compared by F\('day'\) < datetime.date\(2024, 1, 5\)$"),
        ({"year": {"$gt": True}}, "an order comparison needs a number, got True"),
        ({"year": {"$gt": float("nan")}}, "a number must be finite, got nan in"),
        ({"a": 1, "year": None}, "where: a value must be a str, int, float, bool or date, got None in {'year': None}"),
        ({"tags": ["a"]}, r"where: a list needs an operator in {'tags': \['a'\]}; \$in for one of these values"),
        ({"year": {}}, "an operator is missing in {'year': {}}"),
        ({"year": {"eq": 3}}, "unknown operator 'eq' in {'year': {'eq': 3}}"),
        ({"$gt": 3}, r"unknown operator '\$gt' in {'\$gt': 3}; such an operator belongs under a key"),
        ({"$nor": [{"a": 1}]}, r"unknown operator '\$nor' .*; one of \$and, \$or, \$not"),
        ({"$and": []}, r"\$and needs a non-empty list of filters, got \[\]"),
        ({"$or": {"a": 1}}, r"\$or needs a non-empty list of filters, got {'a': 1}"),
        ({"$or": [{"a": 1}, "b"]}, r"\$or needs a list of filters, got 'b'"),
        ({"$not": [{"a": 1}]}, r"\$not needs a filter, got \[{'a': 1}\]"),
        ({"year": {"$in": "abc"}}, "a list of values is needed, got 'abc'"),
        ({"year": {"$in": [1, "x"]}}, "the values of a list must have one type"),
        ({"tags": {"$contains": ["x"]}}, r"got \['x'\] in {'tags': {'\$contains': \['x'\]}}"),
        ({"#document": {"$contains": "x"}}, "the text of a document is no metadata: '#document'"),
        ({3: 4}, "a key must be a non-empty str, got 3"),
        (["a"], r"where must be a filter made with F, its text, a mapping .*, got \['a'\]"),
        ("year > 3", "where, given as a text, must be like .*, got 'year' in 'year > 3'"),
    ],
)
def test_the_part_that_is_wrong_is_shown(where, message):
    with pytest.raises(InvalidArgument, match=message):
        to_filter(where)


def test_a_long_part_is_cut_short():
    with pytest.raises(InvalidArgument) as caught:
        to_filter({"a": {"$innn": list(range(1000))}})
    assert len(str(caught.value)) < 400


# What a filter implies, and policies.


def test_equalities_that_must_hold_are_implied():
    filter = (F("tenant") == "a") & (F("tags") == ["x"]) & (F("year") > 3) & ~(F("b") == 1) & F("c").in_([1])
    assert implied(filter) == {"tenant": "a", "tags": ["x"]}
    assert implied(F("a") == 1) == {"a": 1}
    assert implied(to_filter({"$and": [{"a": 1}, {"$and": [{"b": True}, {"a": 1.0}]}]})) == {"a": 1, "b": True}
    assert implied((F("a") == 1) | (F("b") == 2)) == {}
    assert implied((F("a") == 1) | (F("a") == 2)) == {}
    assert implied(None) == {}


def test_a_number_of_haystack_implies_the_number_although_true_would_match_too():
    filter = to_filter({"field": "meta.tenant", "operator": "==", "value": 1})
    assert repr(filter) == "(F('tenant') == 1) | (F('tenant') == True)"
    assert repr(implied(filter)) == "{'tenant': 1}"


def test_a_contradiction_implies_nothing_that_a_document_could_have():
    with pytest.raises(InvalidArgument, match="a key must have one value, got 'a' and 'b' for 'tenant' in"):
        implied((F("tenant") == "a") & (F("tenant") == "b"))
    with pytest.raises(InvalidArgument, match="got 1 and True for 'a'"):
        implied((F("a") == 1) & (F("a") == True))  # noqa: E712


def test_a_policy_says_which_of_two_filters_holds():
    own, runtime = F("tenant") == "a", F("tenant") == "b"
    assert apply_policy(own, runtime) is runtime
    assert apply_policy(own, runtime, "merge") == own & runtime
    for policy in ("replace", "merge"):
        assert apply_policy(own, None, policy) is own
        assert apply_policy(None, runtime, policy) is runtime
        assert apply_policy(None, None, policy) is None
    with pytest.raises(InvalidArgument, match="policy must be 'replace' or 'merge', got 'both'"):
        apply_policy(own, runtime, "both")


# Columns.


def test_columns_of_no_documents_match_nothing():
    filter = F("a").exists() | (F("b") >= "2020-01-01") | F("c").contains(1) | F("a").in_([])
    assert Columns([]).matching(filter).tolist() == []


def test_columns_give_an_array_of_its_own_each_time():
    columns = Columns(BOOKS)
    for filter in (F("year").exists(), F("year") >= 1800, ~F("year").exists(), F("year").exists() | F("tags").exists()):
        first = columns.matching(filter)
        assert first.dtype == np.bool_
        expected = first.tolist()
        first[:] = False
        assert columns.matching(filter).tolist() == expected
    assert len(columns) == 4


def test_columns_take_filters_only():
    with pytest.raises(InvalidArgument, match=r"filter must be a Where, got {'a': 1}"):
        Columns(BOOKS).matching({"a": 1})


def test_the_filters_load_neither_numpy_nor_a_framework():
    code = """
import sys, leafspan.filters as filters
filters.to_filter({"a": 1}).matches({"a": 1})
print(sorted({"numpy", "chromadb", "haystack", "llama_index", "langchain_core"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# Laws.

KEYS = st.sampled_from(["a", "b", "doc_id"])
TEXTS = st.sampled_from(["", "x", "y", "xy", "X", "2024-05-01", "2024-05-01T00:00Z", "2024-05-01T10:00+02:00", "2024-05"])
NUMBERS = st.sampled_from([0, 1, 2, -1, 0.0, 1.0, 1.5, 2**53, 2**53 + 1, float(2**53)])
SCALARS = TEXTS | NUMBERS | st.booleans()
LISTS = st.one_of(*(st.lists(items, min_size=1, max_size=3) for items in (TEXTS, NUMBERS, st.booleans())))
DOCUMENTS = st.lists(
    st.tuples(TEXTS, st.dictionaries(st.sampled_from(["a", "b"]), SCALARS | LISTS | st.none() | st.just([]))), max_size=8
)


@st.composite
def conditions(draw):
    key = F(draw(KEYS))
    method = draw(
        st.sampled_from(
            [
                "__eq__",
                "__ne__",
                "in_",
                "not_in",
                "contains",
                "contains_any",
                "contains_all",
                "order",
                "text_match",
                "exists",
            ]
        )
    )
    if method == "order":
        return getattr(key, draw(st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__"])))(draw(TEXTS | NUMBERS))
    if method == "exists":
        return key.exists()
    if method == "text_match":
        return key.text_match(draw(TEXTS), ignore_case=draw(st.booleans()))
    values = {"contains": SCALARS, "__eq__": SCALARS | LISTS, "__ne__": SCALARS | LISTS}.get(method, LISTS | st.just([]))
    return getattr(key, method)(draw(values))


FILTERS = st.recursive(
    conditions(),
    lambda parts: (
        parts.map(lambda part: ~part)
        | st.tuples(parts, parts).map(lambda pair: pair[0] & pair[1])
        | st.tuples(parts, parts).map(lambda pair: pair[0] | pair[1])
    ),
    max_leaves=6,
)


@examples(300)
@given(FILTERS, DOCUMENTS)
def test_columns_decide_what_matches_decides(filter, documents):
    expected = [filter.matches(metadata, document_id) for document_id, metadata in documents]
    assert Columns(documents).matching(filter).tolist() == expected


@examples(200)
@given(FILTERS)
def test_the_text_of_a_filter_builds_it_again(filter):
    again = eval(repr(filter), {"F": F})
    assert isinstance(again, Where)
    assert again == filter
    assert hash(again) == hash(filter)


@examples(200)
@given(FILTERS, FILTERS, DOCUMENTS)
def test_the_laws_of_logic_hold(one, other, documents):
    def decide(filter):
        return Columns(documents).matching(filter).tolist()

    everything = [True] * len(documents)
    assert ~~one == one
    assert decide(~(one & other)) == decide(~one | ~other)
    assert decide(~(one | other)) == decide(~one & ~other)
    assert decide(one & other) == decide(other & one)
    assert decide(one | ~one) == everything
    assert decide(~(one & ~one)) == everything
    assert decide(one & (one | other)) == decide(one)


@examples(300)
@given(FILTERS, DOCUMENTS)
def test_a_filter_known_to_match_all_or_none_does_so(filter, documents):
    told = constant(filter)
    assert told is None or Columns(documents).matching(filter).tolist() == [told] * len(documents)
    assert constant(~filter) is (None if told is None else not told)
    assert constant(filter | F("x").not_in([])) is True
    assert constant(filter & F("x").in_([])) is False
    assert constant(filter & F("x").not_in([])) is told
    assert constant(filter | F("x").in_([])) is told


@pytest.mark.parametrize(
    ("filter", "told"),
    [
        (F("x").in_([]), False),
        (F("x").not_in([]), True),
        (F("x").contains_any([]), False),
        (F("x").contains_all([]), True),
        (F("doc_id").exists(), True),
        (F("x").exists(), None),
        (F("x").in_([1]), None),
        ((F("x") == 1) | (F("x") != 1), None),  # which only a comparison of the two could tell
    ],
)
def test_a_filter_of_no_values_says_the_same_of_every_document(filter, told):
    assert constant(filter) is told


@examples(200)
@given(FILTERS, DOCUMENTS)
def test_a_document_that_matches_has_what_is_implied(filter, documents):
    matching = [(id, metadata) for id, metadata in documents if filter.matches(metadata, id)]
    try:
        values = implied(filter)
    except InvalidArgument:
        assert matching == []
        return
    for id, metadata in matching:
        assert all({**metadata, "doc_id": id}[key] == value for key, value in values.items())


@examples(100)
@given(FILTERS, FILTERS, DOCUMENTS)
def test_merged_a_runtime_filter_never_widens_the_own_one(own, runtime, documents):
    merged = apply_policy(own, runtime, "merge")
    assert not any(merged.matches(metadata, id) and not own.matches(metadata, id) for id, metadata in documents)


def test_dates_as_values_are_the_iso_texts_that_metadata_have():
    day, noon = date(2026, 5, 31), datetime(2026, 5, 31, 12, tzinfo=UTC)
    stored = {"day": "2026-05-31", "at": "2026-05-31T12:00:00+00:00", "all": ["2026-05-31"]}
    assert all(
        where.matches(stored) for where in (F("day") == day, F("at") == noon, F("day").in_([day]), F("all").contains(day))
    )
    assert not (F("day") == noon).matches(stored)


def test_values_are_of_five_kinds():
    values = ("a", 1, 1.5, True, [1], (1,), None, {"a": 1})
    assert [kind(each) for each in values] == ["text", "number", "number", "bool", "list", "list", "other", "other"]


class Grade(Enum):
    GOOD = "good"
    THIRD = 3
    MAY = date(2026, 5, 31)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (PurePosixPath("a/b.md"), "a/b.md"),
        (Grade.GOOD, "good"),
        (Grade.THIRD, 3),
        (Grade.MAY, "2026-05-31"),
        (time(10, 30), "10:30:00"),
        (Decimal("0.1"), 0.1),
        (Decimal("7.00"), 7.0),
        (Decimal(2**60 + 1), 2**60 + 1),
        (np.float32(0.5), 0.5),
    ],
    ids=str,
)
def test_what_can_be_stored_can_be_filtered_by_in_each_dialect(value: object, stored: object):
    metadata = check_document(Document("a", "Text.", metadata={"one": value, "many": [value]})).metadata
    assert metadata == {"one": stored, "many": [stored]}
    filters: list[Any] = [
        F("one") == value,
        F("one").in_([value]),
        F("many") == [value],
        F("many").contains(value),
        F("many").contains_any([value]),
        {"one": value},
        {"one": {"$in": [value]}},
        {"many": {"$contains": value}},
        {"field": "one", "operator": "==", "value": value},
        {"field": "meta.one", "operator": "in", "value": [value, None]},
        SimpleNamespace(key="one", operator="==", value=value),
        SimpleNamespace(key="one", operator="in", value=[value]),
        SimpleNamespace(key="many", operator="contains", value=value),
    ]
    for where in map(to_filter, filters):
        assert where is not None
        assert where.matches(metadata)
        assert where.matches({"one": value, "many": [value]})  # as the user has it
        assert not where.matches({"one": "another", "many": ["another"]})


@pytest.mark.parametrize("where", [{"one": {"$gte": Decimal(2)}}, {"field": "one", "operator": ">=", "value": Decimal(2)}])
def test_decimals_have_the_order_of_numbers(where: dict[str, Any]):
    prices = [Decimal("1.99"), Decimal("2.00"), Decimal("10")]
    for condition in (to_filter(where), F("one") >= Decimal(2)):
        assert condition is not None
        assert [condition.matches({"one": price}) for price in prices] == [False, True, True]
