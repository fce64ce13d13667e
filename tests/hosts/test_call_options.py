"""Options of a call, in either host: every option of the strategy."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from langchain_core.runnables import ConfigurableField, RunnableConfig
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index_instrumentation import get_dispatcher

import langchain_ext
import llamaindex_ext
from leafspan import BM25, F, Index, InvalidArgument, Query, RetrievalTimeout, SentenceWindow, Vector
from leafspan.embedding import default_embedder
from llamaindex_ext import FilteredQueryBundle
from tests.corpus import DOCUMENTS, QUESTIONS
from tests.hosts.contract import HOSTS, RETRIEVERS, Host, needed
from tests.lateness import ends_within
from tests.profiles import paired

QUESTION = QUESTIONS[0]


def found(documents):
    return [(document.id, document.metadata["score"]) for document in documents]


def seen(nodes):
    return [(node.node_id, node.score) for node in nodes]


def expected(passages):
    return [(passage.id, passage.score) for passage in passages]


# LangChain: a call takes options.


async def test_a_call_of_langchain_takes_every_option_of_the_strategy(shared_index: Index):
    retriever = langchain_ext.SentenceWindowRetriever(index=shared_index, base=Vector(), k=5)
    wider = shared_index.retrieve(QUESTION, SentenceWindow(base=Vector(), before=2, after=0, max_words=90), k=3)
    options = {"k": 3, "before": 2, "after": 0, "max_words": 90}
    assert found(retriever.invoke(QUESTION, **options)) == expected(wider)
    assert found(await retriever.ainvoke(QUESTION, **options)) == expected(wider)
    other = shared_index.retrieve(QUESTION, SentenceWindow(base=BM25()), k=5)
    assert found(retriever.invoke(QUESTION, base=langchain_ext.BM25Retriever(index=shared_index))) == expected(other)
    assert retriever.invoke(QUESTION, explain=True)[0].metadata["trace"]
    # The retriever is as it was.
    assert (retriever.k, retriever.before, retriever.after) == (5, 0, 1)


SEVERAL = [["What is tea?", "What is rye?"], ("What is tea?", "What is rye?"), []]


@pytest.mark.parametrize(("name", "questions"), paired(RETRIEVERS, SEVERAL))
async def test_a_call_of_langchain_asks_one_question_and_batch_several(shared_index: Index, name, questions):
    retriever = getattr(langchain_ext, name)(index=shared_index, **needed(name))
    rule = f"a query must be a text or a vector, got {re.escape(repr(questions))}: for several queries, call"
    with pytest.raises(InvalidArgument, match=f"{rule} batch$"):
        retriever.invoke(questions)
    with pytest.raises(InvalidArgument, match=f"{rule} abatch$"):
        await retriever.ainvoke(questions)
    assert len(retriever.batch(list(questions))) == len(questions)


@pytest.mark.parametrize(("name", "questions"), paired(RETRIEVERS, SEVERAL))
async def test_a_bundle_of_llamaindex_holds_one_question_and_retrieve_many_takes_several(
    shared_index: Index, name, questions
):
    retriever = getattr(llamaindex_ext, name)(index=shared_index, **needed(name))
    rule = f"a query must be a text or a vector, got {re.escape(repr(questions))}: for several queries, call"
    with pytest.raises(InvalidArgument, match=f"{rule} retrieve_many$"):
        retriever.retrieve(QueryBundle(questions))
    with pytest.raises(InvalidArgument, match=f"{rule} aretrieve_many$"):
        await retriever.aretrieve(QueryBundle(questions))
    assert len(retriever.retrieve_many(questions)) == len(questions)


def test_a_call_of_langchain_takes_what_the_core_does(shared_index: Index):
    retriever = langchain_ext.VectorRetriever(index=shared_index)
    vector = default_embedder().documents([QUESTION])[0].tolist()
    assert found(retriever.invoke(vector)) == found(retriever.invoke(Query(vector=tuple(vector))))


@pytest.mark.parametrize("host", HOSTS, ids=repr)
def test_a_retriever_takes_whole_numbers_of_numpys_and_has_plain_ones(host: Host, shared_index: Index):
    options = {"k": 3, "candidates": 20, "budget": 90, "before": 2}
    plain = host.make("SentenceWindowRetriever", shared_index, **options)
    given = host.make("SentenceWindowRetriever", shared_index, **{name: np.int64(each) for name, each in options.items()})
    assert host.ask(given, QUESTION) == host.ask(plain, QUESTION)
    assert json.dumps(given.to_dict()) == json.dumps(plain.to_dict())


@pytest.mark.parametrize("host", HOSTS, ids=repr)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_every_retriever_takes_a_lowest_score_and_returns_what_reaches_it(host: Host, shared_index: Index, name):
    options = {"base": Vector(), "mode": "collapsed"} if name == "TreeRetriever" else {}
    everything = host.ask(host.make(name, shared_index, k=40, **options, **needed(name)), QUESTION)
    middle = sorted(result.score for result in everything)[len(everything) // 2]
    best = host.ask(host.make(name, shared_index, k=40, min_score=middle, **options, **needed(name)), QUESTION)
    assert best == [result for result in everything if result.score >= middle]


def test_a_lowest_score_of_a_call_takes_the_place_of_the_retrievers_own(shared_index: Index):
    retriever = langchain_ext.VectorRetriever(index=shared_index, min_score=0.4)
    scores = [document.metadata["score"] for document in retriever.invoke(QUESTION)]
    more = [document.metadata["score"] for document in retriever.invoke(QUESTION, min_score=0.2)]
    assert min(scores) >= 0.4 > min(more) >= 0.2
    assert more[: len(scores)] == scores


def test_a_lowest_score_of_a_base_holds_in_what_builds_on_it(shared_index: Index):
    for package in (langchain_ext, llamaindex_ext):
        base = package.HybridRetriever(index=shared_index, min_score=0.5)
        window = package.SentenceWindowRetriever(index=shared_index, base=base, before=0, after=0)
        results = window.invoke(QUESTION) if package is langchain_ext else window.retrieve(QUESTION)
        scores = [r.metadata["score"] if package is langchain_ext else r.score for r in results]
        assert scores
        assert min(scores) >= 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"befor": 2}, "a call of SentenceWindowRetriever has no option 'befor'; did you mean 'before'?"),
        ({"similarity_top_k": 2}, "a call of SentenceWindowRetriever has no option 'similarity_top_k'; here it is 'k'"),
        ({"index": None}, "a call of SentenceWindowRetriever has no option 'index'"),
        ({"filter_policy": "merge"}, "a call of SentenceWindowRetriever has no option 'filter_policy'"),
        ({"before": -1}, "before must be a whole number >= 0, got -1"),
        ({"k": 0}, "k must be a whole number >= 1, got 0"),
        ({"min_score": "high"}, "min_score must be a number, got 'high'"),
        ({"base": SentenceWindow()}, "base must be a strategy that finds single leaves"),
    ],
)
def test_a_wrong_option_of_a_call_is_refused_by_name(shared_index: Index, options, message):
    retriever = langchain_ext.SentenceWindowRetriever(index=shared_index)
    with pytest.raises(InvalidArgument) as caught:
        retriever.invoke(QUESTION, **options)
    assert str(caught.value).startswith(message)


def test_options_can_be_made_configurable(shared_index: Index):
    retriever = langchain_ext.SentenceWindowRetriever(index=shared_index, after=0, k=5).configurable_fields(
        k=ConfigurableField(id="passages"), before=ConfigurableField(id="before")
    )
    config: RunnableConfig = {"configurable": {"passages": 2, "before": 1}}
    plain = langchain_ext.SentenceWindowRetriever(index=shared_index, k=2, before=1, after=0)
    assert found(retriever.invoke(QUESTION, config)) == found(plain.invoke(QUESTION))
    assert found(retriever.invoke(QUESTION)) != found(plain.invoke(QUESTION))
    assert found(retriever.with_config(config).batch([QUESTION])[0]) == found(plain.invoke(QUESTION))


# LlamaIndex: calls take nothing, so a copy has other options, and a bundle brings a filter.


async def test_a_copy_in_llamaindex_has_other_options(shared_index: Index):
    retriever = llamaindex_ext.SentenceWindowRetriever(index=shared_index, base=Vector())
    other = retriever.with_options(similarity_top_k=3, before=2, after=0)
    wider = shared_index.retrieve(QUESTION, SentenceWindow(base=Vector(), before=2, after=0), k=3)
    assert seen(other.retrieve(QUESTION)) == expected(wider)
    assert seen(await other.aretrieve(QUESTION)) == expected(wider)
    assert type(other) is type(retriever)
    assert (retriever.similarity_top_k, retriever.before) == (None, 0)
    with pytest.raises(InvalidArgument, match="SentenceWindowRetriever has no option 'k'; here it is 'similarity_top_k'"):
        retriever.with_options(k=3)
    with pytest.raises(InvalidArgument, match="before must be a whole number >= 0, got -1"):
        retriever.with_options(before=-1)


FOOD, OLD = F("topic") == "food", F("year") < 1900
LLAMAINDEX_FOOD = MetadataFilters(filters=[MetadataFilter(key="topic", value="food")])


@pytest.mark.parametrize("where", [FOOD, {"topic": "food"}, LLAMAINDEX_FOOD])
async def test_a_bundle_brings_a_filter_in_any_dialect(shared_index: Index, where):
    retriever = llamaindex_ext.VectorRetriever(index=shared_index)
    bundle = FilteredQueryBundle(QUESTION, where)
    assert isinstance(bundle, QueryBundle)
    results = seen(retriever.retrieve(bundle))
    assert results == expected(shared_index.retrieve(QUESTION, Vector(), where=FOOD))
    assert seen(await retriever.aretrieve(bundle)) == results


@pytest.mark.parametrize(("policy", "documents"), [("replace", {"tea"}), ("merge", set())])
def test_the_policy_says_how_filters_join(shared_index: Index, policy, documents):
    retriever = llamaindex_ext.VectorRetriever(index=shared_index, where=OLD, filter_policy=policy)
    for results in (
        retriever.retrieve(FilteredQueryBundle(QUESTION, FOOD)),
        retriever.with_options(where=FOOD).retrieve(QUESTION),
    ):
        assert {node.metadata["doc_id"] for node in results} == documents
    assert {node.metadata["doc_id"] for node in retriever.retrieve(QUESTION)} == {"harbour"}
    called = langchain_ext.VectorRetriever(index=shared_index, where=OLD, filter_policy=policy).invoke(QUESTION, where=FOOD)
    assert {document.metadata["doc_id"] for document in called} == documents


def test_a_filter_of_a_bundle_that_is_none_is_refused(shared_index: Index):
    retriever = llamaindex_ext.VectorRetriever(index=shared_index)
    with pytest.raises(InvalidArgument, match=r"where, given as a text, must be like .* got 'topic = food'"):
        retriever.retrieve(FilteredQueryBundle(QUESTION, "topic = food"))


async def test_many_queries_are_answered_in_one_call_like_each_alone(shared_index: Index, monkeypatch):
    retriever = llamaindex_ext.HybridRetriever(index=shared_index, similarity_top_k=3, where=F("topic").exists())
    alone = [seen(retriever.retrieve(question)) for question in QUESTIONS]
    asked = []
    true = Index.retrieve_many

    def counted(self, queries, *arguments, **options):
        asked.append(queries)
        return true(self, queries, *arguments, **options)

    monkeypatch.setattr(Index, "retrieve_many", counted)
    assert [seen(row) for row in retriever.retrieve_many(QUESTIONS)] == alone
    assert asked == [list(QUESTIONS)]
    bundles = [QueryBundle(question) for question in QUESTIONS]
    assert [seen(row) for row in await retriever.aretrieve_many(bundles)] == alone
    assert retriever.retrieve_many([]) == []
    with pytest.raises(InvalidArgument, match="queries must be a list of questions or QueryBundles, got 'one'"):
        retriever.retrieve_many("one")
    with pytest.raises(InvalidArgument, match="queries must have no filters of their own"):
        retriever.retrieve_many([FilteredQueryBundle("q", FOOD)])


def test_many_queries_are_seen_by_the_instrumentation_one_by_one(shared_index: Index):
    seen_events = []

    class Handler(BaseEventHandler):
        def handle(self, event, **kwargs):
            seen_events.append(event)

    handler = Handler()
    dispatcher = get_dispatcher()
    dispatcher.add_event_handler(handler)
    try:
        rows = llamaindex_ext.VectorRetriever(index=shared_index).retrieve_many(QUESTIONS)
    finally:
        dispatcher.event_handlers.remove(handler)
    starts = [event for event in seen_events if isinstance(event, RetrievalStartEvent)]
    ends = [event for event in seen_events if isinstance(event, RetrievalEndEvent)]
    assert [event.str_or_query_bundle.query_str for event in starts] == list(QUESTIONS)
    assert [seen(event.nodes) for event in ends] == [seen(row) for row in rows]


def test_many_queries_reach_a_base_of_the_hosts_own_each(shared_index: Index):
    asked = []

    class Echo(LlamaIndexRetriever):
        def _retrieve(self, query_bundle):
            asked.append(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(id_=query_bundle.query_str, text="echo"), score=1.0)]

    retriever = llamaindex_ext.MultiQueryRetriever(base=Echo(), phrasings=["c"])
    rows = retriever.retrieve_many(["a", "b"])
    assert [{node.node_id for node in row} for row in rows] == [{"a", "c"}, {"b", "c"}]
    assert sorted(set(asked)) == ["a", "b", "c"]
    assert [len(row) for row in asyncio.run(retriever.aretrieve_many(["a", "b"]))] == [2, 2]


# A timeout for the whole call, beside the timeouts of an ensemble's parts.


class Slow:
    """An embedder that waits while ``released`` is not set."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.released.set()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.released.wait(60)
        return [[1.0, len(text) % 5] for text in texts]


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Index, Slow]]:
    embedder = Slow()
    with Index.open(tmp_path / "kb", embedder=embedder, embedding_cache=False) as index:
        index.add(DOCUMENTS)
        yield index, embedder
        embedder.released.set()


