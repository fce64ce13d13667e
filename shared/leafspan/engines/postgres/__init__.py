"""PostgreSQL with pgvector as a store."""

from leafspan.engines.postgres._database import Postgres, connect
from leafspan.engines.postgres._engine import PostgresEngine, script

__all__ = ["Postgres", "PostgresEngine", "connect", "script"]
