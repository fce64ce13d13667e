"""The adapters at work in LangChain."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import threading
from collections.abc import Iterator
from operator import itemgetter
from typing import Any
from unittest.mock import ANY

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever as LangChainsEnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import ValidationError

from langchain_ext import (
    AutoMergingRetriever,
    BM25Retriever,
    EnsembleRetriever,
    FilterRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    RelevantSegmentsRetriever,
    SentenceWindowRetriever,
    TreeRetriever,
    VectorRetriever,
    leaf_documents,
    splitter_from,
)
from leafspan import (
    BM25,
    AutoMerging,
    Ensemble,
    F,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    NotALeaf,
    ParentDocument,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.embedding import default_embedder
from leafspan.strategies._filtered import Filtered
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS

BASED = [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever, MultiQueryRetriever]
EVERY = [VectorRetriever, BM25Retriever, HybridRetriever, *BASED, EnsembleRetriever, FilterRetriever, TreeRetriever]
LEGS = [BM25(), Vector()]
PHRASINGS = "1. the dance of the bees\n2. what workers tell each other"


def needed(adapter) -> dict[str, Any]:
    """The options without which there is none."""
    return {"retrievers": LEGS} if adapter is EnsembleRetriever else {}


class WordLlama(Embeddings):
    def embed_documents(self, texts):
        return default_embedder().documents(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


class Stub(BaseRetriever):
    """Returns what it is told to."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


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
    """Many small documents, so that whatever is merged, enough passages are left."""
    with Index.open(tmp_path_factory.mktemp("notes") / "kb") as index:
        index.add(Document(id=animal, page_content=f"The {animal} eats little. It sleeps at noon.") for animal in ANIMALS)
        index.build_tree(across_documents=True)
        yield index


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The small corpus with trees, and layers above them."""
    with Index.open(tmp_path_factory.mktemp("forest") / "kb", splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        index.build_tree(across_documents=True)
        yield index


class _StandardTests(RetrieversIntegrationTests):
    """LangChain's own tests, with every option at its default."""

    @pytest.fixture(autouse=True)
    def _index(self, notes: Index):
        type(self).index = notes

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, **needed(self.retriever_constructor)}

    @property
    def retriever_query_example(self) -> str:
        return "When does the fox sleep?"


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
    retriever_constructor = FilterRetriever


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
        # A scripted model that answers with the first source it was shown, as a real one is told to.
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


def test_documents_carry_the_users_metadata_and_their_place(shared_index: Index):
    document = VectorRetriever(index=shared_index, k=1).invoke(QUESTIONS[1])[0]
    assert set(document.metadata) == {"topic", "year", "tags", "doc_id", "start", "end", "score"}
    assert TEXTS["harbour"][document.metadata["start"] : document.metadata["end"]] == document.page_content


def test_documents_explain_themselves_when_asked(shared_index: Index):
    document = SentenceWindowRetriever(index=shared_index, k=1, explain=True).invoke(QUESTIONS[1])[0]
    assert document.metadata["trace"][-1] == "widened to the neighbours: 0 before and 1 after"


def test_a_summary_says_what_it_covers_and_a_leaf_what_it_always_did(forest: Index):
    found = TreeRetriever(index=forest, mode="traversal", top_k=9).invoke(QUESTIONS[1])
    top, *others = found
    assert set(top.metadata) == {"layer", "covers", "score"}
    whole = [[document.id, 0, len(document.text)] for document in sorted(DOCUMENTS, key=lambda each: each.id)]
    assert (top.metadata["layer"], top.metadata["covers"]) == (max(d.metadata.get("layer", 0) for d in found), whole)
    harbour = next(d for d in others if d.metadata["doc_id"] == "harbour" and "layer" in d.metadata)
    assert set(harbour.metadata) == {"topic", "year", "tags", "doc_id", "start", "end", "layer", "covers", "score"}
    assert harbour.metadata["covers"][0][:2] == ["harbour", harbour.metadata["start"]]
    assert harbour.metadata["covers"][-1][2] == harbour.metadata["end"]
    leaf = next(d for d in others if d.metadata["doc_id"] == "harbour" and "layer" not in d.metadata)
    assert set(leaf.metadata) == {"topic", "year", "tags", "doc_id", "start", "end", "score"}


