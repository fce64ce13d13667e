"""The prompts that ask a language model for SQL, and the search for SQL in its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice

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
