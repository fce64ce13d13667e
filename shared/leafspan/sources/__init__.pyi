"""Retrievers that ask something other than an index of leaves: SQL databases and graphs."""

from .graphs import LightRAG, LightRAGThread, PropertyGraph, lightrag_inputs
from .sql import SQL

__all__ = ["LightRAG", "LightRAGThread", "PropertyGraph", "SQL", "lightrag_inputs"]
