from __future__ import annotations

import asyncio
import copy
import enum
import os
import pickle
import re
import threading
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Config,
    DamagedIndex,
    Document,
    DocumentNotFound,
    Embedder,
    F,
    FollowReferences,
    HierarchicalSplitter,
    Index,
    IndexNotFound,
    InvalidArgument,
    LeafspanError,
    MultiQuery,
    Query,
    SentenceWindow,
    Vector,
)
from leafspan.checks import shown
from leafspan.embedding import default_embedder
from leafspan.engines import MOST_RESULTS
from leafspan.errors import ForkedProcess, IndexMismatch, InvalidDocument, UnusableResult
from leafspan.splitting import Cut
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS
from tests.profiles import examples


def test_documents_come_back_as_they_went_in(shared_index: Index):
    for document in DOCUMENTS:
        back = shared_index.get(document.id)
        assert (back.text, back.title) == (document.text, document.title)
        assert back.metadata == document.metadata


def test_documents_are_listed_in_the_order_of_their_ids(shared_index: Index):
    listed = shared_index.documents()
    assert [d.id for d in listed] == ["bees", "harbour", "tea"]
    assert [d.characters for d in listed] == [len(TEXTS[d.id]) for d in listed]
    assert [d.words for d in listed] == [len(TEXTS[d.id].split()) for d in listed]
    assert shared_index.count() == 3
    stats = shared_index.stats()
    assert stats.leaves == sum(d.leaves for d in listed) == len(shared_index.leaves())
    assert (stats.embedder, stats.dimension) == ("WordLlama(l2_supercat_256)", 256)


def test_leaves_of_a_document_give_its_text(shared_index: Index):
    assert "".join(leaf.text for leaf in shared_index.leaves("tea")) == TEXTS["tea"]


def test_adding_again_changes_nothing(index: Index):
    before = index.leaves()
    again = index.add(DOCUMENTS)
    assert (again.added, again.replaced, again.unchanged) == ((), (), 3)
    assert index.leaves() == before


def test_a_changed_document_is_replaced_whole(index: Index):
    changed = Document("tea", "Coffee is roasted. It is never green when drunk.", "Coffee", {"topic": "drinks"})
    done = index.add([changed, DOCUMENTS[0]])
    assert (done.added, done.replaced, done.unchanged) == ((), ("tea",), 1)
    assert index.get("tea") == changed
    assert {p.metadata.get("topic") for p in index.leaves("tea")} == {"drinks"}
    assert not any("Green tea" in passage.text for passage in index.retrieve(QUESTIONS[2], Vector(), k=50))


@pytest.mark.parametrize(
    "change", [{"title": "Other"}, {"metadata": {"topic": "animals"}}, {"text": "Bees."}], ids=["title", "metadata", "text"]
)
def test_every_part_of_a_document_counts_as_a_change(index: Index, change):
    document = Document(**{"id": "bees", "text": TEXTS["bees"], "title": "Honey bees", "metadata": {"a": 1}, **change})
    assert index.add(document).replaced == ("bees",)
    assert index.get("bees") == document
    assert index.repair() == []


@pytest.mark.parametrize("wrong", ["tea.md", "drinks/tea.md", "notes/drinks/teas.md"])
def test_the_error_for_an_id_that_is_nearly_one_names_the_right_one_if_the_view_shows_it(index: Index, wrong: str):
    index.add(Document("notes/drinks/tea.md", "Oolong.", metadata={"tenant": "a"}))
    message = f"there is no document '{wrong}' in the index"
    with pytest.raises(DocumentNotFound, match=f"^{message}; did you mean 'notes/drinks/tea.md'\\?$"):
        index.get(wrong)
    for view in (index.scoped({"tenant": "b"}), index.scoped({"topic": "animals"})):
        with pytest.raises(DocumentNotFound, match=f"^{message}$"):
            view.get(wrong)


