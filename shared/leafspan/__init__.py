"""Retrieval over spans of leaves, in one Chroma index, for LangChain, LlamaIndex and plain Python."""

from leafspan.adding import Added
from leafspan.doctor import Finding
from leafspan.embedding import Embedder
from leafspan.errors import (
    DocumentNotFound,
    IndexMismatch,
    IndexNotFound,
    InvalidArgument,
    InvalidDocument,
    LeafspanError,
    MissingExtra,
    NotALeaf,
    Overtaken,
    WriterBusy,
)
from leafspan.index import Index
from leafspan.listing import DocumentInfo, Stats
from leafspan.packing import Budget
from leafspan.splitting import ChunkSplitter, Cut, HierarchicalSplitter, Splitter
from leafspan.strategies import AutoMerging, Outside, ParentDocument, SentenceWindow, Strategy, Vector
from leafspan.trace import Filled, Merge, Trace, TracedHit
from leafspan.values import Document, Passage, Query

__all__ = [
    "Index",
    "Document",
    "Passage",
    "Query",
    "Budget",
    "Strategy",
    "Vector",
    "ParentDocument",
    "SentenceWindow",
    "AutoMerging",
    "Outside",
    "Splitter",
    "HierarchicalSplitter",
    "ChunkSplitter",
    "Cut",
    "Embedder",
    "Added",
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
    "NotALeaf",
    "DocumentNotFound",
    "IndexNotFound",
    "IndexMismatch",
    "WriterBusy",
    "Overtaken",
    "MissingExtra",
]
