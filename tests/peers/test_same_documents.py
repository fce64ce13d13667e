"""The other libraries' retrievers find the same as leafspan's over the leaves of an index, on real texts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from haystack import Document as HaystackDocument
from haystack import component
from haystack.components.retrievers import (
    FilterRetriever,
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
    MultiQueryEmbeddingRetriever,
    MultiRetriever,
    SentenceWindowRetriever,
    TextEmbeddingRetriever,
)
from haystack.document_stores.in_memory import InMemoryDocumentStore
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever, MultiQueryRetriever
from langchain_core.language_models import FakeListChatModel
from llama_index.core import SummaryIndex, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever

import langchain_ext
import llamaindex_ext
from leafspan import (
    BM25,
    BM25Settings,
    Browse,
    Ensemble,
    F,
    HostRetriever,
    Index,
    MultiQuery,
    SentenceWindow,
    Vector,
)
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents
from leafspan.strategies import HostResult
from tests.indexing.adopting.collections import LangChainEmbedder, LlamaIndexEmbedder

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community is being retired
    from langchain_community.retrievers import BM25Retriever, KNNRetriever

QUESTIONS = [
    *EXAMPLE_QUESTIONS,
    "How does packet switching differ from circuit switching?",
    "What part of the Amazon lies in Brazil?",
    "Which towns did the plague reach?",
    "antibodies and B cells",
]
every_question = pytest.mark.parametrize("question", QUESTIONS)
NATURE = {"Amazon_rainforest", "Immune_system", "Oxygen"}
CLOSE = 1e-5  # vectors have 32 bits


@dataclass(frozen=True)
class Libraries:
    """An index, and its leaves in the stores of the other libraries."""

    index: Index
    haystack: InMemoryDocumentStore
    chroma: Chroma
    llamaindex: VectorStoreIndex
    nodes: list[Any]


@component
class HaystackEmbedder:
    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": LangChainEmbedder().embed_query(text)}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Libraries]:
    documents = [
        replace(each, metadata={"topic": "nature" if each.id in NATURE else "other"}) for each in example_documents()
    ]
    with Index.open(tmp_path_factory.mktemp("same") / "kb", title_weight=0) as index:
        index.add(documents)
        stored = index.client.get_collection("kb.leaves").get(include=["embeddings"])
        vectors = dict(zip(stored["ids"], stored["embeddings"].tolist(), strict=True))
        haystack = InMemoryDocumentStore(embedding_similarity_function="cosine")
        haystack.write_documents(
            [
                HaystackDocument(
                    id=leaf.id,
                    content=leaf.text,
                    meta={
                        **leaf.metadata,
                        "source_id": leaf.document_id,
                        "split_id": int(leaf.id.rpartition("#")[2]),
                        "split_idx_start": leaf.start,
                    },
                    embedding=vectors[leaf.id],
                )
                for leaf in index.leaves()
            ]
        )
        chroma = Chroma(client=index.client, collection_name="kb.leaves", embedding_function=LangChainEmbedder())
        nodes = llamaindex_ext.leaf_nodes(index)
        for node in nodes:
            node.embedding = vectors[node.node_id]
        yield Libraries(index, haystack, chroma, VectorStoreIndex(nodes, embed_model=LlamaIndexEmbedder()), nodes)


def ids(results: Any) -> list[str]:
    return [getattr(each, "node_id", None) or each.id for each in results]


@every_question
def test_vector_searches_are_the_same_in_all_four(libraries: Libraries, question: str):
    ours = libraries.index.retrieve(question, Vector(), k=10)
    vector = LangChainEmbedder().embed_query(question)
    haystack = InMemoryEmbeddingRetriever(libraries.haystack, top_k=10).run(query_embedding=vector)["documents"]
    llamaindex = libraries.llamaindex.as_retriever(similarity_top_k=10).retrieve(question)
    langchain = libraries.chroma.similarity_search_with_score(question, k=10)
    assert ids(ours) == ids(haystack) == ids(llamaindex) == [document.id for document, _ in langchain]
    scores = [passage.score for passage in ours]
    assert scores == pytest.approx([document.score for document in haystack], abs=CLOSE)
    assert scores == pytest.approx([scored.score for scored in llamaindex], abs=CLOSE)
    assert scores == pytest.approx([1 - distance for _, distance in langchain], abs=CLOSE)


@every_question
def test_filtered_vector_searches_are_the_same(libraries: Libraries, question: str):
    ours = libraries.index.retrieve(question, Vector(), k=10, where=F("topic") == "other")
    assert not {passage.document_id for passage in ours} & NATURE
    search = libraries.chroma.as_retriever(search_kwargs={"k": 10, "filter": {"topic": "other"}})
    assert ids(ours) == ids(search.invoke(question))
    filters = {"field": "meta.topic", "operator": "==", "value": "other"}
    by_vectors = TextEmbeddingRetriever(
        retriever=InMemoryEmbeddingRetriever(libraries.haystack), text_embedder=HaystackEmbedder()
    )
    assert ids(ours) == ids(by_vectors.run(question, filters=filters, top_k=10)["documents"])


@every_question
def test_nearest_neighbours_in_memory_are_the_same(libraries: Libraries, question: str):
    knn = KNNRetriever.from_documents(langchain_ext.leaf_documents(libraries.index), LangChainEmbedder(), k=8)
    ours = langchain_ext.VectorRetriever(index=libraries.index, k=8).invoke(question)
    assert [each.page_content for each in knn.invoke(question)] == [each.page_content for each in ours]


def test_everything_that_a_filter_selects_is_the_same(libraries: Libraries):
    filters = {"field": "meta.topic", "operator": "==", "value": "nature"}
    theirs = FilterRetriever(libraries.haystack, filters=filters).run()["documents"]
    ours = libraries.index.retrieve(None, Browse(), where=filters)
    assert sorted(ids(ours)) == sorted(ids(theirs))
    everything = SummaryIndex(libraries.nodes).as_retriever().retrieve("")
    assert ids(libraries.index.retrieve(None, Browse())) == ids(everything)


@every_question
def test_phrasings_are_the_same_as_of_haystack_and_langchain(libraries: Libraries, question: str):
    others = ["the first discovery", "how it works"]
    ours = libraries.index.retrieve(question, MultiQuery(base=Vector(k=6), phrasings=others, fusion="maximum"), k=18)
    haystack = MultiQueryEmbeddingRetriever(
        retriever=InMemoryEmbeddingRetriever(libraries.haystack, top_k=6), query_embedder=HaystackEmbedder()
    ).run([question, *others])["documents"]
    assert ids(ours) == ids(haystack)
    search = libraries.chroma.as_retriever(search_kwargs={"k": 6})
    llm = FakeListChatModel(responses=["\n".join(others)])
    langchain = MultiQueryRetriever.from_llm(retriever=search, llm=llm, include_original=True).invoke(question)
    assert set(ids(ours)) == set(ids(langchain))


@every_question
def test_windows_have_the_texts_of_haystack(libraries: Libraries, question: str):
    (hit,) = libraries.index.retrieve(question, BM25(), k=1)
    documents = [each for each in libraries.haystack.filter_documents() if each.id == hit.id]
    for size in (1, 3):
        theirs = SentenceWindowRetriever(libraries.haystack, window_size=size).run(retrieved_documents=documents)
        window = SentenceWindow(base=BM25(), before=size, after=size, max_words=None)
        assert [each.text for each in libraries.index.retrieve(question, window, k=1)] == theirs["context_windows"]


@every_question
def test_ensembles_have_the_scores_of_haystack_and_the_order_of_langchain(libraries: Libraries, question: str):
    words = InMemoryBM25Retriever(libraries.haystack, top_k=10)
    vectors = TextEmbeddingRetriever(
        retriever=InMemoryEmbeddingRetriever(libraries.haystack), text_embedder=HaystackEmbedder()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Haystack says that it is experimental
        both = MultiRetriever(retrievers={"words": words, "vectors": vectors}, top_k_per_retriever=10)
    theirs = {each.id: each.score for each in both.run(question)["documents"]}

    def ask(text: str) -> list[HostResult]:
        return [HostResult(each.id, each.content, each.score) for each in words.run(query=text)["documents"]]

    async def aask(text: str) -> list[HostResult]:
        return ask(text)

    strategy = Ensemble(retrievers=[HostRetriever("words", ask, aask), Vector(k=10)])
    ours = {each.id: each.score * 61 for each in libraries.index.retrieve(question, strategy, k=20)}
    assert ours == pytest.approx(theirs)

    leaves = langchain_ext.leaf_documents(libraries.index)
    retrievers = [
        BM25Retriever.from_documents(leaves, k=10),
        libraries.chroma.as_retriever(search_kwargs={"k": 10}),
    ]
    fused = langchain_ext.EnsembleRetriever(index=libraries.index, retrievers=retrievers, weights=[0.7, 0.3], k=20)
    expected = EnsembleRetriever(retrievers=retrievers, weights=[0.7, 0.3]).invoke(question)
    assert [each.page_content for each in fused.invoke(question)] == [each.page_content for each in expected]
    merged = MergerRetriever(retrievers=retrievers).invoke(question)
    assert {each.page_content for each in merged} == {each.page_content for each in expected}


@every_question
@pytest.mark.parametrize("mode", ["relative_score", "dist_based_score", "simple"])
def test_fusions_have_the_scores_of_llamaindex(libraries: Libraries, question: str, mode: str):
    retrievers = [
        libraries.llamaindex.as_retriever(similarity_top_k=10),
        SummaryIndex(libraries.nodes).as_retriever(
            retriever_mode="embedding", embed_model=LlamaIndexEmbedder(), similarity_top_k=4
        ),
    ]
    theirs = QueryFusionRetriever(
        retrievers, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=8, use_async=False
    ).retrieve(question)
    ours = llamaindex_ext.EnsembleRetriever(
        libraries.index, retrievers=retrievers, fusion=mode, similarity_top_k=8
    ).retrieve(question)
    assert ids(ours) == ids(theirs)
    assert [each.score for each in ours] == pytest.approx([each.score for each in theirs], abs=CLOSE)


def test_words_are_searched_as_by_langchain_with_its_settings(tmp_path: Any):
    def split(text: str) -> list[str]:
        return text.split()

    settings = BM25Settings(k1=1.5, b=0.75, variant="okapi")
    with Index.open(tmp_path / "words", analyzer=split, bm25=settings) as index:
        index.add(replace(each, title=None) for each in example_documents())  # ours counts titles, too
        theirs = BM25Retriever.from_documents(langchain_ext.leaf_documents(index), k=6)
        ours = langchain_ext.BM25Retriever(index=index, k=6)
        for question in QUESTIONS:
            assert ids(ours.invoke(question)) == ids(theirs.invoke(question))
