"""The SQL with which an administrator makes the tables of an index, for a role that may not make tables."""

from __future__ import annotations

from uuid import uuid4

from leafspan.checks import check_text, check_whole
from leafspan.engines.postgres._database import Postgres, check_installed
from leafspan.engines.postgres._engine import REGISTRY, PostgresEngine, PostgresTable
from leafspan.engines.postgres._sessions import Ask, statement

_PARTS = {"leaves": True, "manifest": False, "texts": False, "segments": False}  # whether each part has vectors

# pgvector may be in a schema of its own.
_WITH_VECTORS = """DECLARE place name := (SELECT nspname FROM pg_extension JOIN pg_namespace
    ON pg_namespace.oid = extnamespace WHERE extname = 'vector');
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', place, {role});
    PERFORM set_config(
        'search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(place)), false);
END"""


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
    from psycopg.sql import Identifier, Literal

    for option, value in (("name", name), ("role", role), ("schema", schema)):
        check_text(option, value)
    check_whole("numbers", numbers, 1)
    engine = PostgresEngine(Postgres(_NoPool(), schema), 1.0)
    user = Identifier(role)
    statements: list[Ask | list[Ask]] = [
        Ask("CREATE EXTENSION IF NOT EXISTS vector"),
        Ask(statement("DO {}", Literal(_WITH_VECTORS.replace("{role}", Literal(role).as_string(None))))),
        Ask(statement("CREATE SCHEMA IF NOT EXISTS {}", engine.named())),
        Ask(statement("GRANT USAGE ON SCHEMA {} TO {}", engine.named(), user)),
        *engine.registry(),
        Ask(statement("GRANT SELECT, UPDATE (notes) ON {} TO {}", engine.named(REGISTRY), user)),
    ]
    for index in (name, f"{name}.tree"):
        for part, searched in _PARTS.items():
            table = PostgresTable(engine, uuid4().hex, f"{index}.{part}", {}, searched=searched)
            statements += table.made(numbers if searched else None)
            statements.append(engine.registered(table, None, searched=searched))
            statements.append(Ask(statement("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}", table.relation, user)))
    return "".join(f"{_written(each)};\n" for each in statements)


class _NoPool:
    """A stand-in for a pool, which is never used."""

    def getconn(self) -> None:
        """See ConnectionPool."""


def _written(ask: Ask | list[Ask]) -> str:
    """Return a statement with its values filled in."""
    from psycopg.sql import Literal

    assert isinstance(ask, Ask)
    text: str = ask.statement if isinstance(ask.statement, str) else ask.statement.as_string(None)
    return text % tuple(Literal(each).as_string(None) for each in ask.values)
