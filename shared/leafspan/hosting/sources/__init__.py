"""The options of retrievers for other sources than an index, and the methods that only these retrievers have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from leafspan.hosting._retriever import NamedStrategyRetriever
from leafspan.hosting._strategy_options import options_of
from leafspan.sources.graphs import (
    KEYWORD_PROMPT,
    GraphKind,
    LightRAG,
    LightRAGMode,
    LightRAGShape,
    PropertyGraph,
    PropertyGraphShape,
)
from leafspan.sources.sql import DEFAULT_REPAIR_PROMPT, DEFAULT_SQL_PROMPT, SQL, Extract, Tables

__all__ = ["LightRAGOptions", "PropertyGraphOptions", "SQLOptions"]


@options_of(SQL)
class SQLOptions(NamedStrategyRetriever):
    """The options of ``SQL``."""

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
        strategy: Any = self._strategy()
        return strategy.retrieve_frame(query, return_query=return_query)

    async def aretrieve_frame(self, query: str, *, return_query: bool = False) -> Any:
        """Like ``retrieve_frame``."""
        strategy: Any = self._strategy()
        return await strategy.aretrieve_frame(query, return_query=return_query)


class GraphRetriever(NamedStrategyRetriever):
    """The retriever of a graph."""

    def retrieve_data(self, question: str, shape: LightRAGShape | PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data`` of the core's strategy, but ``"chunks"`` are results as the retriever returns them."""
        strategy: Any = self._strategy()
        data = strategy.retrieve_data(question, shape)
        return self._results(data) if shape == "chunks" else data

    async def aretrieve_data(self, question: str, shape: LightRAGShape | PropertyGraphShape = "chunks") -> Any:
        """Like ``retrieve_data``, without blocking the event loop."""
        strategy: Any = self._strategy()
        data = await strategy.aretrieve_data(question, shape)
        return self._results(data) if shape == "chunks" else data


@options_of(LightRAG)
class LightRAGOptions(GraphRetriever):
    """The options of ``LightRAG``."""

    instance: Any
    mode: LightRAGMode = "mix"
    kinds: Sequence[GraphKind] = ("chunk", "entity", "relation")
    params: Mapping[str, Any] | None = None
    timeout: float = 60.0


@options_of(PropertyGraph)
class PropertyGraphOptions(GraphRetriever):
    """The options of ``PropertyGraph``."""

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
