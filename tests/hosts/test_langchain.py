"""Tests for LangChain only. Tests for both hosts are in test_contract.py."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
from collections.abc import Iterator
from operator import itemgetter
from typing import Any
from unittest.mock import ANY

import pytest
from langchain_classic.retrievers import EnsembleRetriever as LangChainsEnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import ValidationError

import langchain_ext
from langchain_ext import (
    AutoMergingRetriever,
    BM25Retriever,
    BrowseRetriever,
    EnsembleRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    RelevantSegmentsRetriever,
    RouterRetriever,
    SentenceWindowRetriever,
    SpanRetriever,
    TreeRetriever,
    VectorRetriever,
    splitter_from,
)
from leafspan import BM25, BM25Settings, Budget, F, Hybrid, Index, InvalidArgument, Query, Vector
from tests.corpus import DOCUMENTS, QUESTIONS
from tests.engines.page import page
from tests.hosts.contract import RETRIEVERS, WITHOUT_INDEX, LangChain, needed

HOST = LangChain()
PHRASINGS = "1. the dance of the bees\n2. what workers tell each other"


ANIMALS = [
    "ant",
    "bee",
    "cat",
    "dog",
    "eel",
    "fox",
    "gnu",
    "hen",
    "ibis",
    "jay",
    "kite",
    "lynx",
    "mole",
    "newt",
    "owl",
    "pig",
    "quail",
    "rat",
    "seal",
    "toad",
    "urchin",
    "vole",
    "wren",
    "yak",
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Many small documents, so that enough passages are left after merging."""
    with Index.open(tmp_path_factory.mktemp("notes") / "kb") as index:
        index.add(Document(id=animal, page_content=f"The {animal} eats little. It sleeps at noon.") for animal in ANIMALS)
        index.build_tree(across_documents=True)
        yield index


class _StandardTests(RetrieversIntegrationTests):
    """LangChain's own tests, with every option at its default."""

    @pytest.fixture(autouse=True)
    def _index(self, notes: Index):
        type(self).index = notes

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, **needed(self.retriever_constructor.__name__)}

    @property
    def retriever_query_example(self) -> str:
        return "When does the fox sleep?"


class TestStrategyRetriever(_StandardTests):
    retriever_constructor = SpanRetriever


class TestVectorRetriever(_StandardTests):
    retriever_constructor = VectorRetriever


class TestBM25Retriever(_StandardTests):
    retriever_constructor = BM25Retriever


class TestHybridRetriever(_StandardTests):
    retriever_constructor = HybridRetriever


class TestParentDocumentRetriever(_StandardTests):
    retriever_constructor = ParentDocumentRetriever


class TestSentenceWindowRetriever(_StandardTests):
    retriever_constructor = SentenceWindowRetriever


class TestAutoMergingRetriever(_StandardTests):
    retriever_constructor = AutoMergingRetriever


class TestRelevantSegmentsRetriever(_StandardTests):
    retriever_constructor = RelevantSegmentsRetriever


class TestEnsembleRetriever(_StandardTests):
    retriever_constructor = EnsembleRetriever


class TestMultiQueryRetriever(_StandardTests):
    retriever_constructor = MultiQueryRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "llm": FakeListChatModel(responses=[PHRASINGS])}


class TestFilterRetriever(_StandardTests):
    retriever_constructor = BrowseRetriever


class TestTreeRetriever(_StandardTests):
    retriever_constructor = TreeRetriever


class TestTreeRetrieverFromTheTop(_StandardTests):
    retriever_constructor = TreeRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "mode": "traversal"}


@pytest.mark.parametrize("adapter", [AutoMergingRetriever, HybridRetriever])
def test_a_chain_answers_with_citations_to_character_ranges(shared_index: Index, adapter):
    retriever = adapter(index=shared_index, k=3)

    def cite(documents: list[Document]) -> str:
        return "\n\n".join(
            f"[{d.metadata['doc_id']}:{d.metadata['start']}-{d.metadata['end']}] {d.page_content}" for d in documents
        )

    def answer_from(prompt) -> str:
        # A scripted model that answers with the first source in the prompt, as the prompt asks for.
        source = re.search(r"\[(\w+:\d+-\d+)\]", prompt.to_string())
        model = GenericFakeChatModel(messages=iter([AIMessage(f"Karl von Frisch [{source[1]}].")]))
        return model.invoke(prompt)

    prompt = ChatPromptTemplate.from_template(
        "Answer from these sources, and cite them.\n\n{context}\n\nQuestion: {question}"
    )
    chain = {"context": retriever | cite, "question": RunnablePassthrough()} | prompt | answer_from | StrOutputParser()
    answer = chain.invoke(QUESTIONS[0])
    document, start, end = re.search(r"\[(\w+):(\d+)-(\d+)\]", answer).groups()
    assert "Karl von Frisch decoded the dance" in shared_index.get(document).text[int(start) : int(end)]


