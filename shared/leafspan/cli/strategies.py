"""The strategies by the names that the commands know them by."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.errors import InvalidArgument
from leafspan.strategies import AutoMerging, ParentDocument, SentenceWindow, Strategy, Vector


@dataclass(frozen=True, slots=True)
class Named:
    """A strategy with its defaults, its idea in a few words, and the class that it is in both adapters."""

    strategy: Strategy
    idea: str
    retriever: str


STRATEGIES = {
    "vector": Named(Vector(), "the nearest leaves, as they are", "VectorRetriever"),
    "parent-document": Named(ParentDocument(), "search small, return the parent", "ParentDocumentRetriever"),
    "sentence-window": Named(SentenceWindow(), "each hit with what stands around it", "SentenceWindowRetriever"),
    "auto-merging": Named(AutoMerging(), "hits that stand close together become their parent", "AutoMergingRetriever"),
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        InvalidArgument: if there is none.
    """
    if name not in STRATEGIES:
        raise InvalidArgument(f"strategy must be one of {', '.join(STRATEGIES)}, got {name!r}")
    return STRATEGIES[name].strategy