def test_deleting_removes_a_document_and_nothing_else(index: Index):
    assert index.delete(["bees", "unknown", "bees"]) == ["bees"]
    assert [d.id for d in index.documents()] == ["harbour", "tea"]
    assert not [p for p in index.retrieve(QUESTIONS[0], Vector(), k=100) if p.document_id == "bees"]
    with pytest.raises(DocumentNotFound, match="there is no document 'bees' in the index"):
        index.get("bees")
    assert index.add(DOCUMENTS).added == ("bees",)
    assert index.get("bees").text == TEXTS["bees"]


def test_an_index_is_there_when_opened_again(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as first:
        first.add(DOCUMENTS)
        expected = first.retrieve_many(QUESTIONS, AutoMerging())
    with Index.open(tmp_path / "kb") as second:
        assert second.retrieve_many(QUESTIONS, AutoMerging()) == expected
        assert second.stats().splitter == SPLITTER.describe()
        assert second.add(DOCUMENTS).unchanged == 3


def test_an_empty_document_is_listed_and_has_no_leaves(index: Index):
    index.add(Document("empty", "", metadata={"a": 1}))
    assert index.get("empty") == Document("empty", "", metadata={"a": 1})
    assert index.leaves("empty") == []
    assert index.add(Document("empty", "")).replaced == ("empty",)
    assert index.delete(["empty"]) == ["empty"]
    assert index.repair() == []


def test_an_empty_index_finds_nothing(tmp_path: Path):
    with Index.open(tmp_path / "kb") as empty:
        assert empty.retrieve("anything") == []
        assert empty.retrieve_many(["one", "two"]) == [[], []]
        assert empty.retrieve_many([]) == []
        assert empty.documents() == []
        assert empty.delete(["x"]) == []
        assert empty.add([]).added == ()
        assert empty.stats().embedder is None


@examples(25, fast=10)
@given(st.lists(st.tuples(st.sampled_from(["a", "b#c", "ü/1"]), st.text(max_size=80)), max_size=4), st.data())
def test_any_sequence_of_adds_and_deletes_leaves_what_was_added_last(tmp_path_factory, steps, data):
    with Index.open(tmp_path_factory.mktemp("any") / "kb", splitter=HierarchicalSplitter(4, (8,))) as index:
        kept: dict[str, str] = {}
        for document_id, text in steps:
            if kept and data.draw(st.booleans()):
                gone = data.draw(st.sampled_from(sorted(kept)))
                index.delete([gone])
                del kept[gone]
            index.add(Document(document_id, text))
            kept[document_id] = text
        assert {d.id: index.get(d.id).text for d in index.documents()} == kept
        assert {leaf.document_id for leaf in index.leaves()} == {id_ for id_, text in kept.items() if text}
        assert index.repair() == []


def test_metadata_comes_back_with_its_types(index: Index):
    metadata = {"s": "x", "i": 2**62, "f": 0.5, "b": True, "strings": ["a", "b"], "ints": [1, 2], "bools": [True, False]}
    index.add(
        Document("m", "Text.", metadata={**metadata, "none": None, "empty": [], "tuple": (1.5, 2.5), "np": np.int64(7)})
    )
    expected = {**metadata, "tuple": [1.5, 2.5], "np": 7}
    assert index.get("m").metadata == expected
    back = index.leaves("m")[0].metadata
    assert back == expected
    assert {key: type(value) for key, value in back.items()} == {key: type(value) for key, value in expected.items()}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"doc_id": "x"}, "metadata key 'doc_id' of document 'd' is reserved"),
        ({"score": 1}, "metadata key 'score' of document 'd' is reserved"),
        ({"layer": 1}, "metadata key 'layer' of document 'd' is reserved"),
        ({"covers": "x"}, "metadata key 'covers' of document 'd' is reserved"),
        ({"leafspan": 1}, "metadata key 'leafspan' of document 'd' is reserved"),
        ({"a": {"b": 1}}, r"metadata 'a' of document 'd' must be .*, got \{'b': 1\} of type dict"),
        ({"a": [1, "x"]}, "metadata 'a' of document 'd' must be .*, got a list that mixes int and str"),
        ({"a": [1, True]}, "metadata 'a' of document 'd' must be .*, got a list that mixes bool and int"),
        ({"a": 2**63}, "metadata 'a' of document 'd' must be .*, got 9223372036854775808, which is not between -2"),
        ({1: "a"}, "metadata keys must be non-empty strings, got 1 in document 'd'"),
        ({"a": "\ud800"}, "metadata 'a' of document 'd' must be valid Unicode"),
        ("text", "metadata of document 'd' must be a mapping, got str"),
    ],
)
def test_metadata_that_cannot_be_stored_is_refused_by_document_and_key(shared_index: Index, metadata, message):
    with pytest.raises(InvalidDocument, match=message):
        shared_index.add([Document("fine", "text"), Document("d", "text", metadata=metadata)])
    assert shared_index.count() == 3


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (Document("", "text"), "a document's id must be a non-empty string, got ''"),
        (Document(7, "text"), "a document's id must be a non-empty string, got 7"),
        (Document("d", None), "the text of document 'd' must be a string, got NoneType"),
        (Document("d", "text", 5), "the title of document 'd' must be a string, got int"),
        (Document("d", "a\ud800b"), "the text of document 'd' must be valid Unicode"),
        (
            42,
            "a document must be a leafspan, LangChain, LlamaIndex or Haystack Document, a mapping, a Path or Files, got int",
        ),
        ("text", r"got 'text': for a file or folder, pass pathlib.Path\(...\)"),
        ({"text": "x"}, r"a mapping must have id and text, may have title, metadata and chunks, got keys \['text'\]"),
    ],
)
def test_documents_that_cannot_be_stored_are_refused(shared_index: Index, document, message):
    with pytest.raises(InvalidDocument, match=message):
        shared_index.add([Document("fine", "text"), document])
    assert shared_index.count() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be a whole number >= 1, got 0"),
        ({"k": 2.5}, "k must be a whole number >= 1, got 2.5"),
        ({"candidates": -1}, "candidates must be a whole number >= 1, got -1"),
        ({"candidates": MOST_RESULTS + 1}, f"candidates must be <= {MOST_RESULTS}, got {MOST_RESULTS + 1}"),
        ({"budget": 0}, "budget must be a whole number >= 1, got 0"),
        ({"where": "topic"}, "where, given as a text, must be like .*, got 'topic' in 'topic'"),
        ({"where": {"topic": {"$like": "x"}}}, "unknown operator .\\$like. in "),
        ({"strategy": 3}, r"strategy must be a strategy such as Vector\(\), got 3"),
        (
            {"strategy": "vektor"},
            r"strategy must be one of .*'tree', .*, got 'vektor'; did you mean 'vector'\?",
        ),
        ({"strategy": MultiQuery(phrasings=[[1.0]])}, "a query's vector must have 256 dimensions, got 1"),
        ({"strategy": MultiQuery(phrasings=[[1.0], [1.0]], base=Vector())}, "must have 256 dimensions, got 1"),
    ],
)
def test_bad_options_of_a_retrieval_are_refused(shared_index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        shared_index.retrieve("question", **options)


@pytest.mark.parametrize("query", ["", "  \n", None, 7, b"bytes", {"a": 1}, ["fine", ""], "a\ud800", [[]], Query()])
def test_blank_or_strange_queries_are_refused(shared_index: Index, query):
    with pytest.raises(InvalidArgument, match="a query must be"):
        shared_index.retrieve(query)


@pytest.mark.parametrize("queries", ["one", None, 7, Query("one"), {"a": "one"}])
def test_many_queries_come_in_a_list(shared_index: Index, queries):
    rule = f"queries must be a list of texts, vectors or Query values, got {shown(queries)}: for one query, call retrieve"
    with pytest.raises(InvalidArgument, match=re.escape(rule)):
        shared_index.retrieve_many(queries)
    with pytest.raises(InvalidArgument, match=re.escape(rule)):
        asyncio.run(shared_index.aretrieve_many(queries))


def test_a_strategy_that_needs_no_query_takes_blank_ones_in_a_list_too(shared_index: Index):
    expected = shared_index.retrieve("", Browse())
    assert expected
    assert shared_index.retrieve_many(["", None, " \n", "tea"], Browse()) == [expected] * 4
    assert shared_index.retrieve_many([], Browse()) == []


def test_phrasings_have_as_many_dimensions_as_a_query_that_is_a_vector(shared_index: Index):
    vector = _embed(QUESTIONS[0])
    assert shared_index.retrieve(vector, MultiQuery(base=Vector(), phrasings=[vector * 2]), k=1)
    with pytest.raises(InvalidArgument, match="a query's vector must have 256 dimensions, got 255"):
        shared_index.retrieve(vector, MultiQuery(base=Vector(), phrasings=[vector[1:]]))


def test_a_query_may_come_as_its_vector(shared_index: Index):
    vector = _embed(QUESTIONS[0])
    expected = shared_index.retrieve(QUESTIONS[0], Vector())
    for form in (vector, list(vector), Query(vector=tuple(vector)), Query(text="something else", vector=tuple(vector))):
        assert [p.id for p in shared_index.retrieve(form, Vector())] == [p.id for p in expected]
    assert [[p.id for p in row] for row in shared_index.retrieve_many(np.stack([vector, vector]), Vector())] == [
        [p.id for p in expected]
    ] * 2
    with pytest.raises(InvalidArgument, match="a query's vector must have 256 dimensions, got 3"):
        shared_index.retrieve([0.1, 0.2, 0.3])


@pytest.mark.parametrize("number", [1e-40, 1e-25, 1e-19, 1.0, 1e19, 3e38])
def test_a_query_may_be_a_very_long_or_a_very_short_vector(shared_index: Index, number: float):
    expected = shared_index.retrieve([0.5] * 256, Vector())
    found = shared_index.retrieve([number] * 256, Vector())
    assert [(p.id, p.score) for p in found] == [(p.id, pytest.approx(p.score, abs=1e-6)) for p in expected]


def test_the_mean_of_several_texts_can_be_searched(shared_index: Index):
    mean = (_embed("bees dance") + _embed("green tea")) / 2
    together = Query(text="ignored", embedding_texts=("bees dance", "green tea"))
    assert [p.id for p in shared_index.retrieve(together, Vector())] == [
        p.id for p in shared_index.retrieve(mean, Vector())
    ]


def _embed(text: str) -> np.ndarray:
    return default_embedder().queries([text])[0]


def test_more_is_asked_of_an_index_than_it_has(shared_index: Index):
    assert len(shared_index.retrieve("question", Vector(), k=1_000)) == len(shared_index.leaves())


def test_a_missing_index_is_an_error_where_none_is_to_be_made(tmp_path: Path):
    with pytest.raises(IndexNotFound, match=re.escape(f"there is no index in {str(tmp_path / 'typo')!r}")):
        Index.open(tmp_path / "typo", create=False)
    assert not (tmp_path / "typo").exists()
    Index.open(tmp_path / "kb").close()
    with pytest.raises(IndexNotFound, match="there is no index 'other' in"):
        Index.open(tmp_path / "kb", name="other", create=False)


def test_what_is_no_index_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(InvalidArgument, match="path must be a folder, got the file"):
            Index.open(tmp_path / "file", **options)
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "chroma.sqlite3").write_text("no database at all, but long enough to be taken for one" * 100)
    with pytest.raises(DamagedIndex, match="must be an SQLite database, and begins with b'no database at a'"):
        Index.open(tmp_path / "kb")


