"""Rows of a SQL database, in LangChain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from langchain_ext.language_model import as_generate
from langchain_ext.retriever import NamedRetriever
from leafspan import Strategy
from leafspan.hosting import DEFAULT_REPAIR_PROMPT, DEFAULT_SQL_PROMPT, Extract, Tables
from leafspan.sources import SQL


class SQLRetriever(NamedRetriever):
    """Like the core's ``SQL``, but a LangChain retriever.

    In place of ``generate`` and ``agenerate`` it has an ``llm``.

    Args:
        index: Index to search, or a view of one. Default: none, for what searches other sources only.
        database: URL such as ``"sqlite:///shop.db"``, as text or of SQLAlchemy, or an Engine with a blocking driver.
        llm: LangChain chat model, LLM, or any other Runnable from a prompt to a message or a text, which is asked for SQL.
            Default: none is asked.
        max_retries: How often the language model repairs a query that failed, being shown the error, >= 0. Default: 0.
        tables: Tables and views that may be read: a list of names, or a mapping from names to lists of columns (None for
            all). A name has its schema if queries must name it, and quotes around a dot of its own: ``'other."a.b"'``. A
            view that is allowed may read what it reads. Default: all but catalogs of the system.
        functions: Names of further functions that are harmless, such as your own. Default: none.
        extract: Columns that become the text of a row, or a function from a row to a text. The text of one column is its
            value. Default: all columns, each in a line, ``name: value``.
        preprocess_query: Function from what is asked to what is asked instead. Default: none.
        result: ``"rows"`` for a passage for each row, ``"table"`` for one passage with a table in Markdown. Default:
            ``"rows"``.
        return_query: Whether the metadata of each passage have the SQL that was run, under ``"sql"``. Default: False; the
            trace has it in any case.
        row_limit: Most rows, in [1, 1000000]. The trace says if there are more. Default: 1000.
        timeout: Seconds that connecting, running and fetching may take together for a query, in (0, 86400]. Default: 30.
        sample_rows: Number of rows of each table that the language model is shown, >= 0. Default: 0.
        prompt: Template with ``{question}``, ``{schema}`` and ``{dialect}``.
        repair_prompt: Template with ``{question}``, ``{schema}``, ``{dialect}``, ``{sql}`` and ``{error}``.
        k: Most passages, >= 1. Default: any number, up to ``row_limit``.
        candidates: Leaves to look at before merging, in [1, 10000]. Default: as many as it takes to fill the budget or to
            find all above ``min_score``; with ``k``, 4 * k and at least 24.
        budget: Most words in all passages together, >= 1, or tokens with ``Budget(512, count=...)``. The first passage that
            does not fit is cut to the leaves around its best hit that do, and ends the list. Only a single leaf is returned
            even if it alone is over the budget. Default: any number.
        where: Filter on the documents' metadata, such as ``F("year") >= 2020``, or one in the dialect of Chroma, Haystack
            or LlamaIndex. Default: all documents.
        min_score: Lowest score of a passage: docs/scores.md says what scores mean. Without ``k`` or ``budget``, all that
            reach it are returned. Default: any.
        retrieval_timeout: Seconds, > 0, after which a call ends with a ``RetrievalTimeout``, whatever it waits for:
            ``timeout`` of the core's ``retrieve``. Default: none.
        filter_policy: Which filter holds if a call brings one, too: ``"replace"`` for that of the call, ``"merge"`` for
            both. Only ``"merge"`` can guard the documents of a tenant. Default: ``"replace"``.
        explain: Whether each Document has a ``trace`` in its metadata: sentences that say how it was found. Default: False.

    Raises:
        ValidationError: if an option is unknown or out of its range. It is pydantic's, and holds the core's
            InvalidArgument.
    """

    # The URL of the database may have a password.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True)

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
        return self._sql().retrieve_frame(query, return_query=return_query)  # type: ignore[call-overload]

    async def aretrieve_frame(self, query: str, *, return_query: bool = False) -> Any:
        """Like ``retrieve_frame``."""
        return await self._sql().aretrieve_frame(query, return_query=return_query)  # type: ignore[call-overload]

    def _sql(self) -> SQL:
        strategy = self._strategy()
        assert isinstance(strategy, SQL)
        return strategy

    def _converted(self, child: Any) -> dict[str, Any]:
        return dict(as_generate(self.llm, child))