def test_our_own_retriever_can_be_what_ranks_a_tree(forest: Index):
    base = VectorRetriever(index=forest, k=1, where={"topic": {"$ne": "food"}})
    retriever = TreeRetriever(index=forest, base=base, keep_covered_summaries=True, k=50)
    assert retriever._strategy() == Tree(base=Filtered(Vector(), WITHIN), keep_covered_summaries=True)
    found = retriever.invoke(QUESTIONS[2])
    assert {place[0] for d in found for place in d.metadata.get("covers", [])} == {"bees", "harbour"}
    assert {d.metadata["doc_id"] for d in found} == {"bees", "harbour"}
    assert TreeRetriever(index=forest, base=HybridRetriever(index=forest))._strategy() == Tree() == Tree(base=Hybrid())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base": "vector"}, "base must be a strategy or a LangChain retriever, got 'vector'"),
        (
            {"base": AutoMerging()},
            r"base must be a strategy that can search summaries, such as Hybrid\(\), got AutoMerging",
        ),
        (
            {"base": Stub(documents=[])},
            r"base must be a strategy that can search summaries, such as Hybrid\(\), got Outside",
        ),
        ({"mode": "up"}, "Input should be 'collapsed' or 'traversal'"),
        ({"start_layer": 1}, "start_layer and end_layer are for mode='traversal'"),
        ({"expand": 0}, "expand must be a whole number >= 1, got 0"),
        (
            {"mode": "traversal", "base": Filtered(Vector(), F("topic") == "food")},
            "base is not used for mode='traversal', and so its filter would not hold",
        ),
    ],
)
def test_bad_options_of_trees_are_refused(shared_index: Index, options, message):
    with pytest.raises(ValidationError, match=message):
        TreeRetriever(index=shared_index, **options)


def test_a_call_may_bring_its_own_limits(shared_index: Index):
    retriever = VectorRetriever(index=shared_index)
    assert [len(retriever.invoke(QUESTIONS[0], k=k)) for k in (1, 3, 7)] == [1, 3, 7]
    assert {d.metadata["topic"] for d in retriever.invoke(QUESTIONS[0], where={"topic": "food"})} == {"food"}
    assert sum(len(d.page_content.split()) for d in retriever.invoke(QUESTIONS[0], budget=30)) <= 30
    with pytest.raises(InvalidArgument, match="a call may be given k, candidates, budget, where, got limit"):
        retriever.invoke(QUESTIONS[0], limit=3)
    with pytest.raises(InvalidArgument, match="k must be a whole number >= 1, got 0"):
        retriever.invoke(QUESTIONS[0], k=0)


def test_a_filter_may_be_in_any_dialect_and_is_checked_when_the_retriever_is_made(shared_index: Index):
    for where in (
        F("topic") == "food",
        {"topic": "food"},
        {"field": "meta.topic", "operator": "==", "value": "food"},
    ):
        found = HybridRetriever(index=shared_index, where=where).invoke(QUESTIONS[0])
        assert {d.metadata["doc_id"] for d in found} == {"tea"}
        assert HybridRetriever(index=shared_index).invoke(QUESTIONS[0], where=where) == found
    with pytest.raises(ValidationError, match="where must be a filter made with F"):
        HybridRetriever(index=shared_index, where="food")
    with pytest.raises(InvalidArgument, match="where must be a filter made with F"):
        HybridRetriever(index=shared_index).invoke(QUESTIONS[0], where="food")


def test_a_filter_of_a_call_replaces_the_retrievers_own_or_is_merged_with_it(shared_index: Index):
    def documents(policy, **call):
        retriever = HybridRetriever(index=shared_index, where=F("topic") != "food", filter_policy=policy, k=50)
        return {d.metadata["doc_id"] for d in retriever.invoke(QUESTIONS[0], **call)}

    for policy in ("replace", "merge"):
        assert documents(policy) == documents(policy, where=None) == {"bees", "harbour"}
    assert documents("replace", where={"topic": "food"}) == {"tea"}
    assert documents("merge", where={"topic": "food"}) == set()
    assert documents("merge", where=F("year") > 1900) == {"bees"}
    with pytest.raises(ValidationError, match="Input should be 'replace' or 'merge'"):
        HybridRetriever(index=shared_index, filter_policy="both")


