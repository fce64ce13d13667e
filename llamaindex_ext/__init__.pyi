"""leafspan's strategies as LlamaIndex retrievers."""

from .auto_merging import AutoMergingRetriever
from .bm25 import BM25Retriever
from .browse import BrowseRetriever
from .decay import DecayRetriever
from .documents import NodeWithTrace, leaf_nodes
from .ensemble import EnsembleRetriever
from .events import RetrievalTraceEvent
from .follow_references import FollowReferencesRetriever
from .hybrid import HybridRetriever
from .light_rag import LightRAGRetriever
from .multi_query import MultiQueryRetriever
from .node_parser import SpanNodeParser
from .parent_document import ParentDocumentRetriever
from .pii_aware import PIIAwareRetriever
from .property_graph import PropertyGraphRetriever
from .relevant_segments import RelevantSegmentsRetriever
from .rerank import RerankRetriever
from .retriever import FilteredQueryBundle
from .rewrite_query import RewriteQueryRetriever
from .router import RouterRetriever
from .sentence_window import SentenceWindowRetriever
from .splitting import splitter_from
from .sql import SQLRetriever
from .strategy import SpanRetriever
from .tools import as_tool, as_tools
from .tree import TreeRetriever
from .vector import VectorRetriever

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
    "FilteredQueryBundle",
    "NodeWithTrace",
    "RetrievalTraceEvent",
    "SpanNodeParser",
    "as_tools",
    "as_tool",
    "leaf_nodes",
    "splitter_from",
]
