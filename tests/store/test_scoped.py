from __future__ import annotations

import dataclasses
import math
import uuid
from collections.abc import Iterator
from itertools import count

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

import leafspan.strategies
from leafspan import (
    AutoMerging,
    Document,
    DocumentNotFound,
    HierarchicalSplitter,
    HostRetriever,
    Index,
    InvalidArgument,
    LeafspanError,
    ParentDocument,
    Query,
    SentenceWindow,
    Vector,
)
from leafspan.errors import IndexMismatch, InvalidDocument
from leafspan.filters import F, Where
from leafspan.flows import run
from leafspan.indexing import AddOptions
from leafspan.lexical import BM25Settings
from leafspan.store import Catalogue, Row, Scope
from leafspan.strategies import (
    BM25,
    AtLeast,
    Browse,
    Decay,
    Ensemble,
    Filtered,
    FollowReferences,
    HostResult,
    Hybrid,
    MultiQuery,
    OtherIndex,
    OverBase,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    Strategy,
    Tree,
    Watched,
)
from leafspan.trees import Bisecting, Extractive
from tests.profiles import THOROUGH, examples, quick

A, B = F("tenant") == "a", F("tenant") == "b"
AT_A, AT_B = Scope(A).suffix, Scope(B).suffix  # what ends the stored ids of their documents
SPLITTER = HierarchicalSplitter(leaf_words=6, parent_words=(12, 24))
WORDS = ["budget", "salary", "merger", "lawsuit", "harbour", "honey", "tea", "dance"]
DIMENSION = 16
_DIRECTIONS = dict(zip(WORDS, np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)), strict=True))
_names = count()


def embed(texts: list[str]) -> list[list[float]]:
    """A direction for each word; texts of the same words have the same vector, to the digit."""
    known = [sorted({word.strip(".").lower() for word in text.split()} & _DIRECTIONS.keys()) for text in texts]
    sums = np.array([sum((_DIRECTIONS[word] for word in words), np.full(DIMENSION, 0.01)) for words in known])
    return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).tolist()


@pytest.fixture(scope="module")
def client():
    return chromadb.EphemeralClient(Settings(anonymized_telemetry=False))


def in_memory(client) -> Index:
    """A new index in memory."""
    return Index.open(client=client, name=f"kb{next(_names)}-{uuid.uuid4().hex[:6]}", embedder=embed, splitter=SPLITTER)


@pytest.fixture
def index(client) -> Iterator[Index]:
    with in_memory(client) as opened:
        yield opened


@pytest.fixture(params=quick(2, ["folder", "memory", "server"]))
def anywhere(request, tmp_path, client) -> Iterator[Index]:
    """An empty index of each kind."""
    if request.param == "folder":
        opened = Index.open(tmp_path / "kb", embedder=embed, splitter=SPLITTER)
    elif request.param == "memory":
        opened = in_memory(client)
    else:
        host, port = request.getfixturevalue("chroma_server")
        opened = in_memory(chromadb.HttpClient(host=host, port=port))
    with opened:
        yield opened


def shown(view) -> list[str]:
    return [document.id for document in view.documents()]


def ids(passages) -> list[str]:
    return [passage.document_id for passage in passages]


def observed(do) -> object:
    """The result, or the error and all that it says."""
    try:
        return do()
    except LeafspanError as error:
        return type(error), str(error), getattr(error, "__notes__", [])


# Adding: stamping and checking.


def test_what_is_added_gets_the_values_that_the_filter_asks_for(index):
    view = index.scoped((F("tenant") == "a") & (F("year") == 2024) & (F("language") != "de"))
    view.add(Document("plan", "The budget.", None, {"topic": "money"}))
    assert view.get("plan").metadata == {"tenant": "a", "year": 2024, "topic": "money"}
    assert view.retrieve("budget", Vector())[0].metadata == {"tenant": "a", "year": 2024, "topic": "money"}


def test_a_document_that_contradicts_the_filter_is_refused_and_nothing_is_written(index):
    view = index.scoped(A)
    with pytest.raises(InvalidDocument, match=r"'spy' must match the filter of this view, F\('tenant'\) == 'a'"):
        view.add([Document("good", "The budget."), Document("spy", "The merger.", None, {"tenant": "b"})])
    assert index.count() == 0


def test_a_filter_that_gives_no_value_only_checks(index):
    view = index.scoped(F("year") >= 2020)
    view.add(Document("new", "The budget.", None, {"year": 2024}))
    for metadata in ({"year": 2019}, {"year": "2024"}, {}):
        with pytest.raises(InvalidDocument, match="must match the filter"):
            view.add(Document("old", "The budget.", None, metadata))
    assert shown(view) == ["new"]


@pytest.mark.parametrize("value", [2**70, "\ud800"])
def test_a_value_of_the_filter_that_cannot_be_stored_is_refused_like_one_of_the_document(index, value):
    with pytest.raises(InvalidDocument, match="metadata 'tenant' of document 'plan' must be"):
        index.scoped(F("tenant") == value).add(Document("plan", "The budget."))
    assert index.count() == 0


def test_nothing_can_be_added_where_no_document_can_match(index):
    with pytest.raises(InvalidDocument, match="no document can match the filter of this view"):
        index.scoped(A).scoped(B).add(Document("plan", "The budget."))


# Ids of its own.


def test_two_views_can_have_documents_of_one_id(index):
    a, b = index.scoped(A), index.scoped(B)
    assert a.add(Document("plan", "The budget of a.")).added == ("plan",)
    assert b.add(Document("plan", "The merger of b.")).added == ("plan",)
    assert (a.get("plan").text, b.get("plan").text) == ("The budget of a.", "The merger of b.")
    assert shown(index) == sorted([f"plan{AT_A}", f"plan{AT_B}"])
    assert index.get(f"plan{AT_A}").text == "The budget of a."
    assert b.delete(["plan"]) == ["plan"]
    assert (shown(a), shown(b)) == (["plan"], [])


def test_a_view_replaces_and_skips_its_own(index):
    view = index.scoped(A)
    view.add(Document("plan", "The budget."))
    assert view.add(Document("plan", "The budget.")).unchanged == 1
    assert view.add(Document("plan", "The salary.")).replaced == ("plan",)
    assert (index.count(), view.get("plan").text) == (1, "The salary.")


def test_a_visible_document_that_was_added_to_the_whole_index_is_replaced_where_it_is(index):
    index.add(Document("plan", "The budget.", None, {"tenant": "a"}))
    view = index.scoped(A)
    assert view.add(Document("plan", "The salary.")).replaced == ("plan",)
    assert shown(index) == ["plan"]
    assert index.get("plan").metadata == {"tenant": "a"}


