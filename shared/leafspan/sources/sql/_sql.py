"""SQL: a strategy that answers questions and SQL with a database's rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from leafspan.checks import check_choice, check_flag, check_model, check_number, keep_whole, shown
from leafspan.errors import InvalidArgument
from leafspan.filters import Where
from leafspan.flows import Call, Flow, arun, run
from leafspan.language_model import check_template
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._attempts import (
    DEFAULT_REPAIR_PROMPT,
    DEFAULT_SQL_PROMPT,
    PROMPT_FIELDS,
    REPAIR_FIELDS,
    Answer,
    Attempts,
    as_flow,
)
from leafspan.sources.sql._database import Database
from leafspan.sources.sql._rows import Extract, import_pandas, row_passages, table_passage, to_frame
from leafspan.strategies import (
    CallFunction,
    RetrievalContext,
    Strategy,
    StrategyFlow,
    outside_candidate,
    query_texts,
    to_query,
)
from leafspan.values import Candidate, Query

if TYPE_CHECKING:
    from pandas import DataFrame

Tables = Sequence[str] | Mapping[str, Sequence[str] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SQL(Strategy):
    """Rows of a SQL database. A query is SQL, or with a language model a question.

    leafspan runs only queries that read: one SELECT, WITH or VALUES, with functions that are known to be harmless, on
    tables and columns that are allowed. It refuses everything else before it reaches the database. The transaction is
    rolled back, and is read-only if the database supports that. docs/sql.md says what is checked, and what is not.

    Without ``generate``, every query must be SQL. With ``generate``, a query that is valid SQL runs as it is. Any other
    query is a question, for which the language model writes SQL.

    Args:
        database: URL such as ``"sqlite:///shop.db"``, as text or as a SQLAlchemy URL, or an Engine with a blocking driver.
        generate: Function from a prompt to a text, which is asked for SQL. Default: none, every query is SQL.
        agenerate: A coroutine function with the same task, for an event loop.
        max_retries: How often the language model may repair a failed query, given the error, >= 0. Default: 0.
        tables: Tables and views that may be read: a list of names, or a mapping from names to lists of columns (None for
            all). Give the schema if queries must name it, and quote a name that contains a dot: ``'other."a.b"'``. An
            allowed view may read the tables behind it. Default: all except system catalogs.
        functions: Names of further functions that are harmless, such as your own. Default: none.
        extract: Columns that become the text of a row, or a function from a row to a text. The text of one column is its
            value. Default: all columns, each in a line, ``name: value``.
        preprocess_query: Function that takes the query, and returns the query to use instead. Default: none.
        result: ``"rows"`` for a passage for each row, ``"table"`` for one passage with a table in Markdown. Default:
            ``"rows"``.
        return_query: Whether the metadata of each passage have the SQL that was run, under ``"sql"``. Default: False; the
            trace has it in any case.
        row_limit: Most rows, in [1, 1000000]. The trace says if there are more. Default: 1000.
        timeout: Seconds that connecting, running and fetching may take together for a query, in (0, 86400]. Default: 30.
        sample_rows: Number of rows of each table that the language model is shown, >= 0. Default: 0.
        prompt: Template with ``{question}``, ``{schema}`` and ``{dialect}``.
        repair_prompt: Template with ``{question}``, ``{schema}``, ``{dialect}``, ``{sql}`` and ``{error}``.

    Raises:
        MissingExtra: if SQLAlchemy, sqlglot or the database's driver is not installed.
        InvalidArgument: if an option is out of its range, or retries are wanted without ``generate``.

    Rows keep the order of the query: row number r, from 1, has the score 1 / r. A table has the score 1.
    """

    database: Any = field(kw_only=False)
    generate: Callable[[str], str] | None = None
    agenerate: Callable[[str], Awaitable[str]] | None = None
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

    def __post_init__(self) -> None:
        check_model(self.generate, self.agenerate)
        keep_whole(self, "max_retries", 0)
        if self.max_retries and self.generate is None:
            raise InvalidArgument(
                f"max_retries needs a language model to repair queries, got max_retries={self.max_retries} without "
                "generate (llm in LangChain and LlamaIndex)"
            )
        keep_whole(self, "row_limit", 1)
        check_number("row_limit", self.row_limit, at_least=1, at_most=1_000_000)
        check_number("timeout", self.timeout, above=0, at_most=86_400, unit="seconds")
        keep_whole(self, "sample_rows", 0)
        check_flag("return_query", self.return_query)
        check_choice("result", self.result, ("rows", "table"))
        check_template(self.prompt, PROMPT_FIELDS)
        check_template(self.repair_prompt, REPAIR_FIELDS)
        if self.preprocess_query is not None and not callable(self.preprocess_query):
            raise InvalidArgument(f"preprocess_query must be a function of one text, got {shown(self.preprocess_query)}")
        object.__setattr__(self, "extract", _checked_extract(self.extract, self.result))
        object.__setattr__(self, "functions", _checked_functions(self.functions))
        object.__setattr__(self, "database", Database.of(self.database, self.timeout))
        allowed = Allowed.of(self.tables, self.database.dialect)
        # Copies, so that later changes to the user's lists do not change what is allowed.
        object.__setattr__(self, "tables", allowed and dict(allowed.columns))

    @property
    def finds_spans(self) -> bool:
        """No: rows are not leaves."""
        return True

    @property
    def returns_all(self) -> bool:
        """Yes: all rows are returned, up to ``row_limit``."""
        return True

    @property
    def looks_once(self) -> bool:
        """Yes: a query runs once."""
        return True

    def retrieve(self, queries: Sequence[Query], context: RetrievalContext) -> StrategyFlow[list[list[Candidate]]]:
        """See Strategy. The queries run one after the other. A filter applies to the passages' metadata.

        Raises:
            RefusedQuery: if a query may do more than read, or reads a table or column that is not allowed.
            QueryFailed: if the database cannot be reached, fails or runs out of time, or the language model wrote no SQL.
            InvalidArgument: if a query is only a vector, or ``extract`` does not fit its rows.
        """
        results = []
        for text in query_texts("SQL", queries):
            answer = yield from self._attempts.answer(text)
            # With a million rows, or a slow function of the user's, this would block an event loop.
            results.append((yield CallFunction(self._candidates, (answer, context.where))))
        return results

    @overload
    def retrieve_frame(self, query: str | Query, *, return_query: Literal[False] = False) -> DataFrame: ...

    @overload
    def retrieve_frame(self, query: str | Query, *, return_query: Literal[True]) -> tuple[str, DataFrame]: ...

    def retrieve_frame(self, query: str | Query, *, return_query: bool = False) -> DataFrame | tuple[str, DataFrame]:
        """Return the rows as a pandas DataFrame. Its ``attrs["cut"]`` says whether there are more rows than ``row_limit``.

        Args:
            query: SQL, or a question.
            return_query: Whether to return ``(sql, frame)``, with the SQL that was run. Default: False.

        Raises:
            RefusedQuery: if the query may do more than read, or reads a table or column that is not allowed.
            QueryFailed: if the database cannot be reached, fails or runs out of time, or the language model wrote no SQL.
            MissingExtra: if pandas is not installed.
        """
        sql, frame = run(self._framed(query))
        return (sql, frame) if return_query else frame

    @overload
    async def aretrieve_frame(self, query: str | Query, *, return_query: Literal[False] = False) -> DataFrame: ...

    @overload
    async def aretrieve_frame(self, query: str | Query, *, return_query: Literal[True]) -> tuple[str, DataFrame]: ...

    async def aretrieve_frame(self, query: str | Query, *, return_query: bool = False) -> DataFrame | tuple[str, DataFrame]:
        """Like ``retrieve_frame``."""
        sql, frame = await arun(self._framed(query))
        return (sql, frame) if return_query else frame

    def _candidates(self, answer: Answer, where: Where | None) -> list[Candidate]:
        make = row_passages if self.result == "rows" else table_passage
        passages = make(answer.rows, self.extract, answer.notes, with_query=self.return_query)
        return [outside_candidate(each) for each in passages if where is None or where.matches(each.metadata, each.id)]

    def _framed(self, query: str | Query) -> Flow[tuple[str, DataFrame]]:
        """The SQL that ran, and its rows as a DataFrame."""
        yield Call(import_pandas)  # before the query runs
        [text] = query_texts("SQL", [to_query(query, for_several="it for each")])
        answer = yield from as_flow(self._attempts.answer(text))
        return answer.rows.sql, (yield Call(to_frame, (answer.rows,)))

    @property
    def _attempts(self) -> Attempts:
        return Attempts(
            database=self.database,
            allowed=Allowed.of(self.tables, self.database.dialect),
            functions=self.functions,
            generate=self.generate,
            agenerate=self.agenerate,
            max_retries=self.max_retries,
            preprocess_query=self.preprocess_query,
            row_limit=self.row_limit,
            timeout=self.timeout,
            sample_rows=self.sample_rows,
            prompt=self.prompt,
            repair_prompt=self.repair_prompt,
        )


def _checked_extract(extract: Any, result: str) -> Extract:
    if extract is None:
        return None
    if callable(extract):
        if result == "table":
            raise InvalidArgument('extract must name columns where result is "table", got a function')
        return extract  # type: ignore[no-any-return]
    if isinstance(extract, str) or not isinstance(extract, Sequence) or not extract:
        raise InvalidArgument(f"extract must be a list of columns or a function that takes a row, got {shown(extract)}")
    if not all(isinstance(name, str) for name in extract):
        raise InvalidArgument(f"extract must be a list of column names, got {shown(extract)}")
    return tuple(extract)


def _checked_functions(functions: Any) -> tuple[str, ...]:
    if isinstance(functions, str) or not isinstance(functions, Sequence | set | frozenset):
        raise InvalidArgument(f"functions must be a list of names, got {shown(functions)}")
    if not all(isinstance(name, str) and name.strip() for name in functions):
        raise InvalidArgument(f"functions must be a list of names, got {shown(functions)}")
    return tuple(sorted(name.strip().lower() for name in functions))
