"""PostgreSQL with pgvector as a store."""

from leafspan.engines.postgres._address import connect
from leafspan.engines.postgres._engine import Postgres

__all__ = ["Postgres", "connect"]