def test_a_document_that_others_have_under_that_id_in_the_whole_index_is_left_alone(index):
    index.add([Document("plan", "The merger.", None, {"tenant": "b"}), Document("note", "Tea.")])
    view = index.scoped(A)
    assert view.add([Document("plan", "The budget."), Document("note", "Honey.")]).added == ("plan", "note")
    assert (index.get("plan").text, index.get("note").text) == ("The merger.", "Tea.")


def test_of_two_documents_of_one_id_the_view_s_own_is_shown(index):
    view = index.scoped(A)
    view.add(Document("plan", "The budget."))
    index.add(Document("plan", "The salary.", None, {"tenant": "a"}))
    assert (shown(view), view.get("plan").text, view.count(), view.stats().leaves) == (["plan"], "The budget.", 1, 1)
    assert [passage.text for passage in view.retrieve("salary", Vector())] == ["The budget."]
    view.delete(["plan"])
    assert view.get("plan").text == "The salary."


STRANGE = ["a#1", "#", "plan#00000000#0", "@", f"plan{AT_A}", f"plan{AT_A}{AT_A}", f"plan{AT_A}~2", f"{AT_A}~2", AT_A]
STRANGE += [f"plan{AT_B}", "plän 🫖", "a\nb", "a/b?c=%00", " ", "leafspan"]


@pytest.mark.parametrize("name", STRANGE)
def test_a_document_can_have_any_id(index, name):
    a, b = index.scoped(A), index.scoped(B)
    for view, text in ((a, "The budget."), (b, "The merger.")):
        assert view.add([Document(name, text), Document("plan", "Tea.")]).added == (name, "plan")
    for view, text in ((a, "The budget."), (b, "The merger.")):
        assert shown(view) == sorted([name, "plan"])
        assert view.get(name).text == text
        assert [passage.text for passage in view.leaves(name)] == [text]
        assert view.retrieve(text, BM25())[0].id.startswith(f"{name}#")
        assert view.add(Document(name, text)).unchanged == 1
    assert a.delete([name]) == [name]
    assert (shown(a), shown(b)) == (["plan"], sorted([name, "plan"]))


def test_the_stored_id_of_another_s_document_names_nothing(index):
    a, b = index.scoped(A), index.scoped(B)
    b.add(Document("plan", "The merger."))
    stolen = f"plan{AT_B}"
    with pytest.raises(DocumentNotFound):
        a.get(stolen)
    assert a.delete([stolen, "plan"]) == []
    assert a.add(Document(stolen, "The budget.")).added == (stolen,)
    assert (b.get("plan").text, shown(b), shown(a)) == ("The merger.", ["plan"], [stolen])


def test_a_document_that_becomes_another_s_is_gone_and_its_id_is_free(index):
    a = index.scoped(A)
    for round_ in range(3):
        assert a.add(Document("plan", "The budget.")).added == ("plan",)
        (stored,) = [id_ for id_ in shown(index.scoped(A & F("doc_id").exists())) if id_.startswith("plan")]
        index.add(Document(stored, f"The merger {round_}.", None, {"tenant": "b"}))
        assert shown(a) == []
        assert a.delete(["plan"]) == []
    assert a.add(Document("plan", "The salary.")).added == ("plan",)
    assert a.add(Document("plan", "The tea.")).replaced == ("plan",)
    assert [passage.text for passage in a.retrieve("tea", BM25())] == ["The tea."]
    assert sorted(document.text for document in map(index.get, shown(index.scoped(B)))) == [
        f"The merger {round_}." for round_ in range(3)
    ]


def test_one_id_twice_in_an_add_is_refused_by_the_id_that_was_given(index):
    with pytest.raises(InvalidDocument, match="two different documents of one add have the id 'plan'"):
        index.scoped(A).add([Document("plan", "Tea."), Document("plan", "Honey.")])


# What a view shows.


def test_everything_shows_the_documents_that_match_and_no_other(anywhere):
    a = anywhere.scoped(A)
    anywhere.add([Document("b1", "The budget.", None, {"tenant": "b"}), Document("none", "The budget.")])
    a.add([Document("a2", "The budget. The salary."), Document("a1", "The honey.")])
    assert shown(a) == ["a1", "a2"]
    assert a.count() == 2
    assert (a.stats().documents, a.stats().words, a.stats().characters) == (2, 2 + 4, 10 + 23)
    assert [passage.document_id for passage in a.leaves()] == ["a1", "a2"]
    assert a.values("tenant") == [("a", 2)]
    a.build_tree()
    anywhere.build_tree(across_documents=True)
    trees = (Tree(), Tree(base=BM25()), Tree(mode="traversal"), Vector(summaries=True), BM25(summaries=True))
    for strategy in (Vector(), BM25(), Browse(), Hybrid(), AutoMerging(), ParentDocument(base=BM25()), *trees):
        assert set(ids(a.retrieve("The budget", strategy, k=10))) <= {"a1", "a2"}
        assert a.retrieve("The budget", strategy, where=B) == []
        assert a.retrieve("The budget", strategy, where=~A) == []
    assert ids(a.retrieve("The budget", Vector(), k=10)) == ["a2", "a1"]
    assert ids(a.retrieve("The budget", Vector(), k=10, where=B | F("doc_id").text_match("a1"))) == ["a1"]
    for hidden in ("b1", "none", f"a1{AT_A}"):
        with pytest.raises(DocumentNotFound, match="there is no document"):
            a.get(hidden)
        with pytest.raises(DocumentNotFound, match="there is no document"):
            a.leaves(hidden)
    assert a.delete(["b1", "none", "a1"]) == ["a1"]
    assert shown(anywhere) == sorted([f"a2{AT_A}", "b1", "none"])


async def test_each_method_has_an_asynchronous_twin(anywhere):
    a = anywhere.scoped(A)
    await anywhere.aadd(Document("plan", "The merger.", None, {"tenant": "b"}))
    assert (await a.aadd(Document("plan", "The budget."))).added == ("plan",)
    assert [document.id for document in await a.adocuments()] == ["plan"]
    assert await a.avalues("tenant") == [("a", 1)]
    assert (await a.aget("plan")).text == "The budget."
    assert [passage.text for passage in await a.aleaves()] == ["The budget."]
    assert (await a.acount(), (await a.astats()).documents) == (1, 1)
    assert (await a.abuild_tree()).built == ("plan",)
    assert await a.asummaries() == []  # of a single leaf there is nothing to summarise
    for strategy in (Vector(), BM25(), Browse(), Hybrid(), Tree(), Tree(mode="traversal")):
        assert [passage.text for passage in await a.aretrieve("merger budget", strategy)] == ["The budget."]
    assert await a.adelete(["plan"]) == ["plan"]
    assert await a.aretrieve("merger", Vector()) == []
    assert await anywhere.acount() == 1