def test_a_document_has_its_score_and_when_asked_its_trace_in_its_metadata(shared_index: Index):
    document = VectorRetriever(index=shared_index, k=1).invoke(QUESTIONS[1])[0]
    place = {"doc_id", "start", "end", "start_line", "end_line", "title", "headings"}
    assert set(document.metadata) == {"topic", "year", "tags", "score", *place}
    [passage] = shared_index.retrieve(QUESTIONS[1], Vector(), k=1)
    assert document.metadata["score"] == passage.score
    explained = VectorRetriever(index=shared_index, k=1, explain=True).invoke(QUESTIONS[1])[0]
    assert explained.metadata == {**document.metadata, "trace": passage.trace.explain()}


def test_a_call_may_bring_its_own_limits(shared_index: Index):
    retriever = VectorRetriever(index=shared_index)
    assert [len(retriever.invoke(QUESTIONS[0], k=k)) for k in (1, 3, 7)] == [1, 3, 7]
    assert {d.metadata["topic"] for d in retriever.invoke(QUESTIONS[0], where={"topic": "food"})} == {"food"}
    assert sum(len(d.page_content.split()) for d in retriever.invoke(QUESTIONS[0], budget=30)) <= 30
    with pytest.raises(InvalidArgument, match="k must be a whole number >= 1, got 0"):
        retriever.invoke(QUESTIONS[0], k=0)


@pytest.mark.parametrize(
    ("given", "hint"), [("limit", ""), ("candidate", "; did you mean 'candidates'?"), ("top_k", "; here it is 'k'")]
)
def test_a_call_may_bring_no_other_option(shared_index: Index, given, hint):
    with pytest.raises(InvalidArgument) as caught:
        VectorRetriever(index=shared_index).invoke(QUESTIONS[0], **{given: 3})
    assert str(caught.value) == f"a call of VectorRetriever has no option '{given}'{hint}"


def test_the_filter_of_a_call_may_be_in_any_dialect(shared_index: Index):
    retriever = HybridRetriever(index=shared_index)
    for where in (
        F("topic") == "food",
        {"topic": "food"},
        {"field": "meta.topic", "operator": "==", "value": "food"},
    ):
        found = retriever.invoke(QUESTIONS[0], where=where)
        assert {d.metadata["doc_id"] for d in found} == {"tea"}
        assert HybridRetriever(index=shared_index, where=where).invoke(QUESTIONS[0]) == found
    with pytest.raises(InvalidArgument, match="where, given as a text, must be like"):
        retriever.invoke(QUESTIONS[0], where="food")


def test_a_filter_of_a_call_replaces_the_retrievers_own_or_is_merged_with_it(shared_index: Index):
    def documents(policy, **call):
        retriever = HybridRetriever(index=shared_index, where=F("topic") != "food", filter_policy=policy, k=50)
        return {d.metadata["doc_id"] for d in retriever.invoke(QUESTIONS[0], **call)}

    for policy in ("replace", "merge"):
        assert documents(policy) == documents(policy, where=None) == {"bees", "harbour"}
    assert documents("replace", where={"topic": "food"}) == {"tea"}
    assert documents("merge", where={"topic": "food"}) == set()
    assert documents("merge", where=F("year") > 1900) == {"bees"}
    error = HOST.refusal(lambda: HybridRetriever(index=shared_index, filter_policy="marge"))
    assert str(error) == "filter_policy must be one of 'replace', 'merge', got 'marge'; did you mean 'merge'?"


@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_filter_of_a_call_shows_no_more_than_the_view(shared_index: Index, name):
    retriever = HOST.make(name, shared_index.scoped(F("topic") == "places"), k=50, **needed(name))
    for where in (None, F("topic").exists()):
        assert {d.metadata["doc_id"] for d in retriever.invoke(QUESTIONS[1], where=where)} == {"harbour"}
    assert retriever.invoke(QUESTIONS[1], where=F("topic") == "animals") == []


