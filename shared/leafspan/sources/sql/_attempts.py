"""From a question or SQL to rows: SQL runs as it is, a language model answers questions with SQL and repairs failed SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from leafspan.checks import calling, function_failed, refuse_coroutine, shown
from leafspan.errors import DatabaseUnavailable, InvalidArgument, LeafspanError, QueryFailed, RefusedQuery
from leafspan.flows import Call, Flow
from leafspan.language_model import without_reasoning
from leafspan.sources.sql._allowed import Allowed
from leafspan.sources.sql._database import Database
from leafspan.sources.sql._guard import Guard
from leafspan.sources.sql._language import language
from leafspan.sources.sql._rows import Rows
from leafspan.sources.sql._timeout import Deadline, within
from leafspan.strategies import CallFunction, Generate, StrategyFlow

_SHOWN = 200  # characters of an answer in an error message


@dataclass(frozen=True, slots=True)
class Answer:
    """A database's answer.

    Attributes:
        rows: The rows.
        notes: Remarks for traces.
    """

    rows: Rows
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Answers SQL or a question, with repairs if they are needed. The attributes are the options of ``SQL``."""

    database: Database
    allowed: Allowed | None
    functions: Collection[str]
    generate: Callable[[str], str] | None
    agenerate: Callable[[str], Awaitable[str]] | None
    max_retries: int
    preprocess_query: Callable[[str], str] | None
    row_limit: int
    timeout: float
    sample_rows: int
    prompt: str
    repair_prompt: str

    def answer(self, text: str) -> StrategyFlow[Answer]:
        """Return the answer to SQL or a question."""
        question = yield from self._preprocessed(text)
        sql: str | LeafspanError = question
        # Parsing a long text takes time, so that it does not happen in the event loop either.
        if self.generate is not None and not (yield CallFunction(self._is_sql, (question,))):
            sql = yield from self._written(question)
        notes: list[str] = []
        for attempt in range(1, self.max_retries + 2):
            outcome = sql if isinstance(sql, LeafspanError) else (yield self._call(sql, attempt))
            if isinstance(outcome, Rows):
                return Answer(outcome, (*notes, *self._notes(outcome)))
            own = attempt == 1 and sql is question
            if attempt > self.max_retries or (own and isinstance(outcome, RefusedQuery)):
                break  # a language model must not repair a query that the user wrote and that is not allowed
            notes.append(f"attempt {attempt} failed: {outcome}")
            sql = yield from self._repaired(question, sql if isinstance(sql, str) else "(none)", outcome)
        if attempt > 1:
            outcome = type(outcome)(f"{outcome}; this was attempt {attempt} of {attempt}")
        if self.generate is None and isinstance(outcome, RefusedQuery) and not begins_as_query(question):
            outcome = RefusedQuery(
                f"{outcome}; to ask in words, give a language model: generate, or llm in LangChain and LlamaIndex"
            )
        raise outcome

    def _preprocessed(self, text: str) -> StrategyFlow[str]:
        if self.preprocess_query is None:
            return text
        preprocess = self.preprocess_query

        def call(question: str) -> str:
            with calling("preprocess_query of SQL,", preprocess, question):
                return preprocess(question)

        question: Any = yield CallFunction(call, (text,))
        if not isinstance(question, str) or not question.strip():
            refuse_coroutine("preprocess_query", question)
            raise InvalidArgument(f"preprocess_query must return a text that is not blank, got {shown(question)}")
        return question

    def _is_sql(self, text: str) -> bool:
        return begins_as_query(text) and language(self.database.dialect).reads(text)

    def _call(self, sql: str, attempt: int) -> CallFunction:
        """The call that runs SQL. It runs once in a retrieval, so that every step of the retrieval sees the same rows."""
        key = (id(self.database), repr(self.allowed), tuple(self.functions), self.row_limit, self.timeout)
        return CallFunction(self._attempt, (sql,), key=(*key, sql, attempt), what=self._waited_for)

    @property
    def _waited_for(self) -> str:
        return f"the database {self.database.address!r}"

    def _attempt(self, sql: str) -> Rows | RefusedQuery | QueryFailed:
        """Return the rows of SQL, or the error that a language model may be able to repair."""
        guard = Guard(
            dialect=self.database.dialect, functions=self.functions, allowed=self.allowed, row_limit=self.row_limit
        )
        deadline = Deadline.after(self.timeout)
        try:
            checked = within(deadline, lambda: guard.check(sql))  # checking a long query takes time
            return self.database.run(checked, self.row_limit, deadline, self.allowed, self.functions)
        except DatabaseUnavailable:
            raise
        except (RefusedQuery, QueryFailed) as error:
            return error

    def _notes(self, rows: Rows) -> list[str]:
        cut = [f"there are more rows than row_limit={self.row_limit}, and these are the first"] if rows.cut else []
        return [f"SQL: {rows.sql}", *cut]

    def _written(self, question: str) -> StrategyFlow[str | LeafspanError]:
        schema = yield CallFunction(self._schema, what=self._waited_for)
        prompt = self.prompt.format(question=question, schema=schema, dialect=self.database.dialect)
        return (yield from self._ask(prompt))

    def _repaired(self, question: str, sql: str, error: LeafspanError) -> StrategyFlow[str | LeafspanError]:
        schema = yield CallFunction(self._schema, (True,), what=self._waited_for)  # the tables may have changed
        prompt = self.repair_prompt.format(
            question=question, schema=schema, dialect=self.database.dialect, sql=sql, error=error
        )
        return (yield from self._ask(prompt))

    def _schema(self, fresh: bool = False) -> str:
        return self.database.schema(self.allowed, self.sample_rows, self.timeout, fresh=fresh)

    def _ask(self, prompt: str) -> StrategyFlow[str | LeafspanError]:
        """Return the SQL in the language model's answer, or the error that the answer has no SQL."""
        assert self.generate is not None
        answers: Any = yield Generate((prompt,), self.generate, self.agenerate)
        answer = answers[0]
        if isinstance(answer, Exception):
            raise function_failed("the language model that was asked for SQL,", self.generate, None, answer)
        refuse_coroutine("generate", answer)
        if not isinstance(answer, str):
            return QueryFailed(f"the language model must answer with a text, got {shown(answer)}")
        sql: str | None = yield CallFunction(find_sql, (without_reasoning(answer), language(self.database.dialect).reads))
        if sql is None:
            return QueryFailed(f"the language model wrote no SQL; its answer begins: {answer.strip()[:_SHOWN]!r}")
        return sql


