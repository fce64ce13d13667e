"""Real LangChain document compressors and LlamaIndex node postprocessors as rerankers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
    LLMChainExtractor,
    LLMChainFilter,
)
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from llama_index.core.postprocessor import (
    LLMRerank,
    LongContextReorder,
    MetadataReplacementPostProcessor,
    SimilarityPostprocessor,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

import langchain_ext
import llamaindex_ext
from leafspan import F, Index, InvalidArgument, SentenceWindow, Vector
from leafspan.errors import FunctionFailed
from tests.corpus import QUESTIONS
from tests.hosts.contract import HOSTS, Host, LangChain, LlamaIndex, WritingLLM, words_in_common

LANGCHAIN, LLAMAINDEX = LangChain(), LlamaIndex()
every_host = pytest.mark.parametrize("host", HOSTS, ids=repr)


class Compressor(BaseDocumentCompressor):
    """A compressor of LangChain's that does what a function says, and remembers what it was given."""

    do: Any
    given: list[Any] = Field(default_factory=list)

    def compress_documents(self, documents, query, callbacks=None):
        self.given.append((query, list(documents)))
        return self.do(list(documents))

    async def acompress_documents(self, documents, query, callbacks=None):
        return self.compress_documents(documents, query, callbacks)


class Postprocessor(BaseNodePostprocessor):
    """The same for LlamaIndex."""

    do: Any
    given: list[Any] = Field(default_factory=list)

    def _postprocess_nodes(self, nodes, query_bundle=None):
        self.given.append((query_bundle.query_str, list(nodes)))
        return self.do(list(nodes))

    async def _apostprocess_nodes(self, nodes, query_bundle=None):
        return self._postprocess_nodes(nodes, query_bundle)


def doing(host: Host, do) -> Any:
    return Compressor(do=do) if host.name == "LangChain" else Postprocessor(do=do)


@every_host
async def test_it_is_given_results_as_the_retriever_would_return_them(host: Host, shared_index: Index):
    base = SentenceWindow(base=Vector(k=4))
    judge = doing(host, lambda results: [])
    assert await host.both(host.make("RerankRetriever", shared_index, base=base, rerank=judge), QUESTIONS[1]) == []
    expected = host.ask(host.make("SentenceWindowRetriever", shared_index, base=Vector(k=4)), QUESTIONS[1])
    assert [(question, [host.seen(result) for result in given]) for question, given in judge.given] == [
        (QUESTIONS[1], expected)
    ] * 2


@every_host
async def test_what_it_leaves_out_is_left_out_and_its_order_is_kept(host: Host, shared_index: Index):
    before = host.ask(host.make("VectorRetriever", shared_index), QUESTIONS[1])
    judge = doing(host, lambda results: [results[3], results[0]])
    found = await host.both(host.make("RerankRetriever", shared_index, base=Vector(k=5), rerank=judge), QUESTIONS[1])
    assert [(result.id, result.score) for result in found] == [(before[3].id, 1), (before[0].id, 1 / 2)]


@every_host
async def test_a_filter_keeps_the_scores_of_the_base(host: Host, shared_index: Index):
    before = host.ask(host.make("VectorRetriever", shared_index), QUESTIONS[1])
    judge = doing(host, lambda results: results[::2])
    found = await host.both(host.make("RerankRetriever", shared_index, base=Vector(k=5), rerank=judge), QUESTIONS[1])
    assert found == before[::2]


@every_host
async def test_it_is_called_with_the_results_of_another_retriever_of_the_host_without_an_index(host: Host):
    theirs = [host.result("a", "about a pier", 0.9), host.result("b", "about bees", 0.2)]
    judge = doing(host, lambda results: results[::-1])
    base = host.retriever("Other", lambda question: theirs)
    found = await host.both(host.make("RerankRetriever", None, base=base, rerank=judge), QUESTIONS[0])
    assert [(result.id, result.text, result.score) for result in found] == [
        ("b", "about bees", 1),
        ("a", "about a pier", 1 / 2),
    ]


@every_host
async def test_filters_and_budgets_hold(host: Host, shared_index: Index):
    judge = doing(host, lambda results: results[::-1])
    retriever = host.make("RerankRetriever", shared_index, rerank=judge, where=F("topic") == "food", budget=30)
    found = await host.both(retriever, QUESTIONS[2])
    assert {result.document for result in found} == {"tea"}
    assert sum(len(result.text.split()) for result in found) <= 30