def test_several_indexes_can_share_a_folder(tmp_path: Path):
    with Index.open(tmp_path, name="one") as one, Index.open(tmp_path, name="two") as two:
        one.add(Document("a", "In one."))
        two.add(Document("b", "In two."))
        assert [d.id for d in one.documents()] == ["a"]
        assert [p.text for p in two.retrieve("in")] == ["In two."]


def test_another_splitter_is_refused_by_name(tmp_path: Path):
    Index.open(tmp_path, splitter=SPLITTER).close()
    with pytest.raises(IndexMismatch, match=r"made with splitter=.*leaf_words=12, .*cannot go on with .*leaf_words=45"):
        Index.open(tmp_path, splitter=HierarchicalSplitter())
    with pytest.raises(IndexMismatch, match="made with context_sentences=0, it cannot go on with 1"):
        Index.open(tmp_path, context_sentences=1)


def halves(text: str) -> list[Cut]:
    return [Cut(len(text) // 2), Cut(len(text))] if len(text) > 1 else [Cut(len(text))][: len(text)]


def test_an_index_made_with_a_function_needs_it_again_for_adding(tmp_path: Path):
    with Index.open(tmp_path, splitter=halves) as index:
        index.add(Document("a", "First half. Second half."))
        assert len(index.leaves("a")) == 2
    with Index.open(tmp_path) as index:
        assert len(index.retrieve("half", SentenceWindow())) == 1
        with pytest.raises(
            IndexMismatch, match=r"made with the splitter tests\.test_index\.halves; open it with that splitter"
        ):
            index.add(Document("b", "text"))


def test_a_splitter_that_loses_text_is_refused(tmp_path: Path):
    with Index.open(tmp_path, splitter=lambda text: [Cut(1)]) as index:
        with pytest.raises(
            UnusableResult, match=r"the splitter .*<lambda> must .* document 'a' .*the last cut must be at the end"
        ):
            index.add(Document("a", "text"))
        assert index.count() == 0


def test_either_a_path_or_a_client_is_given():
    with pytest.raises(InvalidArgument, match="give either a path or a client"):
        Index.open()
    with pytest.raises(InvalidArgument, match="give either a path or a client"):
        Index.open("kb", client=object())


def test_a_closed_index_says_so(tmp_path: Path):
    index = Index.open(tmp_path)
    index.close()
    with pytest.raises(LeafspanError, match="this index is closed; open it again"):
        index.retrieve("question")


def test_a_client_of_the_users_on_a_folder_shares_what_is_written(tmp_path: Path):
    client = chromadb.PersistentClient(tmp_path / "kb", settings=chromadb.Settings(anonymized_telemetry=False))
    with Index.open(client=client, splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        leaves = client.get_collection("kb.leaves", embedding_function=None)
        assert leaves.count() == len(index.leaves())
        assert leaves.query(query_embeddings=[_embed("bees")], n_results=1)["documents"][0][0] in TEXTS["bees"]
    client.heartbeat()
    client.close()


def test_leafspan_makes_clients_without_telemetry(shared_index: Index):
    assert shared_index.client.get_settings().anonymized_telemetry is False


def test_many_threads_can_read_one_index(shared_index: Index):
    expected = shared_index.retrieve_many(QUESTIONS, AutoMerging())
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(shared_index.retrieve_many(QUESTIONS, AutoMerging())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


async def test_asynchronous_twins_do_the_same(tmp_path: Path):
    index = await Index.aopen(tmp_path, splitter=SPLITTER)
    assert (await index.aadd(DOCUMENTS)).added == ("harbour", "bees", "tea")
    assert await index.acount() == 3
    assert await index.adocuments() == index.documents()
    assert await index.aget("tea") == index.get("tea")
    assert await index.aleaves("tea") == index.leaves("tea")
    assert await index.astats() == index.stats()
    assert await index.adelete(["tea"]) == ["tea"]
    assert await index.arepair() == []


async def test_asynchronous_retrieval_leaves_the_event_loop_free(index: Index):
    loop = asyncio.get_running_loop()
    entered, go_on = asyncio.Event(), threading.Event()

    def slow(texts: list[str]) -> list[list[float]]:
        loop.call_soon_threadsafe(entered.set)
        assert go_on.wait(30)
        return [_embed(text).tolist() for text in texts]

    index._embedder._is_given = True
    index._embedder._use(Embedder("slow", default_embedder().documents, slow))
    task = asyncio.create_task(index.aretrieve(QUESTIONS[0]))
    await asyncio.wait_for(entered.wait(), 30)
    # The embedder is at work, and this line runs: the loop is not blocked.
    go_on.set()
    assert await task


def test_a_client_that_is_asynchronous_is_refused_by_blocking_methods():
    class Client(chromadb.api.async_api.AsyncClientAPI):
        pass

    Client.__abstractmethods__ = frozenset()
    with pytest.raises(InvalidArgument, match=r"client must not be asynchronous here, .*: use `await Index.aopen\("):
        Index.open(client=Client())


def test_ties_go_by_document_then_position(tmp_path: Path):
    with Index.open(tmp_path, title_weight=0) as index:
        index.add([Document(id_, "The same text. ") for id_ in "zyxabc"])
        found = index.retrieve("The same text.", Vector(), k=6)
    assert [passage.document_id for passage in found] == list("abcxyz")
    assert all(-1 <= passage.score <= 1 for passage in found)


def test_ids_to_delete_may_come_from_a_generator(index: Index):
    assert index.delete(id_ for id_ in ["tea"]) == ["tea"]
    for wrong in ("tea", 7, [1]):
        with pytest.raises(InvalidArgument, match="ids must be a list of strings"):
            index.delete(wrong)
    with pytest.raises(InvalidArgument, match="give either ids or where, got ids=None and where=None"):
        index.delete(None)


@pytest.mark.parametrize("name", ["my kb", "-", "ä", "", None, 7])
def test_names_that_chroma_does_not_take_are_refused(tmp_path: Path, name):
    with pytest.raises(InvalidArgument, match="name must be letters, digits, "):
        Index.open(tmp_path, name=name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": 5}, "path must be a string or a pathlib.Path, got 5"),
        (
            {"client": "http://localhost"},
            "client must be a client of chromadb, a pool of psycopg_pool, a client of qdrant_client, or an engine, got 'http",
        ),
        ({"path": "kb", "timeout": "1"}, "timeout must be a number of seconds >= 0, got '1'"),
        ({"path": "kb", "timeout": -1}, "timeout must be a number of seconds >= 0, got -1"),
        ({"path": "kb", "context_sentences": -1}, "context_sentences must be a whole number >= 0, got -1"),
    ],
)
def test_bad_options_of_opening_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match=message):
        Index.open(**options)
    assert not (tmp_path / "kb").exists()


def test_the_cache_of_a_client_is_a_folder():
    with pytest.raises(InvalidArgument, match=r"^cache_dir must be a string or a pathlib.Path, got 5"):
        Index.open(client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), name="cached", cache_dir=5)


def test_a_home_folder_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    Index.open("~/kb").close()
    Index.open("~/kb", create=False).close()
    assert (tmp_path / "kb" / "chroma.sqlite3").exists()


def test_databases_of_one_folder_do_not_see_each_other(tmp_path: Path):
    settings = {"anonymized_telemetry": False}
    with Index.open(tmp_path) as index:
        index.add(Document("secret", "Not for others."))
        admin = chromadb.AdminClient(chromadb.Settings(is_persistent=True, persist_directory=str(tmp_path), **settings))
        admin.create_database("tenant_b")
        other = chromadb.PersistentClient(tmp_path, database="tenant_b", settings=chromadb.Settings(**settings))
        assert Index.open(client=other).documents() == []
        index.add(Document("another", "Which makes others open it again."))
        assert Index.open(client=other).documents() == []


@pytest.mark.parametrize("query", [[float("nan")] * 256, [1e39] * 256, Query(vector=(float("inf"),) * 256)])
def test_vectors_that_are_not_finite_are_refused(shared_index: Index, query):
    with pytest.raises(InvalidArgument, match="a query's vector must be of finite 32-bit numbers"):
        shared_index.retrieve(query)


def test_a_query_may_hold_an_array(shared_index: Index):
    assert shared_index.retrieve(Query(vector=_embed("bees"))) == shared_index.retrieve(_embed("bees"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"a": float("nan")}, "nan"),
        ({"#document": "x"}, "the text of a document is no metadata: '#document'"),
        ({"score": {"$gt": 0.5}}, "no document can have the metadata key 'score'"),
    ],
)
def test_filters_that_no_document_can_match_are_refused(shared_index: Index, where, message):
    with pytest.raises(InvalidArgument, match=message):
        shared_index.retrieve("question", where=where)