def test_a_query_that_is_a_vector_sees_no_more_than_a_text(index):
    a, b = index.scoped(A), index.scoped(B)
    a.add(Document("plan", "The budget."))
    b.add(Document("plan", "The merger."))
    (stolen,) = embed(["merger"])
    for query in (stolen, Query(vector=tuple(stolen)), Query("merger", vector=tuple(stolen))):
        assert [passage.text for passage in a.retrieve(query, Vector(), k=50)] == ["The budget."]
    assert a.retrieve_many([stolen, stolen], Vector(), k=50, where=B) == [[], []]


def test_pages_hold_only_what_the_view_shows(index):
    index.add([Document(f"b{n}", "The merger.", None, {"tenant": "b"}) for n in range(5)])
    a = index.scoped(A)
    a.add([Document(f"{n}", "The budget. " * 9) for n in range(3)])
    pages = [a.retrieve(None, Browse(offset=offset), k=4) for offset in range(0, 24, 4)]
    assert [passage for page in pages for passage in page] == a.retrieve(None, Browse(), k=24)
    assert {passage.document_id for page in pages for passage in page} == {"0", "1", "2"}
    assert sum(map(len, pages)) == a.stats().leaves


def test_many_more_leaves_of_others_take_no_place(index):
    a = index.scoped(A)
    a.add([Document(f"{n}", "The budget tea.") for n in range(3)])
    index.add([Document(f"b{n}", "The budget.", None, {"tenant": "b"}) for n in range(300)])
    assert ids(a.retrieve("budget", Vector(), candidates=2, k=2)) == ["0", "1"]
    assert ids(a.retrieve("budget", BM25(), candidates=2, k=2)) == ["0", "1"]
    assert len(a.retrieve("budget", Vector(), k=100)) == 3


@pytest.mark.parametrize("others", [0, 3, 300])
def test_equal_leaves_tie_among_any_others(index, others):
    a = index.scoped(A)
    index.add([Document(f"b{n}", "The budget.", None, {"tenant": "b"}) for n in range(others)])
    a.add([Document(f"{n:02}", "The budget tea.") for n in range(40)])
    assert ids(a.retrieve("budget", Vector(), k=7, candidates=7)) == [f"{n:02}" for n in range(7)]
    assert len({passage.score for passage in a.retrieve("budget", Vector(), k=40)}) == 1


# Filters.


@pytest.mark.parametrize(
    "where",
    [
        {"tenant": "a"},
        {"tenant": {"$in": ["a"]}},
        {"field": "meta.tenant", "operator": "==", "value": "a"},
        MetadataFilters(filters=[MetadataFilter(key="tenant", value="a")]),
    ],
)
def test_a_scope_may_be_in_any_dialect(index, where):
    index.add([Document("a", "Tea.", None, {"tenant": "a"}), Document("b", "Tea.", None, {"tenant": "b"})])
    assert shown(index.scoped(where)) == ["a"]


@pytest.mark.parametrize(
    "where",
    [
        None,
        {},
        {"$and": [{}]},
        MetadataFilters(filters=[]),
        {"operator": "AND", "conditions": []},
        {"operator": "NOT", "conditions": [{"operator": "OR", "conditions": []}]},
        {"tenant": {"$nin": []}},
        {"$or": [{"tenant": "a"}, {"tenant": {"$nin": []}}]},
        F("tenant").not_in([]),
        ~F("tenant").in_([]),
        ~F("tenant").contains_any([]),
        F("tenant").contains_all([]),
        F("tenant").not_in([]) & ~F("year").contains_any([]),
        ~(F("tenant").in_([]) & (F("year") > 2020)),
        F("doc_id").exists(),
    ],
    ids=repr,
)
def test_a_scope_that_shows_everything_is_refused(index, where):
    with pytest.raises(InvalidArgument, match="a scope must have a filter that says what it shows"):
        index.scoped(where)
    with pytest.raises(InvalidArgument, match="a scope must have a filter"):
        index.scoped(A).scoped(where)


def test_a_scope_that_shows_nothing_is_one(index):
    index.add(Document("a", "Tea.", None, {"tenant": "a"}))
    assert shown(index.scoped(F("tenant").in_([]))) == []


def test_a_view_within_a_view_can_only_narrow(index):
    index.add([Document("a", "Tea.", None, {"tenant": "a", "year": 1}), Document("b", "Tea.", None, {"tenant": "b"})])
    index.add(Document("a2", "Tea.", None, {"tenant": "a", "year": 2}))
    a = index.scoped(A)
    for where, seen in (
        (F("year") > 1, ["a2"]),
        (B, []),
        (~A, []),
        (B | ~B, ["a", "a2"]),
        (F("doc_id").in_(["a", "b"]), ["a"]),
        ({"$or": [{"tenant": "b"}, {"year": 1}]}, ["a"]),
    ):
        view = a.scoped(where)
        assert shown(view) == seen
        assert sorted(set(ids(view.retrieve("Tea", Vector(), k=9)))) == seen
        assert sorted(ids(view.retrieve("Tea", BM25(), k=9, where=~F("x").exists()))) == seen
        assert view.delete(["b"]) == []
    assert index.count() == 3


def test_the_order_of_narrowing_does_not_matter(index):
    recent = F("year") >= 2020
    one, other, both = index.scoped(A).scoped(recent), index.scoped(recent).scoped(A), index.scoped(recent & A)
    one.add(Document("plan", "The budget.", None, {"year": 2024}))
    assert [shown(view) for view in (one, other, both)] == [["plan"]] * 3
    assert other.add(Document("plan", "The salary.", None, {"year": 2025})).replaced == ("plan",)
    assert both.delete(["plan"]) == ["plan"]
    assert index.count() == 0


