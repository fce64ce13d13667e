"""HyDE beside LlamaIndex's and LangChain's, and rewriting beside LangChain's, over the same leaves in Chroma."""

from __future__ import annotations

import pytest
from langchain_classic.chains.hyde.base import HypotheticalDocumentEmbedder
from langchain_classic.retrievers import RePhraseQueryRetriever
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableLambda
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.retrievers import TransformRetriever

import langchain_ext
from leafspan import Index, Query, RewriteQuery, Vector
from leafspan.embedding import default_embedder
from tests.corpus import QUESTIONS
from tests.hosts.contract import LangChain, LlamaIndex, WritingLLM

ANSWER = "Karl von Frisch decoded how workers dance, which is why the pier burned down below eighty degrees."
LANGCHAIN, LLAMAINDEX = LangChain(), LlamaIndex()


class Bundled(Embeddings):
    def embed_documents(self, texts):
        return default_embedder().documents(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("question", QUESTIONS)
def test_llamaindexs_hyde_finds_the_same(shared_index: Index, question: str, keeps: bool):
    hyde = HyDEQueryTransform(llm=WritingLLM(write=lambda prompt: ANSWER), include_original=keeps)
    theirs = TransformRetriever(LLAMAINDEX.vector_search(shared_index, k=6), hyde).retrieve(question)
    ours = RewriteQuery(base=Vector(), how="hyde", generate=lambda prompt: ANSWER, keep_question=keeps)
    assert [passage.id for passage in shared_index.retrieve(question, ours, k=6)] == [node.node_id for node in theirs]


def test_langchains_hyde_has_the_same_vector_without_the_question(shared_index: Index):
    theirs = HypotheticalDocumentEmbedder.from_llm(FakeListLLM(responses=[ANSWER]), Bundled(), prompt_key="web_search")
    vector = tuple(theirs.embed_query(QUESTIONS[0]))
    ours = RewriteQuery(base=Vector(), how="hyde", generate=lambda prompt: ANSWER, keep_question=False)
    expected = shared_index.retrieve(Query(vector=vector), Vector())
    found = shared_index.retrieve(QUESTIONS[0], ours)
    assert [(passage.id, passage.score) for passage in found] == [
        (passage.id, pytest.approx(passage.score, abs=1e-6)) for passage in expected
    ]


@pytest.mark.parametrize("question", QUESTIONS)
def test_langchains_rephrasing_finds_the_same(shared_index: Index, question: str):
    llm = RunnableLambda(lambda prompt: "What is said of the old pier?")
    base = LANGCHAIN.vector_search(shared_index, k=5)
    theirs = RePhraseQueryRetriever(retriever=base, llm_chain=llm).invoke(question)
    ours = langchain_ext.RewriteQueryRetriever(index=shared_index, base=base, llm=llm).invoke(question)
    assert [document.id for document in ours] == [document.id for document in theirs]
