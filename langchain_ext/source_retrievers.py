"""The core's strategies for other sources than an index, as LangChain retrievers."""

from __future__ import annotations

from pydantic import ConfigDict

from langchain_ext.retriever import NamedRetriever, documented
from leafspan.hosting.sources import LightRAGOptions, PropertyGraphOptions, SQLOptions


@documented
class SQLRetriever(NamedRetriever, SQLOptions):
    """Like the core's ``SQL``, but a LangChain retriever."""

    model_config = ConfigDict(hide_input_in_errors=True)  # the URL of the database may have a password


@documented
class LightRAGRetriever(NamedRetriever, LightRAGOptions):
    """Like the core's ``LightRAG``, but a LangChain retriever.

    Without an index, all results are passages of their own kind.
    """


@documented
class PropertyGraphRetriever(NamedRetriever, PropertyGraphOptions):
    """Like the core's ``PropertyGraph``, but a LangChain retriever.

    Without an index, all results are passages of their own kind. Only the graph needs LlamaIndex.
    """
