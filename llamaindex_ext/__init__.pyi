"""leafspan's strategies as LlamaIndex retrievers."""

from .documents import NodeWithTrace, leaf_nodes, prompt_sources
from .events import RetrievalTraceEvent
from .node_parser import SpanNodeParser
from .private_retriever import PIIAwareRetriever
from .retriever import FilteredQueryBundle
from .retrievers import (
    AutoMergingRetriever,
    BM25Retriever,
    BrowseRetriever,
    DecayRetriever,
    EnsembleRetriever,
    FollowReferencesRetriever,
    HybridRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    RelevantSegmentsRetriever,
    RerankRetriever,
    RewriteQueryRetriever,
    RouterRetriever,
    SentenceWindowRetriever,
    SpanRetriever,
    TreeRetriever,
    VectorRetriever,
)
from .source_retrievers import LightRAGRetriever, PropertyGraphRetriever, SQLRetriever
from .splitting import splitter_from
from .tools import as_tool, as_tools
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
    "FilteredQueryBundle",
    "NodeWithTrace",
    "RetrievalTraceEvent",
    "SpanNodeParser",
    "SpanVectorStore",
    "as_tools",
    "as_tool",
    "leaf_nodes",
    "prompt_sources",
    "splitter_from",
]