@every_host
def test_its_error_is_raised_or_its_results_stay_as_they_are(host: Host, shared_index: Index):
    def fail(results):
        raise ConnectionError("the line is dead")

    retriever = host.make("RerankRetriever", shared_index, rerank=doing(host, fail))
    with pytest.raises(FunctionFailed, match=r"the reranker \w+ failed with ConnectionError: the line is dead"):
        host.ask(retriever, QUESTIONS[0])
    keeping = host.make("RerankRetriever", shared_index, rerank=doing(host, fail), on_failure="keep", explain=True)
    found = host.ask(keeping, QUESTIONS[0])
    assert [result.id for result in found] == [
        result.id for result in host.ask(host.make("HybridRetriever", shared_index), QUESTIONS[0])
    ]
    name = "Compressor" if host.name == "LangChain" else "Postprocessor"
    assert found[0].trace[-1] == f"Rerank: not reordered, since {name} failed: ConnectionError: the line is dead"


@every_host
@pytest.mark.parametrize("on_failure", ["raise", "keep"])
def test_results_that_it_was_not_given_are_refused(host: Host, shared_index: Index, on_failure: str):
    judge = doing(host, lambda results: [host.result("new", "something else")])
    retriever = host.make("RerankRetriever", shared_index, rerank=judge, on_failure=on_failure)
    with pytest.raises(InvalidArgument, match=r"must return \w+ that it was given, got .*something else"):
        host.ask(retriever, QUESTIONS[0])


@every_host
@pytest.mark.parametrize("nonsense", [None, "text", [1, 2]])
def test_what_is_no_list_of_results_is_refused(host: Host, shared_index: Index, nonsense):
    retriever = host.make("RerankRetriever", shared_index, rerank=doing(host, lambda results: nonsense))
    with pytest.raises(InvalidArgument, match=r"must return a list of (Documents|NodeWithScore), got"):
        host.ask(retriever, QUESTIONS[0])


@every_host
@pytest.mark.parametrize("wrong", ["cross-encoder", 3, Vector()])
def test_what_cannot_rerank_is_refused(host: Host, shared_index: Index, wrong):
    error = host.refusal(lambda: host.make("RerankRetriever", shared_index, rerank=wrong))
    assert str(error).startswith(f"rerank must be a function or a {host.name} ")


@every_host
@pytest.mark.parametrize("name", ["compressor", "base_compressor", "postprocessor", "node_postprocessors"])
def test_other_names_for_it_lead_to_the_one_it_has_here(host: Host, shared_index: Index, name: str):
    error = host.refusal(lambda: host.make("RerankRetriever", shared_index, **{name: words_in_common}))
    assert str(error) == f"RerankRetriever has no option {name!r}; here it is 'rerank'"


# Real ones


class Overlap(BaseCrossEncoder):
    def score(self, text_pairs):
        return [words_in_common(question, [text])[0] for question, text in text_pairs]


class Of(BaseRetriever):
    """A retriever that returns these."""

    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


def test_langchains_cross_encoder_reranker_gives_what_it_gives_around_our_retriever(shared_index: Index):
    compressor = CrossEncoderReranker(model=Overlap(), top_n=3)
    around = ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=langchain_ext.VectorRetriever(index=shared_index, k=10)
    )
    within = langchain_ext.RerankRetriever(index=shared_index, base=Vector(k=10), rerank=compressor)
    found = within.invoke(QUESTIONS[1])
    assert [document.id for document in found] == [document.id for document in around.invoke(QUESTIONS[1])]
    assert [document.metadata["score"] for document in found] == [1, 1 / 2, 1 / 3]


def test_relevance_scores_of_a_compressor_are_the_scores(shared_index: Index):
    def score(documents):
        scored = [
            document.model_copy(update={"metadata": {**document.metadata, "relevance_score": len(document.page_content)}})
            for document in documents
        ]
        return sorted(scored, key=lambda document: -document.metadata["relevance_score"])

    found = langchain_ext.RerankRetriever(index=shared_index, rerank=Compressor(do=score)).invoke(QUESTIONS[1])
    assert [document.metadata["score"] for document in found] == [len(document.page_content) for document in found]
    assert all("relevance_score" not in document.metadata for document in found)


def test_langchains_filter_by_a_model_leaves_out(shared_index: Index):
    model = FakeListChatModel(responses=["NO", "YES", "NO", "YES"])
    retriever = langchain_ext.RerankRetriever(
        index=shared_index, base=Vector(k=4), rerank=LLMChainFilter.from_llm(model), explain=True
    )
    before = langchain_ext.VectorRetriever(index=shared_index, k=4).invoke(QUESTIONS[1])
    found = retriever.invoke(QUESTIONS[1])
    assert [document.id for document in found] == [before[1].id, before[3].id]
    assert [document.metadata["score"] for document in found] == [before[i].metadata["score"] for i in (1, 3)]
    assert found[0].metadata["trace"][-1].endswith("by LLMChainFilter")