T = TypeVar("T")


def as_flow(requests: StrategyFlow[T]) -> Flow[T]:
    """Turn a flow of requests into a flow of the calls that answer them."""
    answer: Any = None
    while True:
        try:
            request = requests.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        if isinstance(request, CallFunction):
            answer = yield Call(request.function, request.arguments, native=request.native)
        else:
            assert isinstance(request, Generate)
            try:
                answer = [(yield Call(request.generate, request.prompts, native=request.agenerate))]
            except Exception as error:
                answer = [error]


DEFAULT_SQL_PROMPT = """\
Write one SQL query for {dialect} that answers the question. It only reads: a SELECT, which may begin with WITH.
Use only the tables and columns below, with their names as they are written there. Give columns readable names.
Answer with the query alone, without an explanation.

{schema}

Question: {question}
"""

DEFAULT_REPAIR_PROMPT = """\
This SQL query for {dialect} was to answer the question, and failed. Write one that works. It only reads: a SELECT, which
may begin with WITH. Use only the tables and columns below, with their names as they are written there.
Answer with the query alone, without an explanation.

{schema}

Question: {question}

Query:
{sql}

Error: {error}
"""

PROMPT_FIELDS = {"question": "a question", "schema": "tables", "dialect": "sqlite"}
REPAIR_FIELDS = {**PROMPT_FIELDS, "sql": "a query", "error": "an error"}

