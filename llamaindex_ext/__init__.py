"""leafspan's strategies as LlamaIndex retrievers."""

from leafspan import MissingExtra

try:
    import llama_index.core.retrievers as _host  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise MissingExtra('llamaindex_ext needs llama-index-core: pip install "leafspan[llamaindex]"') from error

from llamaindex_ext.auto_merging import AutoMergingRetriever
from llamaindex_ext.bm25 import BM25Retriever
from llamaindex_ext.decay import DecayRetriever
from llamaindex_ext.documents import NodeWithTrace, leaf_nodes
from llamaindex_ext.ensemble import EnsembleRetriever
from llamaindex_ext.events import RetrievalTraceEvent
from llamaindex_ext.filter import FilterRetriever
from llamaindex_ext.hybrid import HybridRetriever
from llamaindex_ext.light_rag import LightRAGRetriever
from llamaindex_ext.multi_query import MultiQueryRetriever
from llamaindex_ext.node_parser import SpanNodeParser
from llamaindex_ext.parent_document import ParentDocumentRetriever
from llamaindex_ext.pii_aware import PIIAwareRetriever
from llamaindex_ext.property_graph import PropertyGraphRetriever
from llamaindex_ext.recursive import RecursiveRetriever
from llamaindex_ext.relevant_segments import RelevantSegmentsRetriever
from llamaindex_ext.rerank import RerankRetriever
from llamaindex_ext.retriever import FilteredQueryBundle
from llamaindex_ext.router import RouterRetriever
from llamaindex_ext.sentence_window import SentenceWindowRetriever
from llamaindex_ext.splitting import splitter_from
from llamaindex_ext.sql import SQLRetriever
from llamaindex_ext.strategy import SpanRetriever
from llamaindex_ext.tools import as_tool, as_tools
from llamaindex_ext.transform import TransformRetriever
from llamaindex_ext.tree import TreeRetriever
from llamaindex_ext.vector import VectorRetriever

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