def test_an_option_that_is_missing_is_named_as_pydantic_does(shared_index: Index):
    with pytest.raises(ValidationError, match="1 validation error for EnsembleRetriever\nretrievers\n  Field required"):
        EnsembleRetriever(index=shared_index)


@pytest.mark.parametrize("name", [name for name in RETRIEVERS if name not in WITHOUT_INDEX])
@pytest.mark.parametrize("given", [{}, {"index": None}])
def test_a_retriever_without_an_index_says_what_to_write(name, given):
    options = {option: value for option, value in needed(name).items() if option != "index"}
    error = HOST.refusal(lambda: getattr(langchain_ext, name)(**options, **given))
    assert str(error) == f"{name} must have an index to search, got no index: {name}(index=index)"


def test_the_index_may_come_first_without_its_name(shared_index: Index):
    class Mine(HybridRetriever):
        note: str = ""

    retriever = HybridRetriever(shared_index, k=2)
    assert retriever == HybridRetriever(index=shared_index, k=2)
    assert retriever.model_copy(update={"k": 1}) == HybridRetriever(shared_index, k=1)
    assert copy.copy(retriever) == retriever
    assert pickle.loads(pickle.dumps(retriever)).invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0])
    assert retriever.with_config(tags=["mine"]).invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0])
    assert RouterRetriever(shared_index, retrievers={"words": BM25()}, choose=lambda _: "words").index is shared_index
    assert (Mine(shared_index, note="mine").index, Mine(shared_index, note="mine").note) == (shared_index, "mine")
    with pytest.raises(TypeError, match="multiple values for argument 'index'"):
        HybridRetriever(shared_index, index=shared_index)
    assert str(HOST.refusal(lambda: HybridRetriever("kb"))) == "index must be an Index or a view of one, got 'kb'"


@pytest.mark.parametrize(
    ("given", "meant"), [("similarity_top_k", "k"), ("top_k", "k"), ("filters", "where"), ("filter", "where")]
)
def test_what_has_another_name_here_is_named(shared_index: Index, given, meant):
    error = HOST.refusal(lambda: HybridRetriever(index=shared_index, **{given: 3}))
    assert str(error) == f"HybridRetriever has no option '{given}'; here it is '{meant}'"


def test_options_can_be_configured_at_run_time(shared_index: Index):
    retriever = VectorRetriever(index=shared_index).configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.with_config(configurable={"k": 2}).invoke(QUESTIONS[0])) == 2


def test_options_of_every_kind_can_be_configured_at_run_time(shared_index: Index):
    given = {"phrasings": ["a dance", Query("bees")], "fusion": "simple", "budget": Budget(300), "base": BM25()}
    multi = MultiQueryRetriever(index=shared_index, **given).configurable_fields(count=ConfigurableField(id="count"))
    assert len(multi.with_config(configurable={"count": 2}).invoke(QUESTIONS[0])) > 1
    hybrid = HybridRetriever(
        index=shared_index, references=0.5, weights=[2, 1], bm25=BM25Settings(k1=1.5), where={"topic": "food"}
    )
    configurable = hybrid.configurable_fields(k=ConfigurableField(id="k"))
    assert configurable.with_config(configurable={"k": 2}).invoke(QUESTIONS[0]) == hybrid.invoke(QUESTIONS[0], k=2)


def test_a_copy_of_the_model_may_have_other_options(shared_index: Index):
    retriever = HybridRetriever(index=shared_index)
    assert retriever.model_copy(update={"k": 2}).invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0], k=2)


@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_model_can_be_dumped_and_made_again(shared_index: Index, name):
    retriever = HOST.make(name, shared_index, k=2, where=F("topic") != "food", **needed(name))
    dumped = retriever.model_dump()
    assert dumped.keys() == type(retriever).model_fields.keys()
    assert (dumped["index"], dumped["k"]) == (shared_index, 2)
    again = type(retriever)(**{each: getattr(retriever, each) for each in dumped})
    assert again.invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0])


def test_the_model_is_dumped_with_its_strategies(shared_index: Index):
    hybrid = {"weights": (0.7, 0.3), "references": 0.8, "aliases": "aliases"}
    assert hybrid.items() <= SpanRetriever(index=shared_index, strategy=Hybrid()).model_dump()["strategy"].items()
    assert hybrid.items() <= AutoMergingRetriever(index=shared_index, base=Hybrid()).model_dump()["base"].items()
    asked = MultiQueryRetriever(index=shared_index, phrasings=["bees"]).model_dump()
    assert asked["phrasings"] == ({"text": "bees", "vector": None, "embedding_texts": ()},)