def test_a_document_that_two_views_show_can_be_taken_from_one_by_the_other_and_both_go_on(index):
    a, b = (index.scoped(F("tenants").contains(name)) for name in "ab")
    a.add(Document("plan", "The budget.", None, {"tenants": ["a", "b"]}))
    (seen,) = shown(b)
    assert b.add(Document(seen, "The merger.", None, {"tenants": ["b"]})).replaced == (seen,)
    assert shown(a) == []
    assert a.add(Document("plan", "The budget.", None, {"tenants": ["a"]})).added == ("plan",)
    assert (a.get("plan").text, b.get(seen).text) == ("The budget.", "The merger.")


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_what_is_done_to_a_result_changes_nothing_for_others(tmp_path, client, kind):
    path = tmp_path / "kb"
    index = Index.open(path, embedder=embed, splitter=SPLITTER) if kind == "folder" else in_memory(client)
    index.add(Document("plan", "The budget tea. The honey dance. " * 3, None, {"tenant": "a", "readers": ["a", "b"]}))
    a = index.scoped(A)
    a.build_tree()
    summaries = [a.summaries()[0], *a.retrieve("budget", Tree(mode="traversal", end_layer=1), k=1)]
    assert all(summary.layer for summary in summaries)
    results = [a.documents()[0], a.get("plan"), a.retrieve("budget", Vector())[0], *summaries]
    for metadata in [result.metadata for result in results]:
        metadata["readers"].remove("b")
        metadata["tenant"] = "c"
    assert shown(index.scoped(F("readers").contains("b"))) == ["plan"]
    assert shown(a) == ["plan"]


# Retrievers of a host.


def outside(*results) -> HostRetriever:
    """A retriever that returns leaves of these ids for every question."""
    answers = [HostResult(id_, "", None) for id_ in results]

    async def aask(question):
        return answers

    return HostRetriever("theirs", lambda question: answers, aask)


async def test_guessed_ids_of_leaves_that_exist_and_that_do_not_are_alike(index):
    a, b = index.scoped(A), index.scoped(B)
    a.add(Document("plan", "The budget."))
    b.add(Document("plan", "The merger."))
    (own,) = (passage.id for passage in a.leaves())
    index.add(Document("raw", "The lawsuit.", None, {"tenant": "b"}))
    real = [passage.id for passage in index.leaves() if passage.metadata["tenant"] == "b"]
    assert len(real) == 2
    unreal = [id_.replace("#", "#0") for id_ in real]
    for guess in [*real, *unreal]:
        strategy = outside(guess, own)
        (passage,) = a.retrieve("q", strategy)
        assert (passage.id, passage.text, passage.score) == (
            own,
            "The budget.",
            1 / 1,  # what stood before it leaves no gap
        )
        assert await a.aretrieve("q", strategy) == [passage]
        for wider in (AutoMerging, SentenceWindow, ParentDocument):
            assert a.retrieve("q", wider(base=outside(guess))) == []
    for guess in (*real, *unreal):
        longer = f"{guess.rpartition('#')[0]}#0-7"
        assert a.retrieve("q", outside(longer)) == []


def test_a_runtime_filter_holds_for_what_a_host_s_retriever_finds(index):
    a = index.scoped(A)
    a.add(Document("plan", "The budget."))
    (own,) = (passage.id for passage in a.leaves())
    assert len(a.retrieve("q", outside(own), where=F("doc_id") == "plan")) == 1
    assert a.retrieve("q", outside(own), where=F("doc_id") == f"plan{AT_A}") == []


# What is kept in memory, and other writers.


def test_few_views_are_remembered_however_many_are_asked():
    catalogue = Catalogue({"plan": Row("plan", "", "v", 1)})
    kept = [catalogue.visible_to(Scope(F("user") != n)) for n in range(1000)]
    assert all(view.leaves == 1 for view in kept)
    assert len(catalogue._visible._values) < 200


@pytest.mark.parametrize("do", ["delete", "add"])
def test_a_view_does_not_clear_up_after_a_writer_of_another_s_document_who_is_still_at_work(client, do):
    """Two processes behind a server: one writes a document of b, the other does what it can to that id through a's view."""
    theirs, ours = (Index.open(client=client, name=f"busy-{do}", embedder=embed, splitter=SPLITTER) for _ in range(2))
    theirs.add(Document("plan", "The merger.", None, {"tenant": "b"}))
    flow = theirs._ingest(Document("plan", "The lawsuit. The salary.", None, {"tenant": "b"}), AddOptions(progress=False))
    answer = None
    while True:  # until the leaves have been written, and the manifest not yet turned to them
        call = flow.send(answer)
        answer = call.function(*call.arguments, **call.options)
        if getattr(call.function, "__name__", "") == "add":
            break
    a = ours.scoped(A)
    assert (a.delete(["plan"]) == []) if do == "delete" else a.add(Document("plan", "The budget.")).added
    run(_going_on(flow, answer))
    assert theirs.get("plan").text == "The lawsuit. The salary."
    assert theirs.repair() == []


def _going_on(flow, answer):
    while True:
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = yield request


# Trees.

LONG_A = "The budget tea. The honey dance. The harbour tea. The salary."
LONG_B = "The merger. The lawsuit. The merger salary. The harbour lawsuit. The budget."


def covered(passage) -> set[str]:
    """The documents that a summary is of."""
    return {run.document_id for run in passage.summary.covers}


@pytest.fixture
def planted(anywhere) -> Index:
    """Two documents each of two tenants, with trees and with layers above all of them."""
    for view, text in ((anywhere.scoped(A), LONG_A), (anywhere.scoped(B), LONG_B)):
        view.add([Document("plan", text), Document("note", text + " The dance.")])
    anywhere.build_tree(across_documents=True, clusterer=Bisecting(size=3))
    return anywhere


def test_a_summary_is_seen_only_where_every_document_that_it_covers_is(planted):
    everything = planted.summaries()
    assert {f"plan{AT_A}", f"plan{AT_B}"} <= set.union(*map(covered, everything))
    assert any(f"plan{AT_A}" in covered(each) and f"plan{AT_B}" in covered(each) for each in everything)
    own = {f"plan{AT_A}", f"note{AT_A}"}
    texts = {each.text for each in everything if covered(each) <= own}
    traversal = Tree(mode="traversal", top_k=9, end_layer=1)
    for view, options, names in (
        (planted, {"where": A}, own),
        (planted.scoped(A), {}, {"plan", "note"}),
        (planted.scoped(A), {"where": ~B}, {"plan", "note"}),
        (planted.scoped(A, share_statistics=True), {}, {"plan", "note"}),
    ):
        for query, strategy in (
            ("merger", traversal),
            ("tea", Tree(keep_covered_summaries=True)),
            ("lawsuit", Vector(summaries=True)),
        ):
            found = [each for each in view.retrieve(query, strategy, k=50, **options) if each.summary]
            assert found
            assert set.union(*map(covered, found)) <= names
            assert {each.text for each in found} <= texts
            assert not {"merger", "lawsuit"} & set(" ".join(each.text for each in found).split())
    hidden = planted.scoped(A & (F("doc_id") == f"plan{AT_A}"))
    assert {name for each in hidden.summaries() for name in covered(each)} == {"plan" + AT_A}


