"""Retrieval over spans of leaves, in one index, for LangChain, LlamaIndex and plain Python."""

from .configuration import Config
from .documents import chunks_of
from .embedding import Embedder, EmbeddingCache
from .errors import (
    DamagedIndex,
    DocumentNotFound,
    IndexNotFound,
    InvalidArgument,
    LeafspanError,
    MissingExtra,
    RetrievalTimeout,
    StorageFailed,
    WriterBusy,
)
from .files import Files
from .filters import F, Where
from .index import Index, aadopt, adopt
from .indexing import Added, DocumentInfo, Finding, Stats, Synced
from .lexical import Analyzer, BM25Settings
from .retrieval import Passages, aretrieve, aretrieve_many, retrieve, retrieve_many
from .spans import Budget, joined
from .splitting import ChunkSplitter, HierarchicalSplitter, Splitter
from .strategies import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    Ensemble,
    FollowReferences,
    HostRetriever,
    Hybrid,
    MultiQuery,
    ParentDocument,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from .values import Chunk, Document, Passage, Query
from .view import View

__all__ = [
    "Index",
    "adopt",
    "aadopt",
    "Config",
    "View",
    "Document",
    "Chunk",
    "chunks_of",
    "Files",
    "Passage",
    "Passages",
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
    "Router",
    "FollowReferences",
    "RewriteQuery",
    "Rerank",
    "Decay",
    "Browse",
    "Tree",
    "HostRetriever",
    "retrieve",
    "aretrieve",
    "retrieve_many",
    "aretrieve_many",
    "Splitter",
    "HierarchicalSplitter",
    "ChunkSplitter",
    "Embedder",
    "EmbeddingCache",
    "Analyzer",
    "BM25Settings",
    "Added",
    "Synced",
    "DocumentInfo",
    "Stats",
    "Finding",
    "LeafspanError",
    "InvalidArgument",
    "DocumentNotFound",
    "IndexNotFound",
    "DamagedIndex",
    "StorageFailed",
    "WriterBusy",
    "RetrievalTimeout",
    "MissingExtra",
]
