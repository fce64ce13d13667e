"""leafspan's strategies as LangChain retrievers."""

from leafspan import MissingExtra

try:
    import langchain_core.retrievers as _host  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra('langchain_ext needs langchain-core: pip install "leafspan[langchain]"') from error

from langchain_ext.auto_merging import AutoMergingRetriever
from langchain_ext.bm25 import BM25Retriever
from langchain_ext.decay import DecayRetriever
from langchain_ext.documents import leaf_documents
from langchain_ext.ensemble import EnsembleRetriever
from langchain_ext.filter import FilterRetriever
from langchain_ext.hybrid import HybridRetriever
from langchain_ext.light_rag import LightRAGRetriever
from langchain_ext.multi_query import MultiQueryRetriever
from langchain_ext.parent_document import ParentDocumentRetriever
from langchain_ext.pii_aware import PIIAwareRetriever
from langchain_ext.property_graph import PropertyGraphRetriever
from langchain_ext.recursive import RecursiveRetriever
from langchain_ext.relevant_segments import RelevantSegmentsRetriever
from langchain_ext.rerank import RerankRetriever
from langchain_ext.router import RouterRetriever
from langchain_ext.sentence_window import SentenceWindowRetriever
from langchain_ext.splitting import splitter_from
from langchain_ext.sql import SQLRetriever
from langchain_ext.strategy import SpanRetriever
from langchain_ext.tools import as_tool, as_tools
from langchain_ext.transform import TransformRetriever
from langchain_ext.tree import TreeRetriever
from langchain_ext.vector import VectorRetriever
from langchain_ext.vector_store import SpanVectorStore

__all__ = [
    "SpanRetriever",
    "VectorRetriever",
    "BM25Retriever",
    "HybridRetriever",
    "ParentDocumentRetriever",
    "SentenceWindowRetriever",
    "AutoMergingRetriever",
    "RelevantSegmentsRetriever",
    "EnsembleRetriever",
    "MultiQueryRetriever",
    "RouterRetriever",
    "RecursiveRetriever",
    "TransformRetriever",
    "RerankRetriever",
    "DecayRetriever",
    "FilterRetriever",
    "TreeRetriever",
    "SQLRetriever",
    "LightRAGRetriever",
    "PropertyGraphRetriever",
    "PIIAwareRetriever",
    "SpanVectorStore",
    "as_tools",
    "as_tool",
    "leaf_documents",
    "splitter_from",
]
