"""Qdrant as a store."""

from leafspan.engines.qdrant._engine import QdrantEngine

__all__ = ["QdrantEngine"]