@pytest.mark.parametrize("adapter", EVERY)
def test_a_retriever_of_a_view_shows_nothing_else(shared_index: Index, adapter):
    retriever = adapter(index=shared_index.scoped(F("topic") == "places"), k=50, **needed(adapter))
    for where in (None, F("topic").exists()):
        assert {d.metadata["doc_id"] for d in retriever.invoke(QUESTIONS[1], where=where)} == {"harbour"}
    assert retriever.invoke(QUESTIONS[1], where=F("topic") == "animals") == []


def test_filtering_needs_no_question_and_goes_page_by_page(shared_index: Index):
    pages = [FilterRetriever(index=shared_index, k=4, offset=offset).invoke("") for offset in (0, 4, 8)]
    leaves = [leaf for document in ("bees", "harbour", "tea") for leaf in shared_index.leaves(document)]
    assert [d.page_content for page in pages for d in page] == [leaf.text for leaf in leaves[:12]]


def test_options_can_be_configured_at_run_time(shared_index: Index):
    retriever = VectorRetriever(index=shared_index).configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.with_config(configurable={"k": 2}).invoke(QUESTIONS[0])) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 2}, r"threshold must be in \[0, 1\], got 2"),
        ({"k": -1}, "k must be a whole number >= 1, got -1"),
        ({"base": "vector"}, "base must be a strategy or a LangChain retriever, got 'vector'"),
        ({"index": "kb"}, "instance of View"),
        ({"where": "topic"}, "where must be a filter made with F"),
        ({"treshold": 0.9}, "Extra inputs are not permitted"),
    ],
)
def test_bad_options_are_refused_when_the_retriever_is_made(shared_index: Index, options, message):
    with pytest.raises(ValidationError, match=message):
        AutoMergingRetriever(**{"index": shared_index, **options})


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy, lambda each: each.model_copy(deep=True)])
def test_a_retriever_is_neither_pickled_nor_copied_and_says_what_to_do(shared_index: Index, duplicate):
    retriever = HybridRetriever(index=shared_index)
    with pytest.raises(TypeError, match=r"Index cannot be pickled or copied, .*: open the index again where it is needed"):
        duplicate(retriever)
    assert retriever.model_copy(update={"k": 2}).invoke(QUESTIONS[0]) == retriever.invoke(QUESTIONS[0], k=2)


def leaf_vectorstore(index: Index) -> Chroma:
    return Chroma(client=index.client, collection_name="kb.leaves", embedding_function=WordLlama())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrievers": [BM25()]}, "legs must be two or more strategies"),
        ({"retrievers": [BM25(), "vector"]}, "leg 2 must be a strategy or a LangChain retriever, got 'vector'"),
        ({"retrievers": LEGS, "weights": [1]}, "weights must be a list of numbers, one for each of the 2 legs"),
        ({}, "legs\n  Field required"),
    ],
)
def test_bad_legs_are_refused_when_the_ensemble_is_made(shared_index: Index, options, message):
    with pytest.raises(ValidationError, match=message):
        EnsembleRetriever(index=shared_index, **options)


@pytest.mark.parametrize("adapter", BASED)
async def test_a_vector_store_over_the_leaves_can_be_the_base(shared_index: Index, adapter):
    base = leaf_vectorstore(shared_index).as_retriever(search_kwargs={"k": 8})
    inside = adapter(index=shared_index, base=Vector(), candidates=8)
    outside = adapter(index=shared_index, base=base, candidates=8)
    for question in QUESTIONS:
        # The same leaves, scored by rank: what they are merged or widened into is the same, but for the order.
        assert {d.id for d in outside.invoke(question, k=20)} == {d.id for d in inside.invoke(question, k=20)}
        assert await outside.ainvoke(question) == outside.invoke(question)


def test_our_own_retriever_can_be_the_base_with_its_scores(shared_index: Index):
    inside = AutoMergingRetriever(index=shared_index, base=Vector(), candidates=8)
    for base in (Vector(), VectorRetriever(index=shared_index, k=8)):
        outside = AutoMergingRetriever(index=shared_index, base=base, candidates=8)
        assert outside.invoke(QUESTIONS[0]) == inside.invoke(QUESTIONS[0])
    outside = AutoMergingRetriever(index=shared_index, base=HybridRetriever(index=shared_index, k=8), candidates=8)
    assert outside.invoke(QUESTIONS[0]) == AutoMergingRetriever(index=shared_index, candidates=8).invoke(QUESTIONS[0])


