"""The strategies with a name on the command line: those that need no option and no private view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leafspan.checks import check_choice
from leafspan.strategies import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    FollowReferences,
    Hybrid,
    ParentDocument,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)


@dataclass(frozen=True, slots=True)
class NamedStrategy:
    """A strategy of the command line."""

    strategy: Strategy
    idea: str
    retriever: str
    options: Mapping[str, Any] = field(default_factory=dict)


STRATEGIES: dict[str, NamedStrategy] = {
    "vector": NamedStrategy(Vector(), "the leaves that are nearest in meaning", "VectorRetriever"),
    "bm25": NamedStrategy(BM25(), "leaves that have the question's words", "BM25Retriever"),
    "hybrid": NamedStrategy(Hybrid(), "words and vectors at once, and a bonus for neighbours", "HybridRetriever"),
    "parent-document": NamedStrategy(ParentDocument(), "the parent of each leaf that is found", "ParentDocumentRetriever"),
    "sentence-window": NamedStrategy(SentenceWindow(), "each hit with the leaves around it", "SentenceWindowRetriever"),
    "auto-merging": NamedStrategy(
        AutoMerging(), "hits that are close together, merged into their parent", "AutoMergingRetriever"
    ),
    "relevant-segments": NamedStrategy(
        RelevantSegments(), "runs of leaves that are worth their words", "RelevantSegmentsRetriever"
    ),
    "tree": NamedStrategy(Tree(), "leaves and summaries of all layers, ranked together", "TreeRetriever"),
    "tree-traversal": NamedStrategy(
        Tree(mode="traversal"),
        "the best summaries, then the best of their children, down to the leaves",
        "TreeRetriever",
        {"mode": "traversal"},
    ),
    "follow-references": NamedStrategy(
        FollowReferences(), "what is found, and what it refers to by links, names and metadata", "FollowReferencesRetriever"
    ),
    "decay": NamedStrategy(Decay(), "what is found, newer documents first", "DecayRetriever"),
    "browse": NamedStrategy(
        Browse(), "the leaves of documents that match the filter, in order; no question is needed", "BrowseRetriever"
    ),
}


def strategy_named(name: str) -> Strategy:
    """Return the strategy with this name."""
    check_choice("strategy", name, STRATEGIES)
    return STRATEGIES[name].strategy