def test_a_filter_may_be_longer_than_chroma_takes(shared_index: Index):
    found = shared_index.retrieve("question", Vector(), where={"year": {"$in": list(range(40_000))}}, k=50)
    assert {passage.document_id for passage in found} == {"bees", "harbour"}


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (BM25, {"min_score": float("nan")}, "min_score must be a number, got nan"),
        (BM25, {"min_score": True}, "min_score must be a number, got True"),
        (BM25, {"scale": "x"}, "scale must be True or False, got 'x'"),
        (BM25, {"engine": "lucene"}, "engine must be one of 'postings', 'rank-bm25', got 'lucene'"),
        (Vector, {"min_score": float("nan")}, r"min_score must be a number in \[-1, 1\], got nan"),
        (Vector, {"min_score": 1.5}, r"min_score must be a number in \[-1, 1\], got 1.5"),
    ],
)
def test_bad_options_of_a_search_are_refused(kind, options, message):
    with pytest.raises(InvalidArgument, match=message):
        kind(**options)


def test_strategies_are_refused_as_bases_where_they_find_spans(shared_index: Index):
    with pytest.raises(
        InvalidArgument, match=r"base must be a strategy that finds single leaves, such as .*, got AutoMerging"
    ):
        SentenceWindow(base=AutoMerging())
    with pytest.raises(InvalidArgument, match=r"base must be a strategy such as Vector\(\), got 0.7"):
        AutoMerging(base=0.7)
    with pytest.raises(InvalidArgument, match=r"strategy must be a strategy such as Vector\(\), got <class"):
        shared_index.retrieve("question", AutoMerging)
    with pytest.raises(InvalidArgument, match=r"target 'a' must be a strategy such as .*; its as_strategy\(\) makes one"):
        FollowReferences(targets={"a": shared_index})