WITHIN = F("topic") != "food"


def test_our_own_retriever_over_the_same_index_is_its_strategy(shared_index: Index):
    legs = [BM25Retriever(index=shared_index, k=1), VectorRetriever(index=shared_index, where=WITHIN)]
    ensemble = EnsembleRetriever(index=shared_index, retrievers=legs)
    assert ensemble._strategy() == Ensemble(retrievers=[BM25(), Filtered(Vector(), WITHIN)])
    window = SentenceWindowRetriever(
        index=shared_index, base=HybridRetriever(index=shared_index, k=1, candidates=1, budget=9)
    )
    assert window._strategy() == SentenceWindow()
    multi = MultiQueryRetriever(index=shared_index, base=ParentDocumentRetriever(index=shared_index))
    assert multi._strategy() == MultiQuery(base=ParentDocument())


def test_the_filter_and_the_limits_of_a_call_reach_our_own_retrievers(shared_index: Index):
    legs = [BM25Retriever(index=shared_index, k=1), VectorRetriever(index=shared_index, k=1)]
    outside = EnsembleRetriever(index=shared_index, retrievers=legs)
    inside = EnsembleRetriever(index=shared_index, retrievers=LEGS)
    limits = {"where": {"doc_id": "tea"}, "k": 4, "candidates": 9}
    found = outside.invoke(QUESTIONS[0], **limits)
    assert found == inside.invoke(QUESTIONS[0], **limits)
    assert [document.metadata["doc_id"] for document in found] == ["tea"] * 4


def test_the_filter_of_our_own_retriever_holds_beside_that_of_the_call(shared_index: Index):
    base = VectorRetriever(index=shared_index, where={"topic": {"$ne": "food"}})
    window = SentenceWindowRetriever(index=shared_index, base=base)
    assert {document.metadata["doc_id"] for document in window.invoke(QUESTIONS[2], k=50)} == {"bees", "harbour"}
    assert window.invoke(QUESTIONS[2], where=F("doc_id") == "tea") == []


@pytest.mark.parametrize("adapter", [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever])
def test_our_own_retriever_that_finds_spans_can_be_a_leg_and_is_refused_as_a_base(shared_index: Index, adapter):
    spans = adapter(index=shared_index, where=WITHIN)
    with pytest.raises(ValidationError, match="base must be a strategy that finds single leaves"):
        SentenceWindowRetriever(index=shared_index, base=spans)
    found = EnsembleRetriever(index=shared_index, retrievers=[spans, BM25Retriever(index=shared_index)]).invoke(
        QUESTIONS[0]
    )
    assert found[0].metadata["doc_id"] == "bees"


def test_our_own_retriever_over_an_equal_view_is_its_strategy_and_over_another_is_asked(shared_index: Index, tmp_path):
    view = shared_index.scoped(WITHIN)
    ours = AutoMergingRetriever(index=view, base=VectorRetriever(index=shared_index.scoped(F("topic") != "food")))
    assert ours._strategy() == AutoMerging(base=Vector())
    with Index.open(tmp_path / "other") as another:
        for other in (shared_index, shared_index.scoped(F("topic") != "animals"), another):
            theirs = AutoMergingRetriever(index=view, base=VectorRetriever(index=other))
            assert isinstance(theirs._strategy().base, HostRetriever)


def test_a_subclass_with_results_of_its_own_is_asked(shared_index: Index):
    class Backwards(VectorRetriever):
        def _get_relevant_documents(self, query, *, run_manager, **options):
            return super()._get_relevant_documents(query, run_manager=run_manager, **options)[::-1]

    found = SentenceWindowRetriever(index=shared_index, base=Backwards(index=shared_index), before=0, after=0)
    assert isinstance(found._strategy().base, HostRetriever)


