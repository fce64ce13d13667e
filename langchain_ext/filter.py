"""Passages by metadata alone, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import NamedRetriever
from leafspan import Filter, Strategy


class FilterRetriever(NamedRetriever):
    """Like the core's ``Filter``, but a LangChain retriever: the question is not read, and may be ``""``."""

    kind: ClassVar[type[Strategy]] = Filter

    offset: int = 0
