"""Passages by metadata alone, in LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leafspan import Filter, Strategy
from llamaindex_ext.retriever import NamedRetriever


@dataclass(kw_only=True, eq=False, repr=False)
class FilterRetriever(NamedRetriever):
    """Like the core's ``Filter``, but a LlamaIndex retriever: the question is not read, and may be ``""``."""

    kind: ClassVar[type[Strategy]] = Filter

    offset: int = 0
