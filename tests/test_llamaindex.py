"""The adapters at work in LlamaIndex."""

from __future__ import annotations

import pytest
from llama_index.core import Document, MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from llama_index.vector_stores.chroma import ChromaVectorStore

from leafspan import AutoMerging, Index, InvalidArgument, NotALeaf
from leafspan.wordllama import default_embedder
from llamaindex_ext import (
    AutoMergingRetriever,
    ParentDocumentRetriever,
    SentenceWindowRetriever,
    SpanNodeParser,
    VectorRetriever,
    leaf_nodes,
    splitter_from,
)
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER, TEXTS

EVERY = [VectorRetriever, ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever]


class WordLlama(BaseEmbedding):
    def _get_text_embedding(self, text):
        return default_embedder().documents([text])[0].tolist()

    def _get_query_embedding(self, query):
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


class Stub(BaseRetriever):
    """Returns what it is told to."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes
        self.bundles = []

    def _retrieve(self, query_bundle):
        self.bundles.append(query_bundle)
        return self.nodes


class Quoting(CustomLLM):
    """A scripted model that quotes the last line it is shown of the context."""

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=prompt.split("---------------------")[1].strip().split("\n")[-1])

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


@pytest.fixture(autouse=True)
def no_default_model(monkeypatch: pytest.MonkeyPatch):
    """No test may fall back to a model that LlamaIndex would look for by itself."""

    def refuse(self):
        raise AssertionError("a default model was asked for")

    monkeypatch.setattr(type(Settings), "llm", property(refuse))
    monkeypatch.setattr(type(Settings), "embed_model", property(refuse))


def test_a_query_engine_answers_with_citations_to_character_ranges(shared_index: Index):
    retriever = AutoMergingRetriever(shared_index, similarity_top_k=3)
    engine = RetrieverQueryEngine.from_args(retriever, llm=Quoting())
    response = engine.query(QUESTIONS[0])
    assert response.source_nodes[0].node.node_id.startswith("bees#")
    for source in response.source_nodes:
        place = source.node.metadata
        assert TEXTS[place["doc_id"]][place["start"] : place["end"]] == source.node.text
    assert str(response) in response.source_nodes[-1].node.text


async def test_a_citation_engine_answers_asynchronously(shared_index: Index):
    engine = CitationQueryEngine.from_args(
        None, llm=MockLLM(), retriever=SentenceWindowRetriever(shared_index, similarity_top_k=2), citation_chunk_size=2_000
    )
    response = await engine.aquery(QUESTIONS[0])
    assert len(response.source_nodes) == 2


def test_nodes_carry_the_users_metadata_and_their_place(shared_index: Index):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    assert set(node.metadata) == {"topic", "year", "tags", "doc_id", "start", "end"}
    assert TEXTS["harbour"][node.start_char_idx : node.end_char_idx] == node.text
    assert node.relationships[NodeRelationship.SOURCE].node_id == "harbour"


def test_a_model_is_shown_the_users_metadata_only(shared_index: Index):
    node = VectorRetriever(shared_index, similarity_top_k=1).retrieve(QUESTIONS[1])[0].node
    assert "topic: places" in node.get_content("llm")
    assert "doc_id" not in node.get_content("llm")


def test_a_bundle_may_bring_its_embedding(shared_index: Index):
    retriever = VectorRetriever(shared_index)
    vector = default_embedder().queries([QUESTIONS[0]])[0].tolist()
    bundle = QueryBundle("something else", embedding=vector)
    assert [n.node_id for n in retriever.retrieve(bundle)] == [n.node_id for n in retriever.retrieve(QUESTIONS[0])]


def test_a_bundle_may_bring_texts_to_embed(shared_index: Index):
    retriever = VectorRetriever(shared_index)
    bundle = QueryBundle("something else", custom_embedding_strs=[QUESTIONS[0]])
    assert [n.node_id for n in retriever.retrieve(bundle)] == [n.node_id for n in retriever.retrieve(QUESTIONS[0])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 2}, r"threshold must be in \[0, 1\], got 2"),
        ({"similarity_top_k": 0}, "k must be a whole number >= 1, got 0"),
        ({"base": "vector"}, "base must be a strategy or a LlamaIndex retriever, got 'vector'"),
    ],
)
def test_bad_options_are_refused_when_the_retriever_is_made(shared_index: Index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        AutoMergingRetriever(shared_index, **options)


def leaf_retriever(index: Index, k: int) -> BaseRetriever:
    leaves = index.client.get_collection("kb.leaves", embedding_function=None)
    store = ChromaVectorStore(chroma_collection=leaves)
    return VectorStoreIndex.from_vector_store(store, embed_model=WordLlama()).as_retriever(similarity_top_k=k)


@pytest.mark.parametrize("adapter", [ParentDocumentRetriever, SentenceWindowRetriever, AutoMergingRetriever])
async def test_a_vector_index_over_the_leaves_can_be_the_base(shared_index: Index, adapter):
    inside = adapter(shared_index, candidates=8, similarity_top_k=20)
    outside = adapter(shared_index, base=leaf_retriever(shared_index, 8), candidates=8, similarity_top_k=20)
    for question in QUESTIONS:
        assert {n.node_id for n in outside.retrieve(question)} == {n.node_id for n in inside.retrieve(question)}
        assert await outside.aretrieve(question) == outside.retrieve(question)


def test_the_base_is_asked_the_whole_bundle(shared_index: Index):
    base = Stub([])
    bundle = QueryBundle(QUESTIONS[0], custom_embedding_strs=["an imagined answer"])
    assert AutoMergingRetriever(shared_index, base=base).retrieve(bundle) == []
    assert base.bundles == [bundle]


def test_scores_of_the_base_count_where_it_has_them_and_ranks_where_not(shared_index: Index):
    first, second = leaf_nodes(shared_index)[0], leaf_nodes(shared_index)[5]

    def scores(*pairs):
        base = Stub([NodeWithScore(node=node, score=score) for node, score in pairs])
        window = SentenceWindowRetriever(shared_index, base=base, before=0, after=0)
        return [node.score for node in window.retrieve(QUESTIONS[0])]

    assert scores((first, 0.9), (second, 0.4)) == [0.9, 0.4]
    assert scores((first, None), (second, None)) == [1 / 1, 1 / 2]
    assert scores((first, 0.4), (second, 0.9)) == [1 / 1, 1 / 2]


def test_a_base_that_returns_anything_else_is_refused_by_name(shared_index: Index):
    base = Stub([NodeWithScore(node=TextNode(id_="x", text="No leaf."), score=1.0)])
    with pytest.raises(NotALeaf, match="the results of Stub must be leaves of this index, but number 1 is not: id 'x'"):
        AutoMergingRetriever(shared_index, base=base).retrieve(QUESTIONS[0])


@pytest.mark.parametrize("adapter", EVERY)
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
def test_a_fusion_accepts_our_retrievers(shared_index: Index, adapter, mode):
    legs = [adapter(shared_index, similarity_top_k=3), VectorRetriever(shared_index, similarity_top_k=3)]
    fusion = QueryFusionRetriever(legs, llm=MockLLM(), mode=mode, num_queries=1, use_async=False, similarity_top_k=4)
    found = fusion.retrieve(QUESTIONS[0])
    assert found[0].node.metadata["doc_id"] == "bees"
    assert len({node.node_id for node in found}) == len(found)


async def test_a_tool_accepts_our_retrievers(shared_index: Index):
    tool = RetrieverTool.from_defaults(VectorRetriever(shared_index, similarity_top_k=1), description="about bees")
    assert "dance" in str(await tool.acall(QUESTIONS[0]))


def test_the_strategy_is_the_cores(shared_index: Index):
    assert AutoMergingRetriever(shared_index)._strategy() == AutoMerging()


def test_the_node_parser_makes_the_very_leaves_of_the_index(shared_index: Index):
    documents = [Document(id_=d.id, text=d.text, metadata={**d.metadata, "title": d.title}) for d in DOCUMENTS]
    parser = SpanNodeParser(leaf_words=SPLITTER.leaf_words, parent_words=SPLITTER.parent_words)
    nodes = IngestionPipeline(transformations=[parser]).run(documents=documents)
    leaves = [leaf for d in DOCUMENTS for leaf in shared_index.leaves(d.id)]
    assert [(n.text, n.start_char_idx, n.end_char_idx) for n in nodes] == [(p.text, p.start, p.end) for p in leaves]
    assert [n.ref_doc_id for n in nodes] == [p.document_id for p in leaves]
    harbour = [n for n in nodes if n.ref_doc_id == "harbour"]
    assert "".join(n.text for n in harbour) == TEXTS["harbour"]
    assert harbour[0].next_node.node_id == harbour[1].node_id
    assert harbour[1].prev_node.node_id == harbour[0].node_id
    assert harbour[-1].next_node is None
    assert harbour[0].metadata["topic"] == "places"


def test_the_node_parsers_ids_are_the_leaf_ids(tmp_path):
    documents = [Document(id_="a", text="One sentence. Another one.", metadata={"title": "T", "x": 1})]
    with Index.open(tmp_path) as index:
        index.add(documents)
        ids = [leaf.id for leaf in index.leaves()]
    nodes = SpanNodeParser().get_nodes_from_documents(documents)
    assert [node.node_id for node in nodes] == ids


def test_the_node_parser_feeds_a_vector_index_of_llamaindexs_own():
    parser = SpanNodeParser(leaf_words=12, parent_words=(40,))
    nodes = parser.get_nodes_from_documents([Document(id_=d.id, text=d.text) for d in DOCUMENTS])
    found = VectorStoreIndex(nodes, embed_model=MockEmbedding(8)).as_retriever(similarity_top_k=2).retrieve("x")
    assert len(found) == 2


@pytest.mark.parametrize(
    ("parser", "levels"),
    [
        (SentenceSplitter(chunk_size=40, chunk_overlap=10), 1),
        (HierarchicalNodeParser.from_defaults([200, 80, 40], chunk_overlap=0), 3),
    ],
    ids=["flat", "hierarchical"],
)
def test_a_llamaindex_parser_can_cut_the_leaves(tmp_path, parser, levels):
    with Index.open(tmp_path, splitter=splitter_from(parser)) as index:
        index.add(DOCUMENTS)
        assert "".join(leaf.text for leaf in index.leaves("harbour")) == TEXTS["harbour"]
        whole = index.retrieve(QUESTIONS[0], AutoMerging(threshold=0, max_level=levels, max_words=None), k=1)[0]
        assert whole.text == TEXTS[whole.document_id]
    with pytest.raises(InvalidArgument, match="a LlamaIndex node parser must be a NodeParser, got 5"):
        splitter_from(5)
