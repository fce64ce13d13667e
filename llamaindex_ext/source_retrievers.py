"""The core's strategies for other sources than an index, as LlamaIndex retrievers."""

from __future__ import annotations

from leafspan.hosting.sources import LightRAGOptions, PropertyGraphOptions, SQLOptions
from llamaindex_ext.retriever import NamedRetriever, documented


@documented
class SQLRetriever(NamedRetriever, SQLOptions):
    """Like the core's ``SQL``, but a LlamaIndex retriever."""


@documented
class LightRAGRetriever(NamedRetriever, LightRAGOptions):
    """Like the core's ``LightRAG``, but a LlamaIndex retriever.

    Without an index, all results are passages of their own kind.
    """


@documented
class PropertyGraphRetriever(NamedRetriever, PropertyGraphOptions):
    """Like the core's ``PropertyGraph``, but a LlamaIndex retriever.

    Without an index, all results are passages of their own kind.
    """