def test_summaries_and_their_numbers_match_the_view(planted):
    a, everything = planted.scoped(A), planted.summaries()
    seen = a.summaries()
    assert [each.text for each in a.summaries("plan")] == [each.text for each in planted.summaries(f"plan{AT_A}")]
    assert {each.document_id for each in seen} == {"plan", "note"}
    stats, all_stats = a.stats(), planted.stats()
    assert (stats.trees, all_stats.trees) == (2, 4)
    assert (stats.summaries, all_stats.summaries) == (len(seen), len(everything))
    assert stats.layers == max(each.layer for each in seen) < all_stats.layers == max(each.layer for each in everything)
    for hidden in ("nothing", f"plan{AT_A}", f"plan{AT_B}"):
        with pytest.raises(DocumentNotFound, match="there is no document"):
            a.summaries(hidden)


def test_of_the_layers_above_trees_a_view_sees_those_that_it_built(planted):
    a = planted.scoped(A)
    assert all(len(covered(each)) == 1 for each in a.summaries())
    a.build_tree(across_documents=True, clusterer=Bisecting(size=3))
    (top,) = (each for each in a.summaries() if len(covered(each)) > 1)
    assert (covered(top), top.document_id, top.metadata) == ({"plan", "note"}, "", {})
    narrower = a.scoped(F("doc_id").exists() & F("tenant").exists())
    assert all(len(covered(each)) == 1 for each in narrower.summaries())
    shared = planted.scoped(A, share_statistics=True)  # tells a little of what else there is
    assert top in shared.summaries()


def test_building_in_a_view_touches_nobody_else_s_trees(planted):
    a, b = planted.scoped(A), planted.scoped(B)
    b.build_tree(across_documents=True, clusterer=Bisecting(size=3))

    def others() -> object:
        theirs = [each for each in planted.summaries() if covered(each) & {f"plan{AT_B}", f"note{AT_B}"} == covered(each)]
        return b.summaries(), b.stats(), theirs

    before = others()
    for options in (
        {"across_documents": True},
        {"max_layers": 1},
        {"summarizer": first_words},
        {},
    ):
        built = observed(lambda options=options: a.build_tree(clusterer=SMALL, **options))
        assert others() == before
        if options:
            assert set(built.built) <= {"plan", "note"}
            assert built.failed == ()
    a.delete(["plan"])
    assert others() == before


def test_a_second_tenant_s_equal_texts_are_summarised_again(anywhere):
    asked = []

    def summarize(texts: list[str]) -> str:
        asked.append(texts)
        return first_words(texts)

    a, b = anywhere.scoped(A), anywhere.scoped(B)
    for view in (a, b):
        view.add([Document("plan", LONG_A), Document("note", LONG_B)])
    built = a.build_tree(summarizer=summarize, clusterer=SMALL, across_documents=True)
    first = sorted(asked)
    assert built.asked == len(first) == 3  # of each document, and of both
    again = a.build_tree(summarizer=summarize, clusterer=SMALL, across_documents=True)
    assert (again.asked, sorted(asked)) == (0, first)
    assert b.build_tree(summarizer=summarize, clusterer=SMALL, across_documents=True) == built
    assert sorted(asked) == sorted(first * 2)
    assert [each.text for each in b.summaries()] == [each.text for each in a.summaries()]


def test_the_summarizers_of_others_are_not_named(index):
    a, b = index.scoped(A), index.scoped(B)
    a.add(Document("plan", LONG_A))
    b.add(Document("plan", LONG_B))
    b.build_tree(summarizer=first_words)
    assert a.build_tree().built == ("plan",)
    with pytest.raises(IndexMismatch, match=r"the trees were built with the summarizer .*first_words"):
        b.build_tree()


def test_the_summaries_of_a_document_that_becomes_another_s_are_gone(index):
    a = index.scoped(A)
    a.add([Document("plan", LONG_A), Document("note", LONG_A)])
    a.build_tree(across_documents=True)
    assert {name for each in a.summaries() for name in covered(each)} == {"plan", "note"}
    index.add(Document(f"plan{AT_A}", LONG_A, None, {"tenant": "b"}))
    assert {name for each in a.summaries() for name in covered(each)} == {"note"}
    assert index.scoped(B).summaries() == []
    a.delete(["note"])
    assert (a.summaries(), a.stats().summaries) == ([], 0)


# Statistics.

TEXTS_A = ["The budget tea. The tea.", "The honey. The budget. The dance.", "The tea dance honey."]
TEXTS_B = ["The budget.", "The budget budget. The tea.", "The budget dance.", "The merger."]
BM25_SETTINGS = [BM25Settings(variant=variant) for variant in ("lucene", "okapi", "bm25l", "bm25+")]


@pytest.mark.parametrize("bm25", BM25_SETTINGS, ids=lambda settings: settings.variant)
def test_statistics_are_the_views_to_the_digit_unless_shared(client, bm25):
    mixed, alone = in_memory(client), in_memory(client)
    own = [Document(f"{n}", text) for n, text in enumerate(TEXTS_A)]
    mixed.add([Document(f"b{n}", text, None, {"tenant": "b"}) for n, text in enumerate(TEXTS_B)])
    for index in (mixed, alone):
        index.scoped(A).add(own)
    for scale in (False, True):
        strategy = BM25(bm25=bm25, scale=scale)
        for query in ("budget", "tea honey", "merger tea", "the merger"):
            own_scores = [(p.id, p.score) for p in mixed.scoped(A).retrieve(query, strategy, k=50)]
            assert own_scores == [(p.id, p.score) for p in alone.scoped(A).retrieve(query, strategy, k=50)]
            shared = mixed.scoped(A, share_statistics=True)
            everything = mixed.retrieve(query, strategy, k=50, where=A)
            assert [p.score for p in shared.retrieve(query, strategy, k=50)] == [p.score for p in everything]
    assert mixed.scoped(A, share_statistics=True).retrieve("budget", BM25(bm25=bm25))[0].score != pytest.approx(
        mixed.scoped(A).retrieve("budget", BM25(bm25=bm25))[0].score
    )


def test_a_shared_idf_is_the_whole_indexs(client):
    index = in_memory(client)
    index.add([Document("b1", "Budget.", None, {"tenant": "b"}), Document("b2", "Tea.", None, {"tenant": "b"})])
    index.scoped(A).add(Document("a", "Budget."))
    # tf is 1 / (1 + 1.5), all leaves being of one length: two of three have the word, or one of one.
    strategy = BM25(bm25=BM25Settings(k1=1.5))
    (shared,) = index.scoped(A, share_statistics=True).retrieve("budget", strategy)
    (own,) = index.scoped(A).retrieve("budget", strategy)
    assert shared.score == pytest.approx(math.log(1 + 1.5 / 2.5) / 2.5)
    assert own.score == pytest.approx(math.log(1 + 0.5 / 1.5) / 2.5)