def test_what_is_listed_can_be_changed_without_changing_the_index(shared_index: Index):
    shared_index.documents()[0].metadata["mine"] = 1
    shared_index.get("bees").metadata["mine"] = 1
    assert "mine" not in shared_index.documents()[0].metadata


def test_an_enumeration_of_texts_is_stored_as_its_text(index: Index):
    class Colour(str, enum.Enum):  # noqa: UP042 - not a StrEnum, whose str() is its text
        RED = "red"

    index.add(Document("m", "Text.", metadata={"colour": Colour.RED}))
    assert index.leaves("m")[0].metadata == {"colour": "red"}


def test_a_word_counts_once_though_leaves_cut_it(tmp_path: Path):
    with Index.open(tmp_path, splitter=HierarchicalSplitter(leaf_words=2, parent_words=(8,))) as index:
        index.add(Document("a", "x" * 60 + " two"))
        assert next(leaf.end for leaf in index.leaves()) < 60
        assert index.documents()[0].words == 2


async def test_splitting_leaves_the_event_loop_free(tmp_path: Path):
    loop_thread = threading.get_ident()
    seen = []

    def watching(text: str) -> list[Cut]:
        seen.append(threading.get_ident() == loop_thread)
        return [Cut(len(text))]

    index = await Index.aopen(tmp_path, splitter=watching)
    await index.aadd([Document("a", "One."), Document("b", "Two.")])
    assert seen == [False, False]


