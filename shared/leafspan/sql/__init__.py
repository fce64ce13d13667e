"""Rows of databases, for questions and for SQL."""

__all__: list[str] = []