def test_a_view_within_one_that_does_not_share_statistics_does_not_either(client):
    index = in_memory(client)
    index.add([Document(f"b{n}", "The budget.", None, {"tenant": "b"}) for n in range(9)])
    index.scoped(A).add(Document("a", "The budget."))
    own = index.scoped(A).retrieve("budget", BM25())[0].score
    inner = index.scoped(A).scoped(F("tenant").exists(), share_statistics=True)
    assert inner.retrieve("budget", BM25())[0].score == own


# Non-interference: nothing that can be done or seen through a's view depends on whether b's documents are there.

NAMES = ["plan", "note", "a#1", "é", f"plan{AT_A}", f"plan{AT_B}", f"plan{AT_A}~2", f"note{AT_B}~2"]
YEARS = [2019, 2020, 2020.0, True, "2020"]
QUERIES = ["budget", "merger lawsuit", "tea honey", "The salary of the harbour", "nothing known"]

texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), max_size=7).map(
    lambda sentences: " ".join(f"The {' '.join(words)}." for words in sentences)
)
metadata = st.fixed_dictionaries(
    {}, optional={"year": st.sampled_from(YEARS), "tags": st.lists(st.sampled_from(WORDS), max_size=2)}
)
documents = st.builds(Document, st.sampled_from(NAMES), texts, st.none() | st.sampled_from(WORDS), metadata)
corpora = st.lists(documents, max_size=5 if THOROUGH else 3, unique_by=lambda document: document.id)
foreign = st.sampled_from([{"tenant": "b"}, {"tenant": ["a"]}, {"tenant": "A"}, {"tenant": 1}, {}])
conditions = st.one_of(
    st.sampled_from(NAMES).map(lambda id_: F("doc_id") == id_),
    st.sampled_from([*NAMES, "b", "@", "~", ""]).map(lambda part: F("doc_id").text_match(part)),
    st.sampled_from(NAMES).map(lambda id_: F("doc_id") >= id_),
    st.sampled_from([A, B, ~A, F("tenant").in_(["a", "b"]), F("tenant").exists(), F("tenant") > ""]),
    st.sampled_from(YEARS).map(lambda year: F("year") == year),
    st.sampled_from([F("year") >= 2020, F("year").exists(), F("secret") != 1]),
    st.sampled_from(WORDS).map(lambda tag: F("tags").contains(tag)),
)
trees = st.recursive(
    conditions,
    lambda part: st.one_of(
        part.map(lambda one: ~one), st.builds(Where.__and__, part, part), st.builds(Where.__or__, part, part)
    ),
    max_leaves=5,
)
DIALECTS = [
    {"tenant": "b"},
    {"tenant": {"$ne": "a"}},
    {"$or": [{"tenant": "b"}, {"tenant": {"$nin": ["b"]}}]},
    {"$not": {"$and": [{"tenant": "a"}, {"doc_id": {"$ne": "plan"}}]}},
    {"operator": "NOT", "conditions": [{"field": "meta.tenant", "operator": "==", "value": "a"}]},
    {"field": "id", "operator": "in", "value": [*NAMES, f"plan{AT_B}{AT_B}"]},
    {"operator": "OR", "conditions": []},
    {"$and": [{}]},
    {"tenant": {"$regex": ".*"}},
    {"start": {"$gte": 0}},
    {"leafspan": "1"},
    MetadataFilters(filters=[MetadataFilter(key="tenant", value="a", operator="!=")]),
    MetadataFilters(filters=[MetadataFilter(key="doc_id", value="b", operator="text_match_insensitive")], condition="not"),
]
wheres = st.none() | trees | st.sampled_from(DIALECTS)


def _refer(_query: str) -> list[HostResult]:
    """A passage of another source that refers to documents that may exist."""
    return [HostResult("n", "", None, {"tenant": "a", "reference": [*NAMES, "plan#00000000#0"]})]


async def _arefer(query: str) -> list[HostResult]:
    return _refer(query)


REFERRING = HostRetriever("referring", _refer, _arefer)

