"""Chroma's ``where`` dialect beside Chroma's own ``get(where=...)``, on a collection in memory."""

import itertools

import chromadb
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import InvalidArgument
from leafspan.filters import Columns, to_filter
from tests.profiles import examples

TEXTS = st.sampled_from(["", "a", "b", "ab", "1", "2024-05-01"])
INTS = st.sampled_from([0, 1, 2, -3])
# Chroma cuts the fraction off before it compares with ints: see below.
FLOATS = st.sampled_from([0.0, 1.0, 2.0, -3.0])
SCALARS = [TEXTS, INTS, FLOATS, st.booleans()]
LISTS = st.one_of(*(st.lists(items, min_size=1, max_size=3) for items in SCALARS))
METADATA = st.dictionaries(st.sampled_from(["k", "l"]), st.one_of(*SCALARS) | LISTS, max_size=2)

FIXED = [
    {},
    *({"k": value} for value in (0, 1, 2, 0.0, 1.0, 1.5, True, False, "", "a", "1")),
    *({"k": value} for value in ([1], [1, 2], ["a"], ["a", "b"], [True], [True, False], [1.5])),
    *({"l": value} for value in (1, "a", ["a"])),
]


@st.composite
def conditions(draw):
    operator = draw(
        st.sampled_from([None, "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$not_contains"])
    )
    if operator in ("$gt", "$gte", "$lt", "$lte"):
        operand = draw(INTS | FLOATS)
    elif operator in ("$in", "$nin"):
        operand = draw(LISTS)
    elif operator in ("$contains", "$not_contains"):
        operand = draw(TEXTS | st.booleans())  # a number only finds members of its own type there: see below
    else:
        operand = draw(st.one_of(*SCALARS))
    return {draw(st.sampled_from(["k", "l"])): operand if operator is None else {operator: operand}}


WHERES = st.recursive(
    conditions(),
    lambda parts: st.builds(
        lambda operator, filters: {operator: filters},
        st.sampled_from(["$and", "$or"]),
        st.lists(parts, min_size=2, max_size=3),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))


@pytest.fixture(scope="module")
def collection_of(client):
    """Puts documents into a new collection, and gives a function from ``where`` to the ids that match."""
    names = (f"filters-{number}" for number in itertools.count())

    def make(documents):
        collection = client.create_collection(next(names), embedding_function=None)
        collection.add(
            ids=[id for id, _ in documents],
            embeddings=[[1.0, 0.0]] * len(documents),
            metadatas=[metadata or None for _, metadata in documents],
        )
        return lambda where: set(collection.get(where=where, include=[])["ids"])

    return make


def ours(where, documents):
    filter = to_filter(where)
    matching = Columns(documents).matching(filter)
    assert matching.tolist() == [filter.matches(metadata, id) for id, metadata in documents]
    return {id for (id, _), matches in zip(documents, matching, strict=True) if matches}


def numbered(metadatas):
    return [(str(number), metadata) for number, metadata in enumerate(metadatas)]


@examples(60)
@given(st.lists(METADATA, min_size=1, max_size=12).map(numbered), st.lists(WHERES, min_size=12, max_size=12))
def test_the_same_documents_match_as_in_chroma(collection_of, documents, wheres):
    theirs = collection_of(documents)
    for where in wheres:
        assert ours(where, documents) == theirs(where)


def test_every_operator_means_the_same_for_every_type_of_value(collection_of):
    documents = numbered(FIXED)
    theirs = collection_of(documents)
    values = [0, 1, 1.0, True, False, "", "a", "1"]
    wheres = [{"k": value} for value in values]
    wheres += [{"k": {operator: value}} for operator in ("$eq", "$ne") for value in values]
    wheres += [{"k": {operator: [value]}} for operator in ("$in", "$nin") for value in values]
    wheres += [{"k": {operator: value}} for operator in ("$gt", "$gte", "$lt", "$lte") for value in (0, 1, 1.0, 2.0)]
    wheres += [{"k": {operator: value}} for operator in ("$contains", "$not_contains") for value in (True, False, "", "a")]
    for where in wheres:
        assert ours(where, documents) == theirs(where), where


