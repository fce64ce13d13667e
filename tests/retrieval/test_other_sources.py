"""Passages of other sources: a retriever's results that are not leaves of the index."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import subprocess
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Budget,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Vector,
)
from leafspan.errors import NotALeaf, SourceFailed
from leafspan.strategies import CallFunction, HostResult, Passage, Strategy, Trace, outside_candidate
from tests.corpus import DOCUMENTS, SPLITTER
from tests.profiles import examples


def source(name: str, *results: HostResult) -> HostRetriever:
    """A retriever over another store that returns these for every question."""

    async def aask(question):
        return list(results)

    return HostRetriever(name, lambda question: list(results), aask)


def result(id_: str | None, text: str, score: float | None = None, **metadata: object) -> HostResult:
    return HostResult(id_, text, score, metadata)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("sources") / "kb", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        yield opened


WIKI = source("wiki", result("w1", "Bees dance.", 0.9, topic="animals"), result("w2", "Tea is green.", 0.4, topic="food"))


async def test_a_passage_of_another_source_says_what_it_is_and_claims_no_place_in_a_document(index):
    bees, tea = index.retrieve("bees", WIKI)
    assert (bees.id, bees.text, bees.score, bees.metadata) == ("w1", "Bees dance.", 0.9, {"topic": "animals"})
    assert (bees.kind, bees.document_id, bees.start, bees.end, bees.lines) == ("document", "", None, None, None)
    assert bees.trace.explain() == ["wiki found the document (rank 1, score 0.900)"]
    assert await index.aretrieve("bees", WIKI) == [bees, tea]
    assert index.retrieve_many(["bees", "tea"], WIKI) == [[bees, tea], [bees, tea]]


async def test_no_index_is_needed_to_ask_another_source():
    assert [passage.id for passage in leafspan.retrieve("bees", WIKI)] == ["w1", "w2"]
    assert leafspan.retrieve_many(["bees", "tea"], WIKI, k=1) == [leafspan.retrieve("bees", WIKI, k=1)] * 2
    assert await leafspan.aretrieve("bees", WIKI) == leafspan.retrieve("bees", WIKI)
    (tea,) = leafspan.retrieve("bees", WIKI, where=F("topic") == "food")
    assert (tea.id, tea.score) == ("w2", 0.4)
    assert [passage.id for passage in leafspan.retrieve("bees", WIKI, min_score=0.5)] == ["w1"]
    assert [passage.id for passage in leafspan.retrieve("bees", WIKI, budget=2)] == ["w1"]
    assert [passage.id for passage in leafspan.retrieve("bees", WIKI, budget=Budget(11, count=len))] == ["w1"]
    assert leafspan.retrieve_many([], WIKI) == []


@pytest.mark.parametrize("strategy", [Hybrid(), Vector(), BM25(), Browse(), RelevantSegments()])
def test_a_strategy_that_searches_leaves_says_that_it_needs_an_index(strategy):
    with pytest.raises(
        InvalidArgument, match="must have an index to search, but this call has no index: give one as index="
    ):
        leafspan.retrieve("bees", strategy)


@pytest.mark.parametrize("strategy", [SentenceWindow, AutoMerging, ParentDocument, RelevantSegments])
def test_a_strategy_that_computes_with_leaves_says_which_result_is_none(index, strategy):
    with pytest.raises(
        NotALeaf,
        match="the results of wiki must be leaves of this index, but number 1 is not: id 'w1', text 'Bees dance.'; build "
        r"that retriever from leaf_documents\(index\)",
    ):
        index.retrieve("bees", strategy(base=WIKI))


def test_a_result_with_the_id_of_a_leaf_is_that_leaf_and_with_a_passages_id_that_span(index):
    leaf, *_ = index.retrieve("the angle of the dance", Vector(), k=1)
    window, *_ = index.retrieve("the angle of the dance", SentenceWindow(before=1, after=1), k=1)
    mixed = source("mixed", result(window.id, "", 3.0), result(leaf.id, "", 2.0), result("w1", "Bees dance.", 1.0))
    found = index.retrieve("bees", mixed)
    assert [passage.id for passage in found] == [window.id, leaf.id, "w1"]
    assert (found[0].text, found[0].start, found[0].end) == (window.text, window.start, window.end)
    assert (found[1].text, found[1].kind, found[1].document_id) == (leaf.text, "text", leaf.document_id)
    # The span and the leaf in it share text, so what fuses makes one of them.
    fused = index.retrieve("bees", Ensemble(retrievers=[mixed, WIKI]))
    assert [passage.id for passage in fused] == ["w1", window.id, "w2"]
    assert fused[0].score == pytest.approx((1 / 63 + 1 / 61) / 2)


def test_leaves_of_a_document_that_was_replaced_are_refused_and_ids_of_other_indexes_are_not(index):
    stale = source("faiss", result("bees#00000000#0", "Was a leaf once."))
    with pytest.raises(NotALeaf, match=r"'bees#00000000#0' is not in it \(any more\)"):
        index.retrieve("bees", stale)
    elsewhere = source("other", result("moths#00000000#0-3", "Of another index."))
    assert [passage.id for passage in index.retrieve("bees", elsewhere)] == ["moths#00000000#0-3"]


@pytest.mark.parametrize("id_", ["bees#a8bf019c#0-99999999999", "#", "##", "bees##1", "x" * 5000, "bees#a8bf019c#5-1", ""])
def test_strange_ids_are_ids_like_any_other_or_refused(index, id_):
    strange = source("odd", result(id_, "Text."))
    found = index.retrieve("bees", strange)
    assert [passage.id for passage in found] == [id_]


def test_results_are_recognised_by_id_else_by_text():
    named = source("faiss", result("1", "Bees dance.", 0.9), result("2", "Tea is green.", 0.5))
    nameless = source("words", result(None, "Tea is green.", 7.0), result(None, "Ships land.", 2.0))
    fused = leafspan.retrieve("q", Ensemble(retrievers=[named, nameless]))
    assert [passage.text for passage in fused] == ["Tea is green.", "Bees dance.", "Ships land."]
    assert [passage.id for passage in fused][:2] == ["2", "1"]
    assert fused[0].score == pytest.approx((1 / 62 + 1 / 61) / 2)
    assert fused == leafspan.retrieve("q", Ensemble(retrievers=[named, nameless]))
    # Different ids stay different, also with equal texts.
    twins = source("rows", result("a", "Same.", 1.0), result("b", "Same.", 1.0))
    assert [passage.id for passage in leafspan.retrieve("q", twins)] == ["a", "b"]


def test_results_that_come_twice_come_once_at_their_best_place():
    twice = source(
        "words", result(None, "A.", 3.0), result("1", "B.", 2.0), result(None, "A.", 1.0), result("1", "B.", 0.5)
    )
    assert [(passage.text, passage.score) for passage in leafspan.retrieve("q", twice)] == [("A.", 3.0), ("B.", 2.0)]


def test_leaves_and_other_sources_are_fused_into_one_result(index):
    found = index.retrieve("honey bees", Ensemble(retrievers=[Hybrid(), WIKI], weights=[1, 3]), k=4)
    assert [passage.kind for passage in found].count("document") == 2
    assert found[0].id == "w1"
    assert {passage.document_id for passage in found if passage.kind == "text"} <= {"bees", "tea", "harbour"}


def test_several_phrasings_ask_another_source_once_each():
    asked = []

    def ask(question: str) -> list[HostResult]:
        asked.append(question)
        return [result(question, question)]

    async def aask(question: str) -> list[HostResult]:
        return ask(question)

    strategy = MultiQuery(base=HostRetriever("echo", ask, aask), phrasings=["b", "c"])
    assert {passage.id for passage in leafspan.retrieve("a", strategy)} == {"a", "b", "c"}
    assert asked == ["a", "b", "c"]
    assert len(asyncio.run(leafspan.aretrieve("a", strategy))) == 3


def test_a_view_shows_of_other_sources_what_matches_its_filter_too(index):
    mixed = source(
        "mixed", result("w1", "a's", 3.0, tenant="a"), result("w2", "b's", 2.0, tenant="b"), result("w3", "?", 1.0)
    )
    view = index.scoped(F("tenant") == "a")
    assert [passage.id for passage in view.retrieve("q", mixed)] == ["w1"]
    assert [passage.id for passage in view.retrieve("q", Ensemble(retrievers=[mixed, BM25()]))] == ["w1"]
    assert view.retrieve("q", mixed, where=F("tenant") == "b") == []
    hidden = index.leaves("bees")[0]
    assert view.retrieve("q", source("spy", result(hidden.id, hidden.text, 1.0, tenant="a"))) == []


@pytest.mark.parametrize("returned", [None, "text", [None], [("id", "text")], {"id": 1}, 7])
def test_a_retriever_must_return_results(returned):
    async def aask(question):
        return returned

    broken = HostRetriever("broken", lambda question: returned, aask)
    with pytest.raises(InvalidArgument, match="broken must return a list of HostResult, got"):
        leafspan.retrieve("q", broken)
    with pytest.raises(InvalidArgument, match="broken must return a list of HostResult, got"):
        asyncio.run(leafspan.aretrieve("q", broken))


async def test_the_error_of_a_retriever_names_it_and_the_question():
    def ask(question: str) -> list[HostResult]:
        raise ConnectionError("no such host")

    async def aask(question: str) -> list[HostResult]:
        return ask(question)

    message = "gone failed on 'q' with ConnectionError: no such host"
    with pytest.raises(SourceFailed, match=message) as caught:
        leafspan.retrieve("q", HostRetriever("gone", ask, aask))
    assert isinstance(caught.value.__cause__, ConnectionError)
    with pytest.raises(SourceFailed, match=message):
        await leafspan.aretrieve("q", HostRetriever("gone", ask, aask))
    kept = Ensemble(retrievers=[HostRetriever("gone", ask, aask), WIKI], on_failure="skip")
    first, *_ = leafspan.retrieve("q", kept)
    assert first.trace.notes == (f"retriever 1 (gone) was left out: SourceFailed: {message}",)


class Limited(Exception):
    """The error of a service, with arguments and attributes of its own."""

    def __init__(self, *, status: int) -> None:
        super().__init__(f"status {status}")
        self.status_code = status

    @property
    def doubled(self) -> int:
        return 2 * self.status_code


CAUSES = [
    ConnectionError("reset"),
    OSError(2, "no such file", "there"),
    TimeoutError("late"),
    KeyError("key"),
    ValueError("value"),
    RuntimeError("runtime"),
    Exception("any"),
    UnicodeDecodeError("utf-8", b"a", 0, 1, "bad"),
    json.JSONDecodeError("bad", "{", 1),
    subprocess.CalledProcessError(1, "ls"),
    Limited(status=429),
]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause).__name__)
async def test_the_error_of_a_retriever_keeps_its_type(cause: Exception):
    def ask(question: str) -> list[HostResult]:
        raise cause

    async def aask(question: str) -> list[HostResult]:
        raise cause

    strategy = MultiQuery(base=HostRetriever("gone", ask, aask), phrasings=[])
    with pytest.raises(SourceFailed) as caught:
        leafspan.retrieve("q", strategy)
    with pytest.raises(type(cause)) as awaited:
        await leafspan.aretrieve("q", strategy)
    message = f"gone failed on 'q' with {type(cause).__name__}: {cause}"
    for error in (caught.value, awaited.value):
        for copied in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert isinstance(copied, type(cause))
            assert isinstance(copied, SourceFailed)
            assert str(copied) == message
            assert copied.args == (message,)
        assert error.__cause__ is cause
    if isinstance(cause, Limited):
        assert (caught.value.status_code, caught.value.doubled) == (429, 858)
        with pytest.raises(AttributeError):
            _ = caught.value.other


@pytest.mark.parametrize(
    "cause", [StopIteration("end"), StopAsyncIteration("end"), ExceptionGroup("group", [ValueError()])]
)
def test_an_error_that_cannot_be_both_is_the_cause(cause: Exception):
    def ask(question: str) -> list[HostResult]:
        raise cause

    with pytest.raises(SourceFailed, match="gone failed on 'q' with") as caught:
        leafspan.retrieve("q", HostRetriever("gone", ask, None))
    assert caught.value.__cause__ is cause
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


class Rows(Strategy):
    """A strategy of one's own that calls a function, and returns passages of its own kind."""

    def retrieve(self, queries, context):
        rows: Sequence[str] = yield CallFunction(sorted, (["b", "a"],))
        passages = [
            Passage(row, "", None, None, f"row {row}", 1.0, {"row": row}, Trace(kind="row"), kind="row") for row in rows
        ]
        return [[outside_candidate(passage) for passage in passages] for _ in queries]


