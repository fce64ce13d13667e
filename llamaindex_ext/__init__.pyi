"""leafspan's strategies as LlamaIndex retrievers."""

from .auto_merging import AutoMergingRetriever
from .bm25 import BM25Retriever
from .decay import DecayRetriever
from .documents import NodeWithTrace, leaf_nodes
from .ensemble import EnsembleRetriever
from .events import RetrievalTraceEvent
from .filter import FilterRetriever
from .hybrid import HybridRetriever
from .light_rag import LightRAGRetriever
from .multi_query import MultiQueryRetriever
from .node_parser import SpanNodeParser
from .parent_document import ParentDocumentRetriever
from .pii_aware import PIIAwareRetriever
from .property_graph import PropertyGraphRetriever
from .recursive import RecursiveRetriever
from .relevant_segments import RelevantSegmentsRetriever
from .rerank import RerankRetriever
from .retriever import FilteredQueryBundle
from .router import RouterRetriever
from .sentence_window import SentenceWindowRetriever
from .splitting import splitter_from
from .sql import SQLRetriever
from .strategy import SpanRetriever
from .tools import as_tool, as_tools
from .transform import TransformRetriever
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
    "FilteredQueryBundle",
    "NodeWithTrace",
    "RetrievalTraceEvent",
    "SpanNodeParser",
    "as_tools",
    "as_tool",
    "leaf_nodes",
    "splitter_from",
]