_MOST_CUTS = 20  # places that are tried as the end of a query; each attempt parses from the beginning
_FENCE = re.compile(
    r"(```|~~~)[ \t]*(?:\w*[ \t]*\r?\n|\w+[ \t]+(?=\(?(?:SELECT|WITH|VALUES)\b))(.*?)(?:\1|\Z)", re.DOTALL | re.IGNORECASE
)
_INLINE = re.compile(r"`\s*((?:SELECT|WITH|VALUES)\b[^`]*)`", re.IGNORECASE)
_START = re.compile(r"(?:^|[:\n])[ \t]*(\(?\s*(?:SELECT|WITH|VALUES)\b)", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_QUERY = re.compile(r"\(*\s*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
_STATEMENT = re.compile(
    r"\s*(?:SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|MERGE|REPLACE|CREATE|ALTER|DROP|TRUNCATE|GRANT|REVOKE|SET|PRAGMA|ATTACH"
    r"|DETACH|COPY|CALL|DO|EXEC|EXECUTE|BEGIN|COMMIT|ROLLBACK|VACUUM|LOAD)\b",
    re.IGNORECASE,
)
# A line after a query that does not belong to it: a fence, a label such as "SQLResult:", or the beginning of a sentence.
_CLAUSE = r"""(?!(?i:FROM|WHERE|GROUP|ORDER|HAVING|LIMIT|OFFSET|UNION|EXCEPT|INTERSECT|JOIN|LEFT|RIGHT|INNER|OUTER|CROSS
    |FULL|NATURAL|ON|USING|AND|OR|NOT|AS|WINDOW|FETCH|FOR|CASE|WHEN|THEN|ELSE|END|IN|BETWEEN|LIKE|SET)\b)"""
_PROSE_LINE = re.compile(
    rf"""\n[ \t]*(?=```|~~~
    |\**(?:{_CLAUSE}[^\W\d_]\w*[ ]?){{1,3}}\**[:：](?:\**[ \t]|\**\r?$)
    |{_CLAUSE}[^\W\d_a-z][^\W\d_A-Z]*[ ]{_CLAUSE}[\w']+[ ][\w'])""",
    re.VERBOSE | re.MULTILINE,
)
_PROSE_LINES = 10  # lines that are tried as the end of a query


def begins_as_query(text: str) -> bool:
    """Whether a text begins with SELECT, WITH or VALUES, after comments and opening parentheses."""
    start = _COMMENTS.match(text)
    return bool(_QUERY.match(text, start.end() if start else 0))


def find_sql(answer: str, reads: Callable[[str], bool]) -> str | None:
    """Return the SQL in a language model's answer, or None if the answer has no SQL.

    The SQL may be the whole answer, in a fence (the last fence with a query wins), a value of a JSON object, or after
    prose. Prose after the SQL is left out. Statements after it stay, so that the check refuses them.
    """
    blocks = [block.strip() for _, block in _FENCE.findall(answer)]
    fenced = [sql for block in blocks if (sql := block if begins_as_query(block) else _in_json(block)) is not None]
    if fenced:
        return _without_prose(fenced[-1], reads)
    if (sql := _in_json(answer)) is not None:
        return sql
    if begins_as_query(answer):
        return _without_prose(answer.strip(), reads)
    if match := _INLINE.search(answer):
        return match[1].strip()
    if match := _START.search(answer):
        return _without_prose(answer[match.start(1) :].strip(), reads)
    return None


def _in_json(text: str) -> str | None:
    """The only query among the values of a JSON object, or None if there is not one or the text is not a JSON object."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        values = json.loads(text).values()
    except (ValueError, RecursionError):
        return None
    queries = [value.strip() for value in values if isinstance(value, str) and begins_as_query(value)]
    return queries[0] if len(queries) == 1 else None


def _without_prose(text: str, reads: Callable[[str], bool]) -> str:
    if reads(text):
        return text
    for head, tail in _cuts(text):
        if reads(head) and not any(map(_STATEMENT.match, tail.split(";"))):
            return head
    return text


def _cuts(text: str) -> Iterator[tuple[str, str]]:
    """The text before and after each line of prose, then at the first semicolons and blank lines, from the last one on."""
    for match in islice(_PROSE_LINE.finditer(text), _PROSE_LINES):
        yield text[: match.start()].strip(), text[match.end() :]
    for match in reversed(list(islice(re.finditer(r";|\n[ \t]*\n", text), _MOST_CUTS))):
        yield text[: match.start()].strip(), text[match.end() :]
