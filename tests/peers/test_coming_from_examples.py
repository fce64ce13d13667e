"""Examples of docs/coming-from.md: the other libraries' retrievers find the same as the named classes."""

from __future__ import annotations

import warnings

from haystack.components.retrievers import InMemoryBM25Retriever
from langchain_chroma import Chroma
from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_classic.storage import InMemoryStore
from langchain_core.documents import Document as LangChainDocument
from langchain_core.structured_query import Comparator, Comparison, StructuredQuery
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import SimpleKeywordTableIndex, SummaryIndex, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, RecursiveRetriever, RouterRetriever, VectorIndexRetriever
from llama_index.core.schema import IndexNode
from llama_index.core.selectors import EmbeddingSingleSelector
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

import langchain_ext
import llamaindex_ext
from leafspan import BM25, BM25Settings, F, Vector
from leafspan.examples import example_documents
from tests.indexing.adopting.collections import LangChainEmbedder, LlamaIndexEmbedder
from tests.peers import test_same_documents as same
from tests.peers.test_same_documents import Libraries, ids

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community is being retired
    from langchain_community.query_constructors.chroma import ChromaTranslator
    from langchain_community.retrievers import TFIDFRetriever

QUESTION = "Who discovered oxygen first, Scheele or Priestley?"
libraries = same.libraries


def test_words_are_searched_as_by_haystack(libraries: Libraries):
    theirs = InMemoryBM25Retriever(libraries.haystack, top_k=2).run(query=QUESTION)["documents"]
    assert ids(theirs) == ids(libraries.index.retrieve(QUESTION, BM25(), k=2))
    like_theirs = BM25(bm25=BM25Settings(k1=1.5, b=0.75, variant="bm25l"))
    assert ids(theirs) == ids(libraries.index.retrieve(QUESTION, like_theirs, k=2))


def test_filters_and_nodes_of_llamaindex_select_the_same(libraries: Libraries):
    filters = MetadataFilters(filters=[MetadataFilter(key="topic", value="other")])
    theirs = libraries.llamaindex.as_retriever(similarity_top_k=5, filters=filters).retrieve(QUESTION)
    ours = llamaindex_ext.VectorRetriever(libraries.index, similarity_top_k=5, where=filters)
    assert ids(theirs) == ids(ours.retrieve(QUESTION))
    engines = [node.node_id for node in libraries.nodes if node.ref_doc_id == "Steam_engine"]
    theirs = VectorIndexRetriever(libraries.llamaindex, similarity_top_k=3, node_ids=engines).retrieve(QUESTION)
    of_engines = F("doc_id").in_(["Steam_engine"])
    ours = llamaindex_ext.VectorRetriever(libraries.index, similarity_top_k=3, where=of_engines)
    assert ids(theirs) == ids(ours.retrieve(QUESTION))


def test_a_summary_index_and_a_table_of_keywords_find_the_same(libraries: Libraries):
    by_vectors = SummaryIndex(libraries.nodes).as_retriever(
        retriever_mode="embedding", embed_model=LlamaIndexEmbedder(), similarity_top_k=4
    )
    ours = llamaindex_ext.VectorRetriever(libraries.index, similarity_top_k=4)
    assert ids(by_vectors.retrieve(QUESTION)) == ids(ours.retrieve(QUESTION))
    keywords = SimpleKeywordTableIndex(libraries.nodes, llm=MockLLM()).as_retriever(retriever_mode="simple")
    best = llamaindex_ext.BM25Retriever(libraries.index, similarity_top_k=2).retrieve(QUESTION)
    assert ids(keywords.retrieve(QUESTION))[:2] == ids(best)


def test_reciprocal_ranks_order_as_in_llamaindex(libraries: Libraries):
    near = libraries.llamaindex.as_retriever(similarity_top_k=10)
    few = libraries.llamaindex.as_retriever(similarity_top_k=4)
    theirs = QueryFusionRetriever(
        [near, few], llm=MockLLM(), mode="reciprocal_rerank", num_queries=1, similarity_top_k=5, use_async=False
    )
    ours = llamaindex_ext.EnsembleRetriever(
        libraries.index, retrievers=[near, few], fusion="reciprocal_rerank", similarity_top_k=5
    )
    assert ids(theirs.retrieve(QUESTION)) == ids(ours.retrieve(QUESTION))