def test_metadata_keeps_one_order_from_call_to_call(index: Index):
    index.add(Document("many", "Cats sleep.", metadata={"tags": ["a"], "year": 2020, "draft": False, "lang": "en"}))
    orders = {tuple(index.retrieve("cats", Vector(), where={"doc_id": "many"})[0].metadata) for _ in range(20)}
    assert orders == {("draft", "lang", "tags", "year")}


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_an_index_behind_a_client_is_neither_pickled_nor_copied_and_says_what_to_do(duplicate):
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    index = Index.open(client=client, name="not-pickled")
    for view, name in ((index, "Index"), (index.scoped(F("year").exists()), "View"), ({"kb": [index]}, "Index")):
        with pytest.raises(
            TypeError, match=f"cannot pickle or copy a {name} over a client, .*: open the index again where"
        ):
            duplicate(view)


def test_views_are_equal_where_they_show_the_same_of_the_same_index(index: Index, tmp_path: Path):
    old = F("year") < 1900
    assert index.scoped(old) == index.scoped({"year": {"$lt": 1900}})
    assert len({index.scoped(old), index.scoped(old), index, index}) == 2
    others = [index.scoped(F("year") < 1901), index.scoped(old, share_statistics=True), index.scoped(old).scoped(old), "kb"]
    assert not any(index.scoped(old) == other for other in [index, *others])
    with Index.open(tmp_path / "another") as another:
        assert index != another
        assert index.scoped(old) != another.scoped(old)