def test_the_text_that_a_compressor_has_changed_stays_the_documents(shared_index: Index):
    model = FakeListChatModel(responses=["burned", "NO_OUTPUT", "iron"])
    retriever = langchain_ext.RerankRetriever(
        index=shared_index, base=Vector(k=3), rerank=LLMChainExtractor.from_llm(model), explain=True
    )
    before = langchain_ext.VectorRetriever(index=shared_index, k=3).invoke(QUESTIONS[1])
    found = retriever.invoke(QUESTIONS[1])
    assert [(document.id, document.page_content) for document in found] == [
        (before[i].id, before[i].page_content) for i in (0, 2)
    ]
    assert found[0].metadata["trace"][-1].endswith("by LLMChainExtractor: the text that it changed stays as it is")


def test_pieces_of_a_document_count_as_the_document_once(shared_index: Index):
    def halve(documents):
        return [
            Document(half, metadata=document.metadata)
            for document in documents
            for half in (document.page_content[:9], document.page_content[9:])
        ]

    compressor = DocumentCompressorPipeline(transformers=[Compressor(do=halve)])
    found = langchain_ext.RerankRetriever(index=shared_index, base=Vector(k=3), rerank=compressor).invoke(QUESTIONS[1])
    assert found == langchain_ext.VectorRetriever(index=shared_index, k=3).invoke(QUESTIONS[1])


def test_documents_of_others_without_ids_are_recognised_by_their_metadata():
    documents = [Document("a pier of oak", metadata={"page": 1}), Document("a pier of iron", metadata={"page": 2})]
    shorten = Compressor(do=lambda given: [Document(each.page_content[:6], metadata=each.metadata) for each in given[::-1]])
    found = langchain_ext.RerankRetriever(base=Of(documents=documents), rerank=shorten).invoke("?")
    assert [(each.page_content, each.metadata["page"]) for each in found] == [("a pier of iron", 2), ("a pier of oak", 1)]


def test_a_cutoff_of_llamaindex_leaves_out_what_is_below(shared_index: Index):
    retriever = llamaindex_ext.RerankRetriever(
        shared_index, base=Vector(), rerank=SimilarityPostprocessor(similarity_cutoff=0.3)
    )
    expected = llamaindex_ext.VectorRetriever(shared_index, min_score=0.3).retrieve(QUESTIONS[1])
    found = retriever.retrieve(QUESTIONS[1])
    assert [(each.node_id, each.score) for each in found] == [(each.node_id, each.score) for each in expected]


def test_an_order_of_llamaindex_that_is_not_by_score_goes_by_rank(shared_index: Index):
    around = LongContextReorder().postprocess_nodes(
        llamaindex_ext.VectorRetriever(shared_index, similarity_top_k=5).retrieve(QUESTIONS[1])
    )
    found = llamaindex_ext.RerankRetriever(shared_index, base=Vector(k=5), rerank=LongContextReorder()).retrieve(
        QUESTIONS[1]
    )
    assert [each.node_id for each in found] == [each.node_id for each in around]
    assert [each.score for each in found] == [1 / rank for rank in range(1, 6)]


def test_llamaindexs_reranking_by_a_model_gives_its_scores(shared_index: Index):
    llm = WritingLLM(write=lambda prompt: "Doc: 2, Relevance: 9\nDoc: 1, Relevance: 4")
    retriever = llamaindex_ext.RerankRetriever(shared_index, base=Vector(k=3), rerank=LLMRerank(llm=llm, top_n=2))
    before = llamaindex_ext.VectorRetriever(shared_index, similarity_top_k=3).retrieve(QUESTIONS[1])
    found = retriever.retrieve(QUESTIONS[1])
    assert [(each.node_id, each.score) for each in found] == [(before[1].node_id, 9), (before[0].node_id, 4)]


def test_a_node_that_is_changed_in_place_is_a_copy(shared_index: Index):
    own = TextNode(id_="own", text="as it was", metadata={"window": "something longer"})
    base = LLAMAINDEX.retriever("Other", lambda question: [NodeWithScore(node=own, score=0.5)])
    replacing = MetadataReplacementPostProcessor(target_metadata_key="window")
    retriever = llamaindex_ext.RerankRetriever(shared_index, base=base, rerank=replacing, explain=True)
    [found] = retriever.retrieve(QUESTIONS[0])
    assert found.node is own
    assert own.text == "as it was"
    assert found.trace[-1].endswith("by MetadataReplacementPostProcessor: the text that it changed stays as it is")


def test_a_postprocessor_is_given_the_whole_bundle(shared_index: Index):
    seen = []

    class Seeing(Postprocessor):
        def _postprocess_nodes(self, nodes, query_bundle=None):
            seen.append(query_bundle)
            return nodes

    bundle = QueryBundle(QUESTIONS[0], custom_embedding_strs=["the dance"])
    llamaindex_ext.RerankRetriever(shared_index, rerank=Seeing(do=None)).retrieve(bundle)
    assert seen == [bundle]