# Scores that are computed of words alone are the same to the digit; of vectors nearly so, since Chroma's own search and
# the exact one round differently. rank-bm25 adds up idfs in the order in which it meets the terms.
EXACT = [
    BM25(),
    BM25(scale=True, k=2),
    *(BM25(bm25=settings) for settings in BM25_SETTINGS),
    Browse(),
    Browse(offset=2),
    Filtered(BM25(), ~B),
    AtLeast(BM25(), 0.5),
    AutoMerging(base=BM25()),
    SentenceWindow(base=BM25(), before=1, after=1),
    ParentDocument(base=BM25(k=3), level=1),
    ParentDocument(base=BM25(), level=None),
    AutoMerging(base=Browse(offset=1)),
    Ensemble(retrievers=[BM25(), Browse()], fusion="relative_score"),
    Ensemble(retrievers=[Filtered(BM25(), B | F("year").exists()), Filtered(Browse(), ~B)], fusion="maximum"),
    Ensemble(retrievers=[ParentDocument(base=BM25()), Browse()], fusion="distribution_based"),
    BM25(summaries=True),
    Tree(base=BM25()),
    Tree(base=BM25(scale=True), keep_covered_summaries=True, top_k=6),
    Tree(base=Filtered(BM25(bm25=BM25_SETTINGS[1]), B | F("year").exists()), min_score=0.1),
    Ensemble(retrievers=[Tree(base=BM25()), Browse()], fusion="maximum"),
    Router(retrievers={"words": BM25(), "all": Browse()}, choose=lambda query: "words" if "budget" in query else None),
    FollowReferences(base=BM25(), key="tags", targets={"budget": BM25(k=2), "tea": Browse()}, keep=True, depth=3),
    RewriteQuery(base=BM25(), how=lambda question: ["merger", question], fusion="maximum"),
    Rerank(base=SentenceWindow(base=BM25()), rerank=lambda question, texts: [len(text) for text in texts]),
    Rerank(base=Tree(base=BM25()), rerank=lambda question, texts: [text.count("a") for text in texts], depth=4),
    Decay(base=BM25(), key="year", now="2026-01-01", scale=3650),
    Decay(base=Browse(), key="year", now="2026-01-01", shape="linear", missing=0),
]
NEAR = [
    Vector(),
    Vector(k=2),
    BM25(engine="rank-bm25", bm25=BM25Settings(variant="okapi")),
    AutoMerging(base=Vector(), threshold=0.3),
    SentenceWindow(base=Vector(k=3)),
    ParentDocument(base=Vector(k=2), level=2),
    # By scores, since ranks make much of the last digits of two scores, which depend on what else is searched.
    Ensemble(retrievers=[Vector(), BM25()], fusion="maximum", on_failure="skip"),
    Ensemble(retrievers=[AutoMerging(base=Vector(k=3)), BM25(k=2)], fusion="maximum", timeout=60),
    MultiQuery(generate=lambda prompt: "the merger lawsuit\nthe salary of b\nbudget", base=Vector(k=4), fusion="maximum"),
    MultiQuery(phrasings=["merger", "lawsuit"], base=BM25(), fusion="maximum"),
    Router(retrievers={"a": Vector(), "b": BM25()}, descriptions={"a": "The merger lawsuit.", "b": "The honey."}, most=2),
    FollowReferences(base=REFERRING, per_reference=2, keep=True),
    FollowReferences(base=Vector(k=4), key="tags", targets={"honey": REFERRING, "dance": Vector(k=1)}),
    RewriteQuery(how="hyde", generate=lambda prompt: "the merger lawsuit", base=Vector(k=4)),
    Rerank(base=BM25(), diversity=0.3),
    Hybrid(),
    AutoMerging(base=Hybrid(references=0)),
    RelevantSegments(base=BM25(scale=True), passage_words=10),
    Tree(mode="traversal"),
    Tree(mode="traversal", top_k=2, keep_covered_summaries=True),
    Tree(mode="traversal", start_layer=1, end_layer=1, min_score=0.0),
    Tree(mode="traversal", start_layer=2, top_k=3, expand=2),
]
# Leaves and summaries are searched apart, and equal ones of both may change places where one search is exact and the other
# is Chroma's. So here is compared what is found where nothing is cut off,
MERGED = [
    Vector(summaries=True),
    Tree(base=Vector(), keep_covered_summaries=True),
    Tree(base=Filtered(Vector(), ~B), keep_covered_summaries=True),
]
# or only looked whether anything is found that is not the view's.
WITHIN = [
    Hybrid(summaries=True),
    Tree(),
    Tree(expand=True),
    Tree(base=Vector(), top_k=5, expand=1),
    Tree(base=Hybrid(), keep_covered_summaries=True),
    MultiQuery(phrasings=["merger", "lawsuit"], base=Tree(base=Vector())),
    Ensemble(retrievers=[Tree(mode="traversal"), Tree(base=Vector()), BM25()]),
]


def test_every_strategy_is_put_to_the_test():
    there = {getattr(leafspan.strategies, name) for name in leafspan.strategies.__all__}
    strategies = {kind for kind in there if isinstance(kind, type) and issubclass(kind, Strategy)} - {Strategy, OverBase}
    elsewhere = {HostRetriever, OtherIndex, Watched}
    assert strategies == {type(strategy) for strategy in (*EXACT, *NEAR, *MERGED, *WITHIN)} | elsewhere


def first_words(texts: list[str]) -> str:
    """In the place of a language model."""
    return " ".join(text.split(". ")[0].rstrip(".") + "." for text in texts)


def last_words(texts: list[str]) -> str:
    """In the place of another one."""
    return " ".join(text.rstrip(".").split(". ")[-1] + "." for text in texts)


SMALL = Bisecting(size=2)
builds = st.fixed_dictionaries(
    {"clusterer": st.sampled_from([SMALL, Bisecting()])},
    optional={
        "summarizer": st.sampled_from([first_words, last_words]),
        "max_layers": st.sampled_from([1, 2]),
        "across_documents": st.booleans(),
    },
)
operations = st.one_of(
    st.tuples(st.just("build"), builds),
    st.tuples(st.just("build all"), builds),
    st.tuples(st.just("build theirs"), builds),
    st.tuples(st.just("add"), st.lists(documents, max_size=2)),
    st.tuples(st.just("add foreign"), documents, foreign),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(NAMES), max_size=3)),
    st.tuples(st.just("get"), st.sampled_from(NAMES)),
    st.tuples(st.just("move"), st.sampled_from(NAMES)),
    st.tuples(st.just("narrow"), wheres, documents),
)
retrievals = st.tuples(st.sampled_from(QUERIES), wheres, st.sampled_from([None, 1, 2, 5]), st.sampled_from([1, 3, 10, 200]))


def perform(view, operation) -> object:
    kind, *what = operation
    if kind == "add":
        return observed(lambda: view.add(what[0]))
    if kind == "add foreign":
        document, values = what
        spy = dataclasses.replace(document, metadata={**document.metadata, **values})
        return observed(lambda: view.add(spy))
    if kind == "delete":
        return observed(lambda: view.delete(what[0]))
    if kind == "get":
        return observed(lambda: (view.get(what[0]), view.leaves(what[0]), view.summaries(what[0])))
    if kind == "build":
        return observed(lambda: view.build_tree(**what[0]))
    narrow = observed(lambda: view.scoped(what[0]))
    if isinstance(narrow, tuple):
        return narrow
    return (
        observed(lambda: narrow.add(what[1])),
        narrow.documents(),
        observed(lambda: narrow.build_tree(across_documents=True, clusterer=SMALL)),
        narrow.summaries(),
        narrow.retrieve("merger budget", BM25(), k=9),
        narrow.retrieve("merger budget", Tree(base=BM25()), k=9),
        narrow.delete([what[1].id]),
    )


def surroundings(view) -> object:
    return view.documents(), view.leaves(), view.count(), view.stats(), view.summaries()


