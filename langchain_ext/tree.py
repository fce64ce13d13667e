"""RAPTOR trees, in LangChain."""

from __future__ import annotations

from typing import ClassVar

from langchain_ext.retriever import BasedRetriever
from leafspan import Strategy, Tree
from leafspan.hosting import Mode


class TreeRetriever(BasedRetriever):
    """Like the core's ``Tree``, but a LangChain retriever, and its ``base`` may be one of this package's."""

    kind: ClassVar[type[Strategy]] = Tree

    mode: Mode = "collapsed"
    top_k: int | None = None
    min_score: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    keep_covered_summaries: bool = False
