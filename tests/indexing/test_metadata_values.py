"""The values of a metadata key: each with the documents that a filter on it finds, and nothing that a view hides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, F, Index, InvalidArgument
from leafspan.agents import agent_tools
from leafspan.indexing import DocumentInfo, value_counts

SCALARS = st.one_of(
    st.sampled_from(["a", "b", "1", "True"]), st.integers(0, 2), st.sampled_from([0.0, 1.0, 1.5]), st.booleans()
)
LISTS = st.sampled_from([["a", "b"], ["b", "b"], [1, 2], [True]])


@given(st.lists(st.one_of(st.none(), SCALARS, LISTS), max_size=8))
def test_each_count_is_the_number_of_documents_that_a_filter_on_the_value_finds(values: list[Any]):
    metadata = [{} if value is None else {"key": value} for value in values]
    documents = [DocumentInfo(str(number), None, each, 1, 1, 1) for number, each in enumerate(metadata)]
    counts = value_counts(documents, "key")
    for value, count in counts:
        where = F("key").in_([value]) | F("key").contains(value)
        assert count == sum(where.matches(each) for each in metadata), value
    assert sum(count for _, count in counts) == sum(len(set(v)) if isinstance(v, list) else v is not None for v in values)
    assert [count for _, count in counts] == sorted((count for _, count in counts), reverse=True)


def test_an_index_offers_its_keys_and_their_values(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        assert index.values() == index.values("topic") == []
        index.add(
            [
                Document("tea", "Tea.", metadata={"topic": "drinks", "year": 2020}),
                Document("milk", "Milk.", metadata={"topic": "drinks"}),
                Document("bees", "Bees.", metadata={"topic": "animals", "tags": ["honey", "wings"]}),
            ]
        )
        assert index.values() == [("topic", 3), ("tags", 1), ("year", 1)]
        assert index.values("topic") == [("drinks", 2), ("animals", 1)]
        assert index.values("tags") == [("honey", 1), ("wings", 1)]
        assert index.values("missing") == []
        assert index.scoped(F("year") == 2020).values("topic") == [("drinks", 1)]
        index.add(Document("thé", "Le thé vert est une boisson que les gens boivent chaque matin dans tout le pays."))
        assert index.values("language") == [("fr", 1)]  # filters have the detected language, too
        with pytest.raises(InvalidArgument, match="key must be a string, got 7"):
            index.values(7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "where",
    [
        F("topic") == "drinks",
        {"year": {"$gte": 2020}},
        ~F("tags").exists(),
        F("doc_id") == "tea",
        F("language") == "en",
        None,
    ],
)
def test_documents_are_listed_that_a_search_with_the_filter_finds(tmp_path, where):
    with Index.open(tmp_path / "kb") as index:
        index.add(
            [
                Document("tea", "Green tea is hot, and tastes of grass.", metadata={"topic": "drinks", "year": 2020}),
                Document(
                    "bees", "Bees dance for the others in the hive.", metadata={"topic": "animals", "tags": ["wings"]}
                ),
            ]
        )
        for view in (index, index.scoped(F("topic") == "drinks")):
            found = {each.document_id for each in view.retrieve(None, "browse", where=where)}
            assert [each.id for each in view.documents(where)] == sorted(found)
        with pytest.raises(InvalidArgument):
            index.documents("topic")


async def test_the_asynchronous_twin_offers_the_same(shared_index: Index):
    assert await shared_index.avalues("topic") == shared_index.values("topic") != []
    where = F("topic") == shared_index.values("topic")[0][0]
    assert await shared_index.adocuments(where) == shared_index.documents(where) != []


def test_a_tool_lists_the_values_and_not_those_that_documents_hide(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document(f"d{n}", "Tea.", metadata={"topic": f"topic {n}"}) for n in range(3)])
        index.add(Document("secret", "Milk.", metadata={"topic": "the merger"}, hidden=("topic",)))
        outline = agent_tools(index)[2]
        first = outline.call({"key": "topic", "limit": 2}).content
        assert first["values"] == [{"value": "topic 0", "documents": 1}, {"value": "topic 1", "documents": 1}]
        assert (first["key"], first["total"], first["next_start"]) == ("topic", 3, 2)
        assert outline.call({"key": "topic", "start": 2}).content["values"] == [{"value": "topic 2", "documents": 1}]
        assert outline.call({"key": ""}).content["total"] == 4  # models fill in every argument


@given(st.integers(0, 12), st.one_of(st.none(), st.integers(0, 12)))
def test_a_part_of_the_documents_is_a_slice_of_all(shared_index: Index, start: int, limit: int | None):
    for view in (shared_index, shared_index.scoped(F("topic").exists())):
        for where in (None, F("topic").exists()):
            part = slice(start, None if limit is None else start + limit)
            assert view.documents(where, start=start, limit=limit) == view.documents(where)[part]
        assert view.count() == len(view.documents())


@pytest.mark.parametrize("options", [{"start": -1}, {"limit": -1}, {"start": "1"}, {"limit": 1.5}])
def test_a_part_is_given_by_whole_numbers(shared_index: Index, options: dict[str, Any]):
    with pytest.raises(InvalidArgument, match=rf"{next(iter(options))} must be a whole number >= 0"):
        shared_index.documents(**options)
