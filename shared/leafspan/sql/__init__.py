"""Rows of databases, for questions and for SQL: a strategy that needs no index."""

from leafspan.sql._sql import SQL

__all__ = ["SQL"]