@pytest.mark.parametrize(
    "where",
    [
        {"k": {"$gt": "a"}},
        {"k": {"$lt": True}},
        {"k": {"$gte": float("nan")}},
        {"k": {"$contains": ["a"]}},
        {"k": {"$in": ["a", 1]}},
        {"k": {"$in": "a"}},
        {"k": {"$like": "a"}},
        {"k": None},
        {"k": ["a"]},
        {"k": {}},
        {"$and": []},
        {"$and": {"k": 1}},
        {"$contains": "a"},
        {"$in": ["a"]},
    ],
)
def test_what_makes_no_sense_is_refused_by_both(collection_of, where):
    theirs = collection_of(numbered(FIXED))
    with pytest.raises(Exception, match=r"Expected|Invalid where"):
        theirs(where)
    with pytest.raises(InvalidArgument, match="where: "):
        to_filter(where)


# Where they differ.


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ({"k": 1, "l": "a"}, {"$and": [{"k": 1}, {"l": "a"}]}),
        ({"k": {"$gte": 0, "$lt": 2}}, {"$and": [{"k": {"$gte": 0}}, {"k": {"$lt": 2}}]}),
        ({"$and": [{"k": 1}]}, {"k": 1}),
        ({"$not": {"k": 1}}, {"k": {"$ne": 1}}),
        ({"$not": {"$and": [{"k": 1}, {"l": "a"}]}}, {"$or": [{"k": {"$ne": 1}}, {"l": {"$ne": "a"}}]}),
        ({"k": {"$in": [1, 2.0]}}, {"k": {"$in": [1, 2]}}),
    ],
)
def test_what_is_plain_in_meaning_is_taken_where_chroma_refuses_it(collection_of, where, same):
    documents = numbered([*FIXED, {"k": 1, "l": "a"}])
    theirs = collection_of(documents)
    with pytest.raises(Exception, match=r"Expected|Invalid where"):
        theirs(where)
    assert ours(where, documents) == theirs(same)


def test_no_values_and_whole_lists_are_taken_where_chroma_refuses_them(collection_of):
    documents = [("a", {"k": [1, 2]}), ("b", {"k": [1]}), ("c", {})]
    theirs = collection_of(documents)
    for where in ({"k": {"$in": []}}, {"k": {"$nin": []}}, {"k": {"$eq": [1, 2]}}, {"k": {"$ne": [1, 2]}}):
        with pytest.raises(Exception, match=r"Expected|Invalid where"):
            theirs(where)
    assert ours({"k": {"$in": []}}, documents) == set()
    assert ours({"k": {"$nin": []}}, documents) == {"a", "b", "c"}
    assert ours({"k": {"$eq": [1, 2]}}, documents) == {"a"}
    assert ours({"k": {"$ne": [1, 2]}}, documents) == {"b", "c"}


def test_numbers_are_compared_by_value_where_chroma_cuts_the_fraction_off(collection_of):
    documents = [("int", {"k": 1}), ("float", {"k": 1.5})]
    theirs = collection_of(documents)

    assert theirs({"k": 1.5}) == {"int", "float"}
    assert ours({"k": 1.5}, documents) == {"float"}
    assert theirs({"k": {"$lt": 1.5}}) == set()
    assert ours({"k": {"$lt": 1.5}}, documents) == {"int"}


def test_large_numbers_are_distinguished_where_chroma_takes_them_for_floats(collection_of):
    documents = [("odd", {"k": 2**53 + 1}), ("even", {"k": float(2**53)})]
    theirs = collection_of(documents)

    assert theirs({"k": 2**53 + 1}) == {"odd", "even"}
    assert ours({"k": 2**53 + 1}, documents) == {"odd"}


def test_a_member_is_found_by_value_as_an_equal_scalar_is_where_chroma_wants_its_very_type(collection_of):
    documents = [("ints", {"k": [1, 2]}), ("floats", {"k": [1.0, 2.0]}), ("int", {"k": 1})]
    theirs = collection_of(documents)

    assert theirs({"k": {"$contains": 1.0}}) == {"floats"}
    assert ours({"k": {"$contains": 1.0}}, documents) == {"ints", "floats"}
    assert theirs({"k": 1.0}) == ours({"k": 1.0}, documents) == {"int"}


def test_doc_id_is_the_documents_id_where_chroma_has_no_name_for_it(collection_of):
    documents = [("a", {"k": 1}), ("b", {"k": 1})]
    assert collection_of(documents)({"doc_id": "a"}) == set()
    assert ours({"doc_id": "a"}, documents) == {"a"}
