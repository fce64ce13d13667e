"""RAPTOR trees, in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_ext.retriever import BasedRetriever
from leafspan import Tree
from leafspan.strategies import Mode


class TreeRetriever(BasedRetriever):
    """Like the core's ``Tree``, but a LangChain retriever, and its ``base`` may be one of this package's."""

    mode: Mode = "collapsed"
    top_k: int | None = None
    threshold: float | None = None
    start_layer: int | None = None
    end_layer: int = 0
    expand: bool | int = False
    overlap: bool = False

    def _strategy(self, child: Any = None) -> Tree:
        return Tree(
            **self._base(child),
            mode=self.mode,
            top_k=self.top_k,
            threshold=self.threshold,
            start_layer=self.start_layer,
            end_layer=self.end_layer,
            expand=self.expand,
            overlap=self.overlap,
        )
