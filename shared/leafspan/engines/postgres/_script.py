"""The statements that make an index's tables, for an administrator, if the index's own role may not create tables."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from leafspan.checks import check_text, check_whole
from leafspan.engines.postgres._database import Postgres, check_installed
from leafspan.engines.postgres._engine import PostgresEngine
from leafspan.engines.postgres._sessions import Ask
from leafspan.engines.postgres._table import PostgresTable

_PARTS = {"leaves": True, "manifest": False, "texts": False, "segments": False}  # whether each part has vectors


def script(name: str = "kb", *, numbers: int, role: str, schema: str = "public") -> str:
    """Return the SQL that makes all tables of an index, and lets a role use them. An administrator runs it once.

    Args:
        name: Name of the index. Default: ``"kb"``.
        numbers: Length of the embedder's vectors, >= 1: 256 for WordLlama.
        role: The role that will use the index.
        schema: Schema of the tables. Default: ``"public"``.

    Raises:
        InvalidArgument: if an argument is of a wrong type.
        MissingExtra: if the extra ``postgres`` is not installed.
    """
    check_installed()
    from psycopg.sql import SQL, Identifier

    for option, value in (("name", name), ("role", role), ("schema", schema)):
        check_text(option, value)
    check_whole("numbers", numbers, 1)
    engine = PostgresEngine(Postgres(_NoPool(), schema), 1.0)
    grants = "GRANT USAGE ON SCHEMA {0} TO {1}", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {0} TO {1}"
    statements: list[Ask | list[Ask]] = [
        Ask("CREATE EXTENSION IF NOT EXISTS vector"),
        Ask(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(engine.named())),
        *engine.registry(),
        *_tables(engine, name, numbers),
        *(Ask(SQL(each).format(engine.named(), Identifier(role))) for each in grants),
    ]
    return "".join(f"{_written(each)};\n" for each in statements)


class _NoPool:
    """A stand-in for a pool, which is never used."""

    def getconn(self) -> None:
        """See ConnectionPool."""


def _tables(engine: PostgresEngine, name: str, numbers: int) -> Iterator[Ask | list[Ask]]:
    for index in (name, f"{name}.tree"):
        for part, searched in _PARTS.items():
            table = PostgresTable(engine, uuid4().hex, f"{index}.{part}", {}, searched=searched)
            yield from table.made(numbers if searched else None)
            yield engine.registered(table, None, searched=searched)


def _written(ask: Ask | list[Ask]) -> str:
    """Return a statement with its values filled in."""
    from psycopg.sql import Literal

    assert isinstance(ask, Ask)
    text: str = ask.statement if isinstance(ask.statement, str) else ask.statement.as_string(None)
    return text % tuple(Literal(each).as_string(None) for each in ask.values) if ask.values else text
