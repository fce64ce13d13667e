"""leafspan's strategies as LangChain retrievers."""

from .auto_merging import AutoMergingRetriever
from .bm25 import BM25Retriever
from .browse import BrowseRetriever
from .decay import DecayRetriever
from .documents import leaf_documents
from .ensemble import EnsembleRetriever
from .follow_references import FollowReferencesRetriever
from .hybrid import HybridRetriever
from .light_rag import LightRAGRetriever
from .multi_query import MultiQueryRetriever
from .parent_document import ParentDocumentRetriever
from .pii_aware import PIIAwareRetriever
from .property_graph import PropertyGraphRetriever
from .relevant_segments import RelevantSegmentsRetriever
from .rerank import RerankRetriever
from .rewrite_query import RewriteQueryRetriever
from .router import RouterRetriever
from .sentence_window import SentenceWindowRetriever
from .splitting import splitter_from
from .sql import SQLRetriever
from .strategy import SpanRetriever
from .tools import as_tool, as_tools
from .tree import TreeRetriever
from .vector import VectorRetriever
from .vector_store import SpanVectorStore

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
    "FollowReferencesRetriever",
    "RewriteQueryRetriever",
    "RerankRetriever",
    "DecayRetriever",
    "BrowseRetriever",
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