def nearly(one: object, other: object) -> bool:
    """Equal, except for the last digits of numbers, and for the ranks in traces, which depend on these."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=1e-6)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(nearly, one, other))
    if dataclasses.is_dataclass(one) and dataclasses.is_dataclass(other) and type(one) is type(other):
        names = [field.name for field in dataclasses.fields(one) if field.name != "rank"]
        return all(nearly(getattr(one, name), getattr(other, name)) for name in names)
    return one == other


def test_nearly_equal_looks_into_passages():
    passage = SentenceWindow  # any dataclass will do
    assert nearly([passage(after=1)], [passage(after=1)])
    assert not nearly([passage(after=1)], [passage(after=2)])
    assert nearly((1.0, "a"), (1.0 + 1e-9, "a"))
    assert not nearly((1.0, "a"), (1.0 + 1e-5, "a"))


def some(strategies):
    """All of them in a thorough run, otherwise every third."""
    return strategies if THOROUGH else strategies[::3]


def attack(mixed: Index, alone: Index, own, others, raw, others_first, work, asked, moved_to) -> int:
    """Do the same through a's view of an index with documents of b and of one without; how many results were compared."""
    for index in (mixed, alone):  # the embedder of an index is known to all of its views
        index.add(Document("first", "Tea."))
        index.delete(["first"])
    a, lone = mixed.scoped(A), alone.scoped(A)
    b = mixed.scoped(B)
    # A view within a view shows the stored ids of the outer one's documents, so there it can be seen that one had to make way
    # for a document which others have put in its place. So do the ids of summaries of several documents, and the order in which
    # these are clustered. And of a document that was deleted the summaries of a language model are forgotten at once, and not
    # only when its owner builds the next time, as where it has become somebody else's.
    tells = any(
        kind == "narrow" or (kind == "build" and {"across_documents", "summarizer"} & what[0].keys())
        for kind, *what in work
    )

    def add_others():
        b.add(others)
        # A whole index can overwrite everybody's documents; the documents of a stay as they are.
        spared = [(each, values) for each, values in raw if each.id not in shown(mixed) and not (tells and AT_A in each.id)]
        mixed.add([dataclasses.replace(each, metadata={**each.metadata, **values}) for each, values in spared])

    if others_first:
        add_others()
    assert perform(a, ("add", own)) == perform(lone, ("add", own))
    if not others_first:
        add_others()
    makes_way = any(kind == "move" for kind, *_ in work) or any(AT_A in each.id for each, _ in raw)
    for view in (a, lone):
        view.build_tree(across_documents=tells or not makes_way, clusterer=SMALL)
    b.build_tree(across_documents=True, clusterer=SMALL, summarizer=first_words)
    for index in (mixed, alone):
        index.build_tree(across_documents=True, clusterer=SMALL, summarizer=Extractive())
    for operation in work:
        before = {id_: mixed.get(id_) for id_ in shown(mixed) if mixed.get(id_).metadata.get("tenant") != "a"}
        if operation[0] == "move":
            stored = operation[1] + AT_A
            theirs = {document.id for document in mixed.documents() if document.metadata.get("tenant") == "a"}
            if stored in theirs and not tells:
                mixed.add(Document(stored, moved_to, None, {"tenant": "b"}))
                alone.delete([stored])
        elif operation[0] == "build all":
            # The summarizer is named, since somebody else's trees may have another one.
            for index in (mixed, alone):
                index.build_tree(**{"summarizer": Extractive(), **operation[1]})
        elif operation[0] == "build theirs":
            b.build_tree(**{"summarizer": Extractive(), **operation[1]})
        else:
            assert perform(a, operation) == perform(lone, operation)
            after = {id_: mixed.get(id_) for id_ in shown(mixed) if mixed.get(id_).metadata.get("tenant") != "a"}
            assert before == after
        assert surroundings(a) == surroundings(lone)
    compared = 0
    guesses = [passage.id for passage in (*mixed.leaves(), *mixed.summaries())] + [f"{name}#00000000#0" for name in NAMES]
    own_leaves = [passage.id for passage in lone.leaves()]
    mine = outside(*(guess for pair in zip(guesses, [*own_leaves, *guesses], strict=False) for guess in pair))
    for query, where, k, candidates in asked:

        def both(strategy, query=query, **options):
            return [observed(lambda v=view: v.retrieve(query, strategy, **options)) for view in (a, lone)]

        options = {"k": k, "candidates": candidates, "where": where}
        for strategy in (*some(EXACT), mine, AutoMerging(base=mine)):
            one, other = both(strategy, **options)
            assert one == other, (strategy, where)
        for strategy in some(NEAR):
            one, other = both(strategy, **options)
            assert nearly(one, other), (strategy, where, one, other)
        for strategy in some(MERGED):
            one, other = both(strategy, k=500, candidates=500, where=where)
            if isinstance(one, list):
                one, other = (sorted(found, key=lambda passage: passage.id) for found in (one, other))
            assert nearly(one, other), (strategy, where, one, other)
        own_texts = {(passage.id, passage.text) for passage in (*lone.summaries(), *lone.leaves())}
        for strategy in some(WITHIN):
            one, other = both(strategy, **options)
            if isinstance(one, list):
                assert {(passage.id, passage.text) for passage in one} <= own_texts, (strategy, where)
            else:
                assert one == other
        compared += 2 + sum(len(some(each)) for each in (EXACT, NEAR, MERGED, WITHIN))
    return compared


_law = {
    "own": corpora,
    "others": corpora,
    "raw": st.lists(st.tuples(documents, foreign), max_size=4 if THOROUGH else 1, unique_by=lambda each: each[0].id),
    "others_first": st.booleans(),
    "work": st.lists(operations, max_size=5 if THOROUGH else 3),
    "asked": st.lists(retrievals, min_size=1, max_size=2 if THOROUGH else 1),
    "moved_to": texts,
}
PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]  # explaining takes minutes here
_slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def test_nothing_seen_through_a_view_depends_on_others_in_memory(client):
    attacks = compared = 0

    @examples(20, fast=2, phases=PHASES, report_multiple_bugs=False, suppress_health_check=_slow)
    @given(**_law)
    def law(**drawn):
        nonlocal attacks, compared
        mixed, alone = in_memory(client), in_memory(client)
        attacks += 1
        compared += attack(mixed, alone, **drawn)

    law()
    assert compared > (25 if THOROUGH else 10) * attacks


def test_nothing_seen_through_a_view_depends_on_others_in_a_folder(tmp_path):
    places = count()

    @examples(10, fast=2, phases=PHASES, report_multiple_bugs=False, suppress_health_check=_slow)
    @given(**_law)
    def law(**drawn):
        where = tmp_path / str(next(places))
        with (
            Index.open(where / "mixed", embedder=embed, splitter=SPLITTER) as mixed,
            Index.open(where / "alone", embedder=embed, splitter=SPLITTER) as alone,
        ):
            attack(mixed, alone, **drawn)

    law()


def test_a_sync_of_the_whole_index_keeps_what_views_have_synced_from_the_same_folder(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "plan.md").write_text("The budget.")
    (folder / "old.md").write_text("The merger.")
    with Index.open(tmp_path / "kb") as index:
        a = index.scoped(A)
        a.sync(folder)
        index.sync(folder)
        (folder / "old.md").unlink()
        assert index.sync(folder).deleted == ("docs/old.md",)
        assert [each.id for each in a.documents()] == ["docs/old.md", "docs/plan.md"]
        assert a.sync(folder).deleted == ("docs/old.md",)
        assert index.count() == 2
