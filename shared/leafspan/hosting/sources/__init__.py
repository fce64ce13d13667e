"""Types and prompts of the strategies for other sources, for their retrievers in the hosts."""

from leafspan.sources.graphs import KEYWORD_PROMPT, GraphKind, LightRAGMode, LightRAGShape, PropertyGraphShape
from leafspan.sources.sql import DEFAULT_REPAIR_PROMPT, DEFAULT_SQL_PROMPT, Extract, Tables

__all__ = [
    "DEFAULT_REPAIR_PROMPT",
    "DEFAULT_SQL_PROMPT",
    "KEYWORD_PROMPT",
    "Extract",
    "GraphKind",
    "LightRAGMode",
    "LightRAGShape",
    "PropertyGraphShape",
    "Tables",
]