def test_an_ensemble_can_be_the_base_and_counts_by_rank(shared_index: Index):
    legs = [VectorRetriever(index=shared_index, k=6), leaf_vectorstore(shared_index).as_retriever()]
    ensemble = LangChainsEnsembleRetriever(retrievers=legs, weights=[0.5, 0.5])
    ranking = [d.id for d in ensemble.invoke(QUESTIONS[0])]
    documents = SentenceWindowRetriever(index=shared_index, base=ensemble, before=0, after=0, explain=True).invoke(
        QUESTIONS[0]
    )
    assert documents[0].metadata["trace"][0].startswith("EnsembleRetriever found leaf ")
    first = int(ranking[0].rpartition("#")[2].split("-")[0])
    assert any(f"found leaf {first} " in line for line in documents[0].metadata["trace"])


def test_a_base_that_returns_anything_else_is_refused_by_name(shared_index: Index):
    strange = Stub(documents=[Document("No leaf of this index.", id="17")])
    with pytest.raises(NotALeaf, match="the results of Stub must be leaves of this index, but number 1 is not: id '17'"):
        AutoMergingRetriever(index=shared_index, base=strange).invoke(QUESTIONS[0])
    gone = Stub(documents=[Document("Was a leaf once.", id="bees#00000000#0")])
    with pytest.raises(
        NotALeaf, match="the results of Stub must be leaves of this index, but 'bees#00000000#0' is not in it"
    ):
        AutoMergingRetriever(index=shared_index, base=gone).invoke(QUESTIONS[0])
    elsewhere = ParentDocumentRetriever(index=shared_index.scoped(F("year").exists()))
    with pytest.raises(NotALeaf, match="the results of ParentDocumentRetriever must be leaves of this index, but number 1"):
        AutoMergingRetriever(index=shared_index, base=elsewhere).invoke(QUESTIONS[0])


def test_of_what_a_base_finds_other_documents_are_left_out(shared_index: Index):
    base = leaf_vectorstore(shared_index).as_retriever(search_kwargs={"k": 12})
    found = AutoMergingRetriever(index=shared_index, base=base, where={"topic": "food"}).invoke(QUESTIONS[0])
    assert {document.metadata["doc_id"] for document in found} == {"tea"}


def test_a_base_that_finds_nothing_gives_nothing(shared_index: Index):
    assert AutoMergingRetriever(index=shared_index, base=Stub(documents=[])).invoke(QUESTIONS[0]) == []


def test_leaves_can_feed_a_retriever_of_langchains_own(shared_index: Index):
    documents = leaf_documents(shared_index)
    base = Stub(documents=[d for d in documents if "dance" in d.page_content])
    found = SentenceWindowRetriever(index=shared_index, base=base).invoke(QUESTIONS[0])
    assert {d.metadata["doc_id"] for d in found} == {"bees"}


def test_a_retriever_made_of_leaves_counts_by_rank(shared_index: Index):
    tea, bees = (next(d for d in leaf_documents(shared_index) if d.metadata["doc_id"] == id_) for id_ in ("tea", "bees"))
    window = SentenceWindowRetriever(index=shared_index, base=Stub(documents=[tea, bees]), before=0, after=0)
    assert [(d.metadata["doc_id"], d.metadata["score"]) for d in window.invoke(QUESTIONS[0])] == [
        ("tea", 1 / 1),
        ("bees", 1 / 2),
    ]


def test_strategies_compose(shared_index: Index):
    strict = SentenceWindowRetriever(index=shared_index, base=Vector(min_score=0.45), k=20)
    assert (
        len(strict.invoke(QUESTIONS[0])) < len(SentenceWindowRetriever(index=shared_index, k=20).invoke(QUESTIONS[0])) + 1
    )
    assert strict._strategy() == SentenceWindow(base=Vector(min_score=0.45))
    assert AutoMergingRetriever(index=shared_index)._strategy() == AutoMerging()


class Listening(BaseCallbackHandler):
    def __init__(self):
        self.started: list[tuple[Any, Any]] = []
        self.names: dict[Any, str] = {}

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, metadata=None, name=None, **kwargs):
        self.started.append((run_id, parent_run_id))
        self.names[run_id] = name
        self.metadata = metadata

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, name=None, **kwargs):
        self.started.append((run_id, parent_run_id))
        self.names[run_id] = name or serialized["name"]


