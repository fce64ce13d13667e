"""leafspan's strategies as LangChain retrievers."""

from .compressor import RelevantSegmentsCompressor
from .deep_agents import IndexBackend as IndexBackend
from .documents import leaf_documents, prompt_sources
from .memory import LeafspanStore as LeafspanStore
from .middleware import RetrievalMiddleware as RetrievalMiddleware
from .private_retriever import PIIAwareRetriever
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
    "SpanVectorStore",
    "RelevantSegmentsCompressor",
    "as_tools",
    "as_tool",
    "leaf_documents",
    "prompt_sources",
    "splitter_from",
]
