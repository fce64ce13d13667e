"""The argument for a PostgreSQL database: a pool of connections, and a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leafspan.errors import MissingExtra


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL database with pgvector, for ``Index.open(client=...)``.

    Attributes:
        pool: A ``ConnectionPool`` of psycopg_pool, or an ``AsyncConnectionPool`` for ``Index.aopen``.
        schema: Schema of the tables. leafspan makes a missing schema. Default: ``"public"``.
        place: The database's name in errors. Default: ``"the database"``.
        closes: Whether closing the index closes the pool. Default: False.
    """

    pool: Any
    schema: str = "public"
    place: str = "the database"
    closes: bool = False


def check_installed() -> None:
    """Check that psycopg and pgvector are installed.

    Raises:
        MissingExtra: if one is missing.
    """
    try:
        import pgvector  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise MissingExtra.of("an index in PostgreSQL needs psycopg and pgvector", "postgres") from error
