"""The core's strategies as LlamaIndex retrievers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan.hosting import options
from llamaindex_ext.host_objects import as_choice
from llamaindex_ext.retriever import BaseSpanRetriever, LeafRetriever, NamedRetriever, documented


@documented
class SpanRetriever(BaseSpanRetriever, options.SpanOptions):
    """Any strategy of the core, or one of your own, as a LlamaIndex retriever."""


@documented
class VectorRetriever(LeafRetriever, options.VectorOptions):
    """Like the core's ``Vector``, but a LlamaIndex retriever."""


@documented
class BM25Retriever(LeafRetriever, options.BM25Options):
    """Like the core's ``BM25``, but a LlamaIndex retriever."""


@documented
class HybridRetriever(LeafRetriever, options.HybridOptions):
    """Like the core's ``Hybrid``, but a LlamaIndex retriever."""


@documented
class ParentDocumentRetriever(LeafRetriever, options.ParentDocumentOptions):
    """Like the core's ``ParentDocument``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class SentenceWindowRetriever(LeafRetriever, options.SentenceWindowOptions):
    """Like the core's ``SentenceWindow``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class AutoMergingRetriever(LeafRetriever, options.AutoMergingOptions):
    """Like the core's ``AutoMerging``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class RelevantSegmentsRetriever(LeafRetriever, options.RelevantSegmentsOptions):
    """Like the core's ``RelevantSegments``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class EnsembleRetriever(NamedRetriever, options.EnsembleOptions):
    """Like the core's ``Ensemble``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too."""


@documented
class MultiQueryRetriever(NamedRetriever, options.MultiQueryOptions):
    """Like the core's ``MultiQuery``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class RouterRetriever(NamedRetriever, options.RouterOptions):
    """Like the core's ``Router``, but a LlamaIndex retriever, and its ``retrievers`` may be LlamaIndex retrievers too."""

    descriptions: Mapping[str, str] = field(default_factory=dict)

    def _converted(self, bundle: QueryBundle | None) -> dict[str, Any]:
        return {**super()._converted(bundle), **as_choice(self.choose, self.retrievers, self.descriptions)}


@documented
class FollowReferencesRetriever(NamedRetriever, options.FollowReferencesOptions):
    """Like the core's ``FollowReferences``, but a LlamaIndex retriever; its ``base`` and its ``targets`` may be ones too.

    An ``IndexNode`` of a LlamaIndex retriever refers to its ``index_id``, which counts as the ``"reference"`` in its
    metadata, unless it stands for an object that LlamaIndex follows itself.
    """

    targets: Mapping[str, Any] = field(default_factory=dict)


@documented
class RewriteQueryRetriever(NamedRetriever, options.RewriteQueryOptions):
    """Like the core's ``RewriteQuery``, but a LlamaIndex retriever, and its ``base`` may be one too."""

    def _prompts(self) -> dict[str, str | None]:
        return {"prompt": getattr(self._strategy(), "template", None)}


@documented
class RerankRetriever(NamedRetriever, options.RerankOptions):
    """Like the core's ``Rerank``, but a LlamaIndex retriever, and its ``base`` may be one too.

    ``rerank`` may also be a node postprocessor of LlamaIndex, which is given results as this retriever would return them.
    """


@documented
class DecayRetriever(NamedRetriever, options.DecayOptions):
    """Like the core's ``Decay``, but a LlamaIndex retriever, and its ``base`` may be one too."""


@documented
class BrowseRetriever(LeafRetriever, options.BrowseOptions):
    """Like the core's ``Browse``, but a LlamaIndex retriever: the question is not read, and may be ``""``."""


@documented
class TreeRetriever(LeafRetriever, options.TreeOptions):
    """Like the core's ``Tree``, but a LlamaIndex retriever, and its ``base`` may be one of this package's."""