@pytest.mark.parametrize("host", HOSTS, ids=repr)
async def test_a_retrieval_of_either_host_ends_within_its_timeout(host: Host, slow: tuple[Index, Slow]):
    index, embedder = slow
    base = host.make("VectorRetriever", index)
    whole = host.ask(base, QUESTION)
    retrievers = [
        host.make("VectorRetriever", index, retrieval_timeout=0.2),
        host.make("EnsembleRetriever", index, retrievers=[base, base], timeout=20, retrieval_timeout=0.2),
    ]
    in_time = host.make("VectorRetriever", index, retrieval_timeout=60)
    assert host.ask(in_time, QUESTION) == whole
    embedder.released.clear()
    for retriever in retrievers:
        asks = (
            (retriever.invoke, retriever.ainvoke)
            if host.package is langchain_ext
            else (retriever.retrieve, retriever.aretrieve)
        )
        with ends_within(2.4):
            with pytest.raises(RetrievalTimeout, match=r"within its timeout of 0\.2 seconds"):
                await asyncio.to_thread(asks[0], QUESTION)
            with pytest.raises(RetrievalTimeout, match=r"within its timeout of 0\.2 seconds"):
                await asks[1](QUESTION)
    embedder.released.set()
    assert host.ask(in_time, QUESTION) == whole