def test_references_lead_to_a_retriever_of_ours_in_both(libraries: Libraries):
    entries = [("Oxygen and its discovery", "chemistry"), ("Engines and steam", "engines")]
    nodes = [IndexNode(text=text, index_id=name) for text, name in entries]
    contents = VectorStoreIndex(nodes, embed_model=LlamaIndexEmbedder()).as_retriever(similarity_top_k=1)
    chemistry = llamaindex_ext.VectorRetriever(libraries.index, where=F("doc_id") == "Oxygen", similarity_top_k=3)
    theirs = RecursiveRetriever("root", {"root": contents, "chemistry": chemistry})
    ours = llamaindex_ext.FollowReferencesRetriever(libraries.index, base=contents, targets={"chemistry": chemistry})
    assert ids(theirs.retrieve(QUESTION)) == ids(ours.retrieve(QUESTION))


def test_descriptions_and_selectors_route_as_in_llamaindex(libraries: Libraries):
    about = {
        "chemistry": "oxygen, gases, elements and who discovered them",
        "machines": "engines, steam, boilers and pistons",
    }
    searched = {
        "chemistry": llamaindex_ext.VectorRetriever(libraries.index, where=F("doc_id") == "Oxygen"),
        "machines": llamaindex_ext.VectorRetriever(libraries.index, where=F("doc_id") == "Steam_engine"),
    }
    selector = EmbeddingSingleSelector.from_defaults(embed_model=LlamaIndexEmbedder())
    tools = [RetrieverTool.from_defaults(searched[name], description=text) for name, text in about.items()]
    theirs = RouterRetriever(selector, tools, llm=MockLLM()).retrieve(QUESTION)
    for choose in (None, selector):
        ours = llamaindex_ext.RouterRetriever(libraries.index, retrievers=searched, descriptions=about, choose=choose)
        assert ids(theirs) == ids(ours.retrieve(QUESTION))


def test_a_lowest_score_is_langchains_where_its_relevance_is_the_cosine(libraries: Libraries):
    chroma = Chroma(
        client=libraries.index.client,
        collection_name="kb.leaves",
        embedding_function=LangChainEmbedder(),
        relevance_score_fn=lambda distance: 1 - distance,
    )
    above = {"k": 50, "score_threshold": 0.3}
    theirs = chroma.as_retriever(search_type="similarity_score_threshold", search_kwargs=above).invoke(QUESTION)
    assert theirs
    assert ids(theirs) == ids(langchain_ext.VectorRetriever(index=libraries.index, min_score=0.3).invoke(QUESTION))


def test_what_a_query_constructor_of_langchain_writes_is_understood(libraries: Libraries):
    nature = Comparison(comparator=Comparator.EQ, attribute="topic", value="nature")
    written = StructuredQuery(query="Who discovered oxygen?", filter=nature, limit=3)
    text, made = ChromaTranslator().visit_structured_query(written)
    found = langchain_ext.HybridRetriever(index=libraries.index).invoke(text, where=made["filter"], k=written.limit)
    assert {document.metadata["topic"] for document in found} == {"nature"}


def test_parents_hold_the_answer_as_in_langchain(libraries: Libraries):
    theirs = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(LangChainEmbedder()),
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=0),
        parent_splitter=RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=0),
    )
    theirs.add_documents([LangChainDocument(each.text) for each in example_documents()])
    ours = langchain_ext.ParentDocumentRetriever(index=libraries.index, base=Vector(), k=3)
    assert "Scheele" in theirs.invoke(QUESTION)[0].page_content
    assert "Scheele" in ours.invoke(QUESTION)[0].page_content


def test_most_of_what_tf_idf_finds_is_found(libraries: Libraries):
    theirs = TFIDFRetriever.from_documents(langchain_ext.leaf_documents(libraries.index), k=5).invoke(QUESTION)
    ours = langchain_ext.BM25Retriever(index=libraries.index, k=5).invoke(QUESTION)
    assert len({each.page_content for each in theirs} & {each.page_content for each in ours}) >= 3
