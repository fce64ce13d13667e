"""Retrieval over spans of leaves, in one Chroma index, for LangChain, LlamaIndex and plain Python."""

from leafspan.adopting import Adopted, SkippedRecord
from leafspan.documents import chunks_of
from leafspan.embedding import Embedder, EmbeddingCache
from leafspan.errors import (
    ConcurrentUpdate,
    DocumentNotFound,
    EmptySource,
    IndexMismatch,
    IndexNotFound,
    InvalidArgument,
    InvalidDocument,
    LeafspanError,
    MissingExtra,
    NotALeaf,
    SourceFailed,
    SourceTimeout,
    WriterBusy,
)
from leafspan.files import Files, Skipped
from leafspan.filters import F, Where
from leafspan.graphs import LightRAG, LightRAGThread, PropertyGraph, lightrag_inputs, lightrag_options
from leafspan.index import Index
from leafspan.indexing import Added, DocumentInfo, Finding, Stats, Synced
from leafspan.lexical import Analyzer, BM25Settings
from leafspan.retrieval import aretrieve_outside as aretrieve
from leafspan.retrieval import retrieve_outside as retrieve
from leafspan.spans import Budget, joined
from leafspan.splitting import ChunkSplitter, Cut, HierarchicalSplitter, Splitter
from leafspan.strategies import (
    BM25,
    AutoMerging,
    Ensemble,
    Filter,
    HostRetriever,
    Hybrid,
    MultiQuery,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.trace import Filled, Merge, Trace, TracedHit
from leafspan.tree import (
    Abstractive,
    Bisecting,
    Clusterer,
    Extractive,
    FailedSummary,
    RaptorClusters,
    Summarizer,
    TreesBuilt,
)
from leafspan.values import Chunk, Covered, Document, Passage, Query, Summary
from leafspan.view import View

__all__ = [
    "Index",
    "View",
    "Document",
    "Chunk",
    "chunks_of",
    "Files",
    "Passage",
    "Summary",
    "Covered",
    "Query",
    "Budget",
    "joined",
    "F",
    "Where",
    "Strategy",
    "Vector",
    "BM25",
    "Hybrid",
    "ParentDocument",
    "SentenceWindow",
    "AutoMerging",
    "RelevantSegments",
    "Ensemble",
    "MultiQuery",
    "Filter",
    "Tree",
    "LightRAG",
    "PropertyGraph",
    "HostRetriever",
    "LightRAGThread",
    "lightrag_inputs",
    "lightrag_options",
    "retrieve",
    "aretrieve",
    "Splitter",
    "HierarchicalSplitter",
    "ChunkSplitter",
    "Cut",
    "Embedder",
    "EmbeddingCache",
    "Analyzer",
    "BM25Settings",
    "Summarizer",
    "Extractive",
    "Abstractive",
    "Clusterer",
    "Bisecting",
    "RaptorClusters",
    "Added",
    "Synced",
    "Skipped",
    "Adopted",
    "SkippedRecord",
    "TreesBuilt",
    "FailedSummary",
    "DocumentInfo",
    "Stats",
    "Finding",
    "Trace",
    "TracedHit",
    "Filled",
    "Merge",
    "LeafspanError",
    "InvalidArgument",
    "InvalidDocument",
    "EmptySource",
    "NotALeaf",
    "DocumentNotFound",
    "IndexNotFound",
    "IndexMismatch",
    "WriterBusy",
    "ConcurrentUpdate",
    "SourceTimeout",
    "SourceFailed",
    "MissingExtra",
]