def test_a_call_and_a_copy_can_have_a_timeout_of_their_own(slow: tuple[Index, Slow]):
    index, embedder = slow
    langchain, llamaindex = langchain_ext.VectorRetriever(index=index), llamaindex_ext.VectorRetriever(index=index)
    embedder.released.clear()
    with pytest.raises(RetrievalTimeout):
        langchain.invoke(QUESTION, retrieval_timeout=0.2)
    with pytest.raises(RetrievalTimeout):
        llamaindex.with_options(retrieval_timeout=0.2).retrieve(QUESTION)
    with pytest.raises(RetrievalTimeout):
        llamaindex.with_options(retrieval_timeout=0.2).retrieve_many([QUESTION, QUESTION])
    for wrong in (0, -1, "soon"):
        with pytest.raises(InvalidArgument, match="retrieval_timeout must be a number of seconds > 0, got"):
            langchain.invoke(QUESTION, retrieval_timeout=wrong)
        with pytest.raises(InvalidArgument, match="retrieval_timeout must be a number of seconds > 0, got"):
            llamaindex.with_options(retrieval_timeout=wrong)
    with pytest.raises(InvalidArgument, match="has no option 'timeout'; here it is 'retrieval_timeout'"):
        langchain.invoke(QUESTION, timeout=1)
