"""RAPTOR trees, in LlamaIndex."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import QueryBundle

from leafspan import Tree, View
from leafspan.strategies import Mode
from llamaindex_ext.retriever import BasedRetriever


class TreeRetriever(BasedRetriever):
    """Like the core's ``Tree``, but a LlamaIndex retriever, and its ``base`` may be one of this package's."""

    def __init__(
        self,
        index: View,
        *,
        mode: Mode = "collapsed",
        top_k: int | None = None,
        threshold: float | None = None,
        start_layer: int | None = None,
        end_layer: int = 0,
        expand: bool | int = False,
        overlap: bool = False,
        **options: Any,
    ) -> None:
        self.mode = mode
        self.top_k = top_k
        self.threshold = threshold
        self.start_layer = start_layer
        self.end_layer = end_layer
        self.expand = expand
        self.overlap = overlap
        super().__init__(index, **options)

    def _strategy(self, bundle: QueryBundle | None = None) -> Tree:
        return Tree(
            **self._base(bundle),
            mode=self.mode,
            top_k=self.top_k,
            threshold=self.threshold,
            start_layer=self.start_layer,
            end_layer=self.end_layer,
            expand=self.expand,
            overlap=self.overlap,
        )