async def heard(retriever, *, asynchronous: bool) -> tuple[str, list[str], Listening]:
    """The name of the outer run of a question, and those of the runs in it."""
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
    base = leaf_vectorstore(shared_index).as_retriever()
    retriever = AutoMergingRetriever(index=shared_index, base=base)
    outer, inner, _ = await heard(retriever, asynchronous=asynchronous)
    assert (outer, inner) == ("AutoMergingRetriever", ["VectorStoreRetriever"])


async def test_our_own_retriever_makes_no_run_of_its_own_as_a_base(shared_index: Index):
    retriever = AutoMergingRetriever(index=shared_index, base=VectorRetriever(index=shared_index))
    outer, inner, listening = await heard(retriever, asynchronous=True)
    assert (outer, inner) == ("AutoMergingRetriever", [])
    assert listening.metadata["ls_vector_store_provider"] == "Chroma"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_every_leg(shared_index: Index, asynchronous):
    legs = [Stub(documents=[]), leaf_vectorstore(shared_index).as_retriever(), BM25()]
    outer, inner, _ = await heard(EnsembleRetriever(index=shared_index, retrievers=legs), asynchronous=asynchronous)
    assert (outer, inner) == ("EnsembleRetriever", ["Stub", "VectorStoreRetriever"])


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_the_model_and_the_base_of_every_phrasing(shared_index: Index, asynchronous):
    model = FakeListChatModel(responses=[PHRASINGS])
    base = leaf_vectorstore(shared_index).as_retriever()
    retriever = MultiQueryRetriever(index=shared_index, llm=model, base=base)
    outer, inner, _ = await heard(retriever, asynchronous=asynchronous)
    assert (outer, inner) == ("MultiQueryRetriever", ["FakeListChatModel", *["VectorStoreRetriever"] * 3])


async def test_callbacks_reach_the_model_of_our_own_retriever_as_a_base(shared_index: Index):
    model = FakeListChatModel(responses=[PHRASINGS])
    base = MultiQueryRetriever(index=shared_index, llm=model)
    retriever = SentenceWindowRetriever(index=shared_index, base=base)
    assert await heard(retriever, asynchronous=True) == ("SentenceWindowRetriever", ["FakeListChatModel"], ANY)


class Meeting(BaseRetriever):
    """Comes back when another is asked too."""

    documents: list[Document]
    threads: Any = None
    tasks: Any = None

    def _get_relevant_documents(self, query, *, run_manager):
        self.threads.wait(5)
        return self.documents

    async def _aget_relevant_documents(self, query, *, run_manager):
        async with asyncio.timeout(5):
            await self.tasks.wait()
        return self.documents


async def test_the_legs_of_an_ensemble_run_together(shared_index: Index):
    first, second = leaf_documents(shared_index)[:2]
    threads, tasks = threading.Barrier(2), asyncio.Barrier(2)
    legs = [Meeting(documents=[leaf], threads=threads, tasks=tasks) for leaf in (first, second)]
    retriever = EnsembleRetriever(index=shared_index, retrievers=legs, rank_constant=0, weights=[3, 1])
    expected = [(first.page_content, 0.75 / 1), (second.page_content, 0.25 / 1)]
    for found in (await retriever.ainvoke("x"), await asyncio.to_thread(retriever.invoke, "x")):
        assert [(d.page_content, d.metadata["score"]) for d in found] == expected


def test_an_ensembles_trace_names_its_legs(shared_index: Index):
    legs = [leaf_vectorstore(shared_index).as_retriever(), BM25()]
    retriever = EnsembleRetriever(index=shared_index, retrievers=legs, names=["meaning", "words"], explain=True)
    trace = retriever.invoke(QUESTIONS[0])[0].metadata["trace"]
    assert any(line.startswith("VectorStoreRetriever found leaf") for line in trace)
    assert any("from meaning (rank" in line and "from words (rank" in line for line in trace)


def test_an_ensemble_calls_the_hosts_retrievers_by_their_classes(shared_index: Index):
    legs = [leaf_vectorstore(shared_index).as_retriever(), BM25Retriever(index=shared_index.scoped(F("year") > 0), k=9)]
    retriever = EnsembleRetriever(index=shared_index, retrievers=legs, explain=True)
    trace = retriever.invoke(QUESTIONS[0])[0].metadata["trace"]
    assert any("from VectorStoreRetriever (rank" in line and "from BM25Retriever (rank" in line for line in trace)


