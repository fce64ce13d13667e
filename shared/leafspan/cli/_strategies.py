"""The strategies by the names that the commands know them by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leafspan.checks import check_choice
from leafspan.strategies import (
    BM25,
    AutoMerging,
    Filter,
    Hybrid,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)


@dataclass(frozen=True, slots=True)
class Named:
    """A strategy with its defaults, its idea in a few words, and the class that it is in both adapters.

    ``options``: what that class is given, so that it is this strategy.
    """

    strategy: Strategy
    idea: str
    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)


STRATEGIES = {
    "vector": Named(Vector(), "the nearest leaves, as they are", "VectorRetriever"),
    "bm25": Named(BM25(), "the leaves with the question's words", "BM25Retriever"),
    "hybrid": Named(Hybrid(), "words and vectors at once, and a bonus for neighbours", "HybridRetriever"),
    "parent-document": Named(ParentDocument(), "search small, return the parent", "ParentDocumentRetriever"),
    "sentence-window": Named(SentenceWindow(), "each hit with what stands around it", "SentenceWindowRetriever"),
    "auto-merging": Named(AutoMerging(), "hits that stand close together become their parent", "AutoMergingRetriever"),
    "relevant-segments": Named(
        RelevantSegments(), "as much relevance as fits into the budget, in runs", "RelevantSegmentsRetriever"
    ),
    "tree": Named(Tree(), "leaves and summaries of all layers, ranked together", "TreeRetriever"),
    "tree-traversal": Named(
        Tree(mode="traversal"),
        "the summaries that fit best, then those below them, down to the leaves",
        "TreeRetriever",
        {"mode": "traversal"},
    ),
    "filter": Named(
        Filter(), "what matches the filter, in the order of the texts; no question is needed", "FilterRetriever"
    ),
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        InvalidArgument: if there is none.
    """
    check_choice("strategy", name, STRATEGIES)
    return STRATEGIES[name].strategy