def test_the_filter_and_the_limits_of_a_call_reach_our_own_retrievers(shared_index: Index):
    ours = [BM25Retriever(index=shared_index, k=1), VectorRetriever(index=shared_index, k=1)]
    outside = EnsembleRetriever(index=shared_index, retrievers=ours)
    inside = EnsembleRetriever(index=shared_index, retrievers=[BM25(), Vector()])
    limits = {"where": {"doc_id": "tea"}, "k": 4, "candidates": 9}
    found = outside.invoke(QUESTIONS[0], **limits)
    assert found == inside.invoke(QUESTIONS[0], **limits)
    assert [document.metadata["doc_id"] for document in found] == ["tea"] * 4


def test_the_filter_of_our_own_retriever_holds_beside_the_calls(shared_index: Index):
    base = VectorRetriever(index=shared_index, where={"topic": {"$ne": "food"}})
    window = SentenceWindowRetriever(index=shared_index, base=base)
    assert {document.metadata["doc_id"] for document in window.invoke(QUESTIONS[2], k=50)} == {"bees", "harbour"}
    assert window.invoke(QUESTIONS[2], where=F("doc_id") == "tea") == []


def test_an_ensemble_of_langchains_own_can_be_the_base_and_counts_by_rank(shared_index: Index):
    several = [VectorRetriever(index=shared_index, k=6), HOST.vector_search(shared_index, 4)]
    ensemble = LangChainsEnsembleRetriever(retrievers=several, weights=[0.5, 0.5])
    ranking = [d.id for d in ensemble.invoke(QUESTIONS[0])]
    documents = SentenceWindowRetriever(index=shared_index, base=ensemble, before=0, after=0, explain=True).invoke(
        QUESTIONS[0]
    )
    assert documents[0].metadata["trace"][0].startswith("EnsembleRetriever found leaf ")
    first = int(ranking[0].rpartition("#")[2].split("-")[0])
    assert any(f"found leaf {first} " in line for line in documents[0].metadata["trace"])


@pytest.mark.parametrize("name", RETRIEVERS)
def test_an_ensemble_of_langchains_own_ranks_ours_first_if_it_weighs_more(shared_index: Index, name):
    ours = HOST.make(name, shared_index, k=3, **needed(name))
    several = [ours, VectorRetriever(index=shared_index, k=3)]
    found = LangChainsEnsembleRetriever(retrievers=several, weights=[0.7, 0.3]).invoke(QUESTIONS[0])
    assert found[0].page_content == ours.invoke(QUESTIONS[0])[0].page_content


class Listening(BaseCallbackHandler):
    def __init__(self):
        self.started: list[tuple[Any, Any]] = []
        self.names: dict[Any, str] = {}

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, metadata=None, name=None, **kwargs):
        self.started.append((run_id, parent_run_id))
        self.names[run_id] = name
        self.metadata = metadata
        self.tags = kwargs["tags"]

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, name=None, **kwargs):
        self.started.append((run_id, parent_run_id))
        self.names[run_id] = name or serialized["name"]


async def heard(retriever, *, asynchronous: bool) -> tuple[str, list[str], Listening]:
    """The name of the outer run of a question, and the names of the runs in it."""
    listening = Listening()
    config: Any = {"callbacks": [listening]}
    if asynchronous:
        await retriever.ainvoke(QUESTIONS[0], config)
    else:
        await asyncio.to_thread(retriever.invoke, QUESTIONS[0], config)
    (outer, none), *inner = listening.started
    assert none is None
    assert {parent for _, parent in inner} <= {outer}
    return listening.names[outer], sorted(listening.names[run] for run, _ in inner), listening


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_the_base(shared_index: Index, asynchronous):
    base = HOST.vector_search(shared_index, 4)
    retriever = AutoMergingRetriever(index=shared_index, base=base)
    outer, inner, _ = await heard(retriever, asynchronous=asynchronous)
    assert (outer, inner) == ("AutoMergingRetriever", ["VectorStoreRetriever"])


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_our_own_retriever_as_a_base_has_a_run_of_its_own(shared_index: Index, asynchronous):
    base = VectorRetriever(index=shared_index, tags=["mine"], metadata={"team": "search"})
    retriever = AutoMergingRetriever(index=shared_index, base=base)
    outer, inner, listening = await heard(retriever, asynchronous=asynchronous)
    assert (outer, inner) == ("AutoMergingRetriever", ["VectorRetriever"])
    assert listening.metadata["ls_retriever_name"] == "vector"
    assert listening.metadata["ls_vector_store_provider"] == "Chroma"
    assert listening.metadata["team"] == "search"
    assert listening.tags == ["mine"]