def test_a_leg_that_fails_is_left_out_when_asked(shared_index: Index):
    class Broken(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            raise ConnectionError("the line is dead")

    legs = [Broken(), BM25()]
    with pytest.raises(ConnectionError, match="the line is dead"):
        EnsembleRetriever(index=shared_index, retrievers=legs).invoke(QUESTIONS[0])
    patient = EnsembleRetriever(index=shared_index, retrievers=legs, on_failure="leave out", explain=True)
    found = patient.invoke(QUESTIONS[0])
    assert [d.id for d in found] == [d.id for d in BM25Retriever(index=shared_index).invoke(QUESTIONS[0])]
    assert found[0].metadata["trace"][-1].endswith("was left out: ConnectionError: the line is dead")


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


async def test_a_model_that_fails_leaves_the_question_itself_and_a_note(shared_index: Index):
    def fail(prompt):
        raise ConnectionError("the line is dead")

    retriever = MultiQueryRetriever(index=shared_index, llm=RunnableLambda(fail), explain=True)
    found = retriever.invoke(QUESTIONS[0])
    assert [d.id for d in found] == [d.id for d in HybridRetriever(index=shared_index).invoke(QUESTIONS[0])]
    for document in [*found, *await retriever.ainvoke(QUESTIONS[0])]:
        assert document.metadata["trace"][-1] == "no phrasings were generated: ConnectionError: the line is dead"


def test_a_base_is_asked_every_phrasing(shared_index: Index):
    asked = []

    class Remembering(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            asked.append(query)
            return []

    MultiQueryRetriever(index=shared_index, base=Remembering(), phrasings=["a", "b"]).invoke("c")
    assert asked == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"llm": "gpt"}, "llm must be a Runnable from a prompt to a message or a text, got 'gpt'"),
        ({"prompt": "Say it again."}, r"prompt must be a text with \{question\} and \{count\}"),
        ({"count": 0}, "count must be a whole number >= 1, got 0"),
        ({"phrasings": [" "]}, "a query must be a text that is not blank"),
    ],
)
def test_bad_options_of_phrasings_are_refused(shared_index: Index, options, message):
    with pytest.raises(ValidationError, match=message):
        MultiQueryRetriever(index=shared_index, **options)


@pytest.mark.parametrize("adapter", EVERY)
def test_an_ensemble_accepts_our_retrievers(shared_index: Index, adapter):
    ours = adapter(index=shared_index, k=3, **needed(adapter))
    legs = [ours, VectorRetriever(index=shared_index, k=3)]
    ensemble = LangChainsEnsembleRetriever(retrievers=legs, weights=[0.7, 0.3])
    found = ensemble.invoke(QUESTIONS[0])
    assert found[0].page_content == ours.invoke(QUESTIONS[0])[0].page_content


def test_a_splitter_is_followed_through_text_that_repeats_itself():
    text = "a b " * 100
    cuts = splitter_from(RecursiveCharacterTextSplitter(chunk_size=50, chunk_overlap=10))(text)
    assert cuts[-1].end == len(text)
    assert 8 <= len(cuts) <= 11


def test_a_langchain_splitter_can_cut_the_leaves(tmp_path):
    splitter = splitter_from(RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30))
    with Index.open(tmp_path, splitter=splitter) as index:
        index.add(DOCUMENTS)
        assert "".join(leaf.text for leaf in index.leaves("bees")) == TEXTS["bees"]
        assert index.stats().splitter == "RecursiveCharacterTextSplitter(chunk_size=150, chunk_overlap=30)"
        found = AutoMergingRetriever(index=index, k=1).invoke(QUESTIONS[0])[0]
        assert TEXTS[found.metadata["doc_id"]][found.metadata["start"] : found.metadata["end"]] == found.page_content
    with pytest.raises(InvalidArgument, match="a LangChain text splitter must have split_text, got 5"):
        splitter_from(5)


def test_retrievers_pick_out_their_input_in_a_chain(shared_index: Index):
    chain = itemgetter("question") | VectorRetriever(index=shared_index, k=1)
    assert chain.invoke({"question": QUESTIONS[0]})[0].metadata["doc_id"] == "bees"
