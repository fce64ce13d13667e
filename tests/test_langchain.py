"""The adapters at work in LangChain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_tests.integration_tests import RetrieversIntegrationTests
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import ValidationError

from langchain_ext import (
    AutoMergingRetriever,
    ParentDocumentRetriever,
    SentenceWindowRetriever,
    VectorRetriever,
    leaf_documents,
    splitter_from,
)
from leafspan import AutoMerging, Index, InvalidArgument, NotALeaf, SentenceWindow, Vector
from leafspan.wordllama import default_embedder
from tests.corpus import DOCUMENTS, QUESTIONS, TEXTS

EVERY = [VectorRetriever, ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever]


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
        yield index


class _StandardTests(RetrieversIntegrationTests):
    """LangChain's own tests, with every option at its default."""

    @pytest.fixture(autouse=True)
    def _index(self, notes: Index):
        type(self).index = notes

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index}

    @property
    def retriever_query_example(self) -> str:
        return "When does the fox sleep?"


class TestVectorRetriever(_StandardTests):
    retriever_constructor = VectorRetriever


class TestParentDocumentRetriever(_StandardTests):
    retriever_constructor = ParentDocumentRetriever


class TestSentenceWindowRetriever(_StandardTests):
    retriever_constructor = SentenceWindowRetriever


class TestAutoMergingRetriever(_StandardTests):
    retriever_constructor = AutoMergingRetriever


def test_a_chain_answers_with_citations_to_character_ranges(shared_index: Index):
    retriever = AutoMergingRetriever(index=shared_index, k=3)

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


def test_a_call_may_bring_its_own_limits(shared_index: Index):
    retriever = VectorRetriever(index=shared_index)
    assert [len(retriever.invoke(QUESTIONS[0], k=k)) for k in (1, 3, 7)] == [1, 3, 7]
    assert {d.metadata["topic"] for d in retriever.invoke(QUESTIONS[0], where={"topic": "food"})} == {"food"}
    assert sum(len(d.page_content.split()) for d in retriever.invoke(QUESTIONS[0], budget=30)) <= 30
    with pytest.raises(InvalidArgument, match="a call may be given k, candidates, budget, where, got limit"):
        retriever.invoke(QUESTIONS[0], limit=3)
    with pytest.raises(InvalidArgument, match="k must be a whole number >= 1, got 0"):
        retriever.invoke(QUESTIONS[0], k=0)


def test_options_can_be_configured_at_run_time(shared_index: Index):
    retriever = VectorRetriever(index=shared_index).configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.with_config(configurable={"k": 2}).invoke(QUESTIONS[0])) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 2}, r"threshold must be in \[0, 1\], got 2"),
        ({"k": -1}, "k must be a whole number >= 1, got -1"),
        ({"base": "vector"}, "base must be a strategy or a LangChain retriever, got 'vector'"),
        ({"index": "kb"}, "instance of Index"),
        ({"treshold": 0.9}, "Extra inputs are not permitted"),
    ],
)
def test_bad_options_are_refused_when_the_retriever_is_made(shared_index: Index, options, message):
    with pytest.raises(ValidationError, match=message):
        AutoMergingRetriever(**{"index": shared_index, **options})


def leaf_vectorstore(index: Index) -> Chroma:
    return Chroma(client=index.client, collection_name="kb.leaves", embedding_function=WordLlama())


@pytest.mark.parametrize("adapter", [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever])
async def test_a_vector_store_over_the_leaves_can_be_the_base(shared_index: Index, adapter):
    base = leaf_vectorstore(shared_index).as_retriever(search_kwargs={"k": 8})
    inside = adapter(index=shared_index, candidates=8)
    outside = adapter(index=shared_index, base=base, candidates=8)
    for question in QUESTIONS:
        # The same leaves, scored by rank: what they are merged or widened into is the same, but for the order.
        assert {d.id for d in outside.invoke(question, k=20)} == {d.id for d in inside.invoke(question, k=20)}
        assert await outside.ainvoke(question) == outside.invoke(question)


def test_our_own_retriever_can_be_the_base_with_its_scores(shared_index: Index):
    base = VectorRetriever(index=shared_index, k=8)
    outside = AutoMergingRetriever(index=shared_index, base=base, candidates=8)
    inside = AutoMergingRetriever(index=shared_index, candidates=8)
    assert outside.invoke(QUESTIONS[0]) == inside.invoke(QUESTIONS[0])


def test_an_ensemble_can_be_the_base_and_counts_by_rank(shared_index: Index):
    legs = [VectorRetriever(index=shared_index, k=6), leaf_vectorstore(shared_index).as_retriever()]
    ensemble = EnsembleRetriever(retrievers=legs, weights=[0.5, 0.5])
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
    merged = ParentDocumentRetriever(index=shared_index)
    with pytest.raises(NotALeaf, match="the results of ParentDocumentRetriever must be leaves of this index, but number 1"):
        AutoMergingRetriever(index=shared_index, base=merged).invoke(QUESTIONS[0])


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


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_callbacks_reach_the_base(shared_index: Index, asynchronous):
    listening = Listening()
    base = VectorRetriever(index=shared_index, k=8)
    retriever = AutoMergingRetriever(index=shared_index, base=base)
    config: Any = {"callbacks": [listening]}
    if asynchronous:
        await retriever.ainvoke(QUESTIONS[0], config)
    else:
        retriever.invoke(QUESTIONS[0], config)
    (outer, none), (inner, parent) = listening.started
    assert none is None
    assert parent == outer
    assert (listening.names[outer], listening.names[inner]) == ("AutoMergingRetriever", "VectorRetriever")
    assert listening.metadata["ls_vector_store_provider"] == "Chroma"


@pytest.mark.parametrize("adapter", EVERY)
def test_an_ensemble_accepts_our_retrievers(shared_index: Index, adapter):
    ours = adapter(index=shared_index, k=3)
    ensemble = EnsembleRetriever(retrievers=[ours, VectorRetriever(index=shared_index, k=3)], weights=[0.7, 0.3])
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
