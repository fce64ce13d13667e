"""Retrievers that ask something other than an index of leaves: SQL databases and graphs."""

from .graphs import (
    KEYWORD_PROMPT,
    GraphKind,
    LightRAG,
    LightRAGMode,
    LightRAGShape,
    LightRAGThread,
    PropertyGraph,
    PropertyGraphShape,
    lightrag_inputs,
    lightrag_options,
)
from .sql import DEFAULT_REPAIR_PROMPT, DEFAULT_SQL_PROMPT, PROMPT_FIELDS, REPAIR_FIELDS, SQL, Extract, Tables

__all__ = [
    "KEYWORD_PROMPT",
    "GraphKind",
    "LightRAG",
    "LightRAGMode",
    "LightRAGShape",
    "LightRAGThread",
    "PropertyGraph",
    "PropertyGraphShape",
    "lightrag_inputs",
    "lightrag_options",
    "DEFAULT_REPAIR_PROMPT",
    "DEFAULT_SQL_PROMPT",
    "PROMPT_FIELDS",
    "REPAIR_FIELDS",
    "SQL",
    "Extract",
    "Tables",
]
