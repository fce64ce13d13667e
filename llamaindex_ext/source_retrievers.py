"""The core's strategies for other sources than an index, as LlamaIndex retrievers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from leafspan import Strategy
from leafspan.hosting.sources import (
    DEFAULT_REPAIR_PROMPT,
    DEFAULT_SQL_PROMPT,
    KEYWORD_PROMPT,
    Extract,
    GraphKind,
    LightRAGMode,
    LightRAGShape,
    PropertyGraphShape,
    Tables,
)
from leafspan.sources import SQL, LightRAG, PropertyGraph
from llamaindex_ext.retriever import NamedRetriever, documented


@documented
class SQLRetriever(NamedRetriever):
    """Like the core's ``SQL``, but a LlamaIndex retriever."""

    kind: ClassVar[type[Strategy]] = SQL
    database: Any
    llm: Any = None
    max_retries: int = 0
    tables: Tables | None = None
    functions: Sequence[str] = ()
    extract: Extract = None
    preprocess_query: Callable[[str], str] | None = None
    result: Literal["rows", "table"] = "rows"
    return_query: bool = False
    row_limit: int = 1000
    timeout: float = 30.0
    sample_rows: int = 0
    prompt: str = DEFAULT_SQL_PROMPT
    repair_prompt: str = DEFAULT_REPAIR_PROMPT

    def retrieve_frame(self, query: str, *, return_query: bool = False) -> Any:
        """Like the core's ``SQL.retrieve_frame``: the rows as a pandas DataFrame, or ``(sql, frame)``."""
        return self._sql().retrieve_frame(query, return_query=return_query)

    async def aretrieve_frame(self, query: str, *, return_query: bool = False) -> Any:
        """Like ``retrieve_frame``."""
        return await self._sql().aretrieve_frame(query, return_query=return_query)

    def _sql(self) -> Any:
        return self._strategy()


@dataclass(kw_only=True, eq=False, repr=False)
class _GraphRetriever(NamedRetriever):
    """The retriever of a graph."""

    def retrieve_data(self, question: str, shape: LightRAGShape | PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data`` of the core's strategy, but ``"chunks"`` are nodes with scores."""
        data = self._graph().retrieve_data(question, shape)
        return self._nodes(data) if shape == "chunks" else data

    async def aretrieve_data(self, question: str, shape: LightRAGShape | PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        data = await self._graph().aretrieve_data(question, shape)
        return self._nodes(data) if shape == "chunks" else data

    def _graph(self) -> Any:
        return self._strategy()


@documented
class LightRAGRetriever(_GraphRetriever):
    """Like the core's ``LightRAG``, but a LlamaIndex retriever.

    Without an index, all results are passages of their own kind.
    """

    kind: ClassVar[type[Strategy]] = LightRAG
    instance: Any
    mode: LightRAGMode = "mix"
    kinds: Sequence[GraphKind] = ("chunk", "entity", "relation")
    params: Mapping[str, Any] | None = None
    timeout: float = 60.0


@documented
class PropertyGraphRetriever(_GraphRetriever):
    """Like the core's ``PropertyGraph``, but a LlamaIndex retriever.

    Without an index, all results are passages of their own kind.
    """

    kind: ClassVar[type[Strategy]] = PropertyGraph
    graph: Any
    kinds: Sequence[GraphKind] = ("chunk", "entity", "relation")
    embedder: Any = None
    llm: Any = None
    keywords: int = 10
    prompt: str = KEYWORD_PROMPT
    entities: int = 4
    depth: int = 1
    limit: int = 30
    timeout: float = 60.0