async def test_a_strategy_of_ones_own_can_return_passages_of_its_own_kind(index):
    found = leafspan.retrieve("q", Rows())
    assert [(passage.id, passage.text, passage.kind) for passage in found] == [("a", "row a", "row"), ("b", "row b", "row")]
    assert await index.aretrieve("q", Rows()) == index.retrieve("q", Rows()) == found
    assert index.retrieve("q", Rows(), budget=2) == found[:1]


def test_an_error_of_a_called_function_ends_the_retrieval():
    class Fails(Strategy):
        def retrieve(self, queries, context):
            yield CallFunction(int, ("no number",))
            return [[] for _ in queries]

    with pytest.raises(ValueError, match="no number"):
        leafspan.retrieve("q", Fails())


@examples(200)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(["1", "2", "3", None]), st.sampled_from("abc")), max_size=6),
        min_size=2,
        max_size=3,
    )
)
def test_fused_results_of_any_sources_come_once_each_and_none_is_lost(rows):
    sources = [source(f"s{n}", *(result(id_, text) for id_, text in row)) for n, row in enumerate(rows)]
    found = leafspan.retrieve("q", Ensemble(retrievers=sources), k=50)
    assert len({passage.id for passage in found}) == len(found)
    assert {id_ for row in rows for id_, _ in row if id_} == {passage.id for passage in found if passage.id in "123"}
    assert {text for row in rows for _, text in row} >= {passage.text for passage in found}
    # What has no id is there under the id of the same text that has one, or on its own.
    assert {text for row in rows for id_, text in row if id_ is None} <= {
        text for row in rows for id_, text in row if id_
    } | {passage.text for passage in found}
    assert [passage.score for passage in found] == sorted((passage.score for passage in found), reverse=True)


async def test_a_retriever_that_cannot_be_hashed_is_asked_once(index):
    class Unhashable:
        __hash__ = None  # as of a dataclass that is not frozen

        def __init__(self):
            self.asked = []

        def __call__(self, question):
            self.asked.append(question)
            return [result("w1", "Bees dance.")]

    ask = Unhashable()

    async def aask(question):
        return ask(question)

    strategy = Ensemble(retrievers=[HostRetriever("a", ask, aask), BM25()])
    assert "w1" in [each.id for each in index.retrieve("bees", strategy, budget=1000)]
    assert ask.asked == ["bees"]
    assert "w1" in [each.id for each in await index.aretrieve("bees", strategy, budget=1000)]
    assert ask.asked == ["bees", "bees"]
