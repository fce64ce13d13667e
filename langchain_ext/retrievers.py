"""The core's strategies as LangChain retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_ext.retriever import BaseSpanRetriever, LeafRetriever, NamedRetriever, documented
from leafspan.hosting import options


@documented
class SpanRetriever(BaseSpanRetriever, options.SpanOptions):
    """Any strategy of the core, or one of your own, as a LangChain retriever."""


@documented
class VectorRetriever(LeafRetriever, options.VectorOptions):
    """Like the core's ``Vector``, but a LangChain retriever."""


@documented
class BM25Retriever(LeafRetriever, options.BM25Options):
    """Like the core's ``BM25``, but a LangChain retriever."""


@documented
class HybridRetriever(LeafRetriever, options.HybridOptions):
    """Like the core's ``Hybrid``, but a LangChain retriever."""


@documented
class ParentDocumentRetriever(LeafRetriever, options.ParentDocumentOptions):
    """Like the core's ``ParentDocument``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class SentenceWindowRetriever(LeafRetriever, options.SentenceWindowOptions):
    """Like the core's ``SentenceWindow``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class AutoMergingRetriever(LeafRetriever, options.AutoMergingOptions):
    """Like the core's ``AutoMerging``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class RelevantSegmentsRetriever(LeafRetriever, options.RelevantSegmentsOptions):
    """Like the core's ``RelevantSegments``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class EnsembleRetriever(NamedRetriever, options.EnsembleOptions):
    """Like the core's ``Ensemble``, but a LangChain retriever, and its ``retrievers`` may be LangChain retrievers too."""


@documented
class MultiQueryRetriever(NamedRetriever, options.MultiQueryOptions):
    """Like the core's ``MultiQuery``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class RouterRetriever(NamedRetriever, options.RouterOptions):
    """Like the core's ``Router``, but a LangChain retriever, and its ``retrievers`` may be LangChain retrievers too."""

    descriptions: Mapping[str, str] = {}


@documented
class FollowReferencesRetriever(NamedRetriever, options.FollowReferencesOptions):
    """Like the core's ``FollowReferences``, but a LangChain retriever; its ``base`` and its ``targets`` may be ones too."""

    targets: Mapping[str, Any] = {}


@documented
class RewriteQueryRetriever(NamedRetriever, options.RewriteQueryOptions):
    """Like the core's ``RewriteQuery``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class RerankRetriever(NamedRetriever, options.RerankOptions):
    """Like the core's ``Rerank``, but a LangChain retriever, and its ``base`` may be one too.

    ``rerank`` may also be a document compressor of LangChain, which is given results as this retriever would return them.
    """


@documented
class DecayRetriever(NamedRetriever, options.DecayOptions):
    """Like the core's ``Decay``, but a LangChain retriever, and its ``base`` may be one too."""


@documented
class BrowseRetriever(LeafRetriever, options.BrowseOptions):
    """Like the core's ``Browse``, but a LangChain retriever: the question is not read, and may be ``""``."""


@documented
class TreeRetriever(LeafRetriever, options.TreeOptions):
    """Like the core's ``Tree``, but a LangChain retriever, and its ``base`` may be one of this package's."""
