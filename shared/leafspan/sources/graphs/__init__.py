"""Strategies that search graphs of entities and relations, and lead from there to leaves of an index."""

from leafspan.sources.graphs._graph import GraphKind
from leafspan.sources.graphs._light_rag import LightRAG, LightRAGMode, LightRAGShape, lightrag_inputs
from leafspan.sources.graphs._property_graph import KEYWORD_PROMPT, PropertyGraph, PropertyGraphShape
from leafspan.sources.graphs._thread import LightRAGThread

__all__ = [
    "LightRAG",
    "LightRAGThread",
    "lightrag_inputs",
    "PropertyGraph",
    "GraphKind",
    "KEYWORD_PROMPT",
    "LightRAGMode",
    "LightRAGShape",
    "PropertyGraphShape",
]