def test_a_forked_process_must_open_an_index_in_memory_again(monkeypatch: pytest.MonkeyPatch):
    index = Index.open(client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)), name="forked")
    child = os.getpid() + 1
    monkeypatch.setattr("leafspan.engines.chroma._chroma.os.getpid", lambda: child)
    with pytest.raises(ForkedProcess, match="cannot be used in a forked process, this one was opened in process"):
        index.count()


@pytest.mark.slow
def test_more_results_of_many_queries_than_chroma_gives_at_once(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add([Document(str(n), f"The number {n} is in leaf {n}.") for n in range(90)])
        queries = [f"number {n % 90}" for n in range(420)]
        rows = index.retrieve_many(queries, Vector(), k=80, candidates=80)
        assert sum(map(len, rows)) == 420 * 80 > 32_766
        assert rows[:90] == rows[90:180] == index.retrieve_many(queries[:90], Vector(), k=80, candidates=80)


def test_whole_numbers_of_numpys_are_stored_and_asked_as_plain_ones(tmp_path: Path):
    splitter = HierarchicalSplitter(np.int64(8), (np.int64(16), np.int64(32)))
    assert repr(splitter) == repr(HierarchicalSplitter(8, (16, 32)))
    with Index.open(tmp_path / "kb", splitter=splitter, context_sentences=np.int64(1)) as index:
        index.add(DOCUMENTS)
        limits = {"k": 2, "candidates": 20, "budget": 90}
        found = index.retrieve(QUESTIONS[0], **limits)
        for number in (np.int64, np.uint16, np.array):
            assert index.retrieve(QUESTIONS[0], **{name: number(limit) for name, limit in limits.items()}) == found
        assert index.surroundings(found[0].id, before=np.int64(1), after=np.int64(1)) == index.surroundings(
            found[0].id, before=1, after=1
        )
    with Index.open(tmp_path / "kb", splitter=HierarchicalSplitter(8, (16, 32)), context_sentences=1) as again:
        assert again.retrieve(QUESTIONS[0], **limits) == found


def test_a_configuration_is_written_with_plain_numbers_in_place_of_numpys(tmp_path: Path):
    config = Config(k=np.int64(2), candidates=np.int32(20), budget=np.uint8(90), context_sentences=np.int64(1))
    config.save(tmp_path / "kb.yaml")
    assert Config.load(tmp_path / "kb.yaml") == config == Config(k=2, candidates=20, budget=90, context_sentences=1)