def test_langsmith_gets_the_name_of_the_store_that_has_the_index():
    qdrant = pytest.importorskip("qdrant_client")
    for client, name in ((page()["MemoryEngine"](), "MemoryEngine"), (qdrant.QdrantClient(":memory:"), "Qdrant")):
        with Index.open(client=client) as index:
            for view in (index, index.scoped({"tenant": "a"})):
                assert VectorRetriever(index=view)._get_ls_params()["ls_vector_store_provider"] == name


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_every_retriever_of_an_ensemble(shared_index: Index, asynchronous):
    several = [HOST.retriever("Stub", lambda question: []), HOST.vector_search(shared_index, 4), BM25()]
    outer, inner, _ = await heard(EnsembleRetriever(index=shared_index, retrievers=several), asynchronous=asynchronous)
    assert (outer, inner) == ("EnsembleRetriever", ["Stub", "VectorStoreRetriever"])


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_the_model_and_the_base_of_every_phrasing(shared_index: Index, asynchronous):
    model = FakeListChatModel(responses=[PHRASINGS])
    base = HOST.vector_search(shared_index, 4)
    retriever = MultiQueryRetriever(index=shared_index, llm=model, base=base)
    outer, inner, _ = await heard(retriever, asynchronous=asynchronous)
    assert (outer, inner) == ("MultiQueryRetriever", ["FakeListChatModel", *["VectorStoreRetriever"] * 3])


async def test_callbacks_reach_the_model_of_our_own_retriever_as_a_base(shared_index: Index):
    model = FakeListChatModel(responses=[PHRASINGS])
    base = MultiQueryRetriever(index=shared_index, llm=model)
    retriever = SentenceWindowRetriever(index=shared_index, base=base)
    inner = ["FakeListChatModel", "MultiQueryRetriever"]
    assert await heard(retriever, asynchronous=True) == ("SentenceWindowRetriever", inner, ANY)


@pytest.mark.parametrize(
    "llm",
    [
        FakeListChatModel(responses=[PHRASINGS]),
        FakeListLLM(responses=[PHRASINGS]),
        RunnableLambda(lambda prompt: PHRASINGS),
        RunnableLambda(lambda prompt: AIMessage([{"type": "text", "text": PHRASINGS}])),
        ChatPromptTemplate.from_messages([("human", "{prompt}")])
        | FakeListChatModel(responses=[PHRASINGS])
        | StrOutputParser(),
    ],
    ids=["chat model", "model of texts", "function", "message", "chain"],
)
async def test_phrasings_can_come_from_anything_that_answers_a_prompt(shared_index: Index, llm):
    asked = MultiQueryRetriever(index=shared_index, llm=llm)
    given = MultiQueryRetriever(index=shared_index, phrasings=["the dance of the bees", "what workers tell each other"])
    assert asked.invoke(QUESTIONS[0]) == given.invoke(QUESTIONS[0])
    assert await asked.ainvoke(QUESTIONS[0]) == given.invoke(QUESTIONS[0])


def test_a_splitter_is_followed_through_text_that_repeats_itself():
    text = "a b " * 100
    cuts = splitter_from(RecursiveCharacterTextSplitter(chunk_size=50, chunk_overlap=10))(text)
    assert cuts[-1].end == len(text)
    assert 8 <= len(cuts) <= 11


def test_the_index_says_which_splitter_it_was_made_with(tmp_path):
    splitter = splitter_from(RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30))
    with Index.open(tmp_path, splitter=splitter) as index:
        index.add(DOCUMENTS)
        assert index.stats().splitter == "RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30)"


def test_retrievers_pick_out_their_input_in_a_chain(shared_index: Index):
    chain = itemgetter("question") | VectorRetriever(index=shared_index, k=1)
    assert chain.invoke({"question": QUESTIONS[0]})[0].metadata["doc_id"] == "bees"
