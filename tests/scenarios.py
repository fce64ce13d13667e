"""One table of retrievals, which the core and both adapters must answer alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from leafspan import AutoMerging, ParentDocument, SentenceWindow, Strategy, Vector


@dataclass(frozen=True)
class Scenario:
    """A strategy by its options, with limits; ``adapter`` is the name of its class in both adapters."""

    name: str
    adapter: str
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def strategy(self) -> Strategy:
        return KINDS[self.adapter](**self.options)


KINDS: dict[str, Any] = {
    "VectorRetriever": Vector,
    "ParentDocumentRetriever": ParentDocument,
    "SentenceWindowRetriever": SentenceWindow,
    "AutoMergingRetriever": AutoMerging,
}

SCENARIOS = [
    Scenario("vector", "VectorRetriever"),
    Scenario("vector, three", "VectorRetriever", {}, {"k": 3}),
    Scenario("vector with an instruction", "VectorRetriever", {"instruction": "question: "}),
    Scenario("vector above a score", "VectorRetriever", {"min_score": 0.35}, {"k": 20}),
    Scenario("vector in a budget", "VectorRetriever", {}, {"budget": 30}),
    Scenario("vector filtered", "VectorRetriever", {}, {"where": {"topic": "animals"}}),
    Scenario(
        "vector filtered by a list and a number",
        "VectorRetriever",
        {},
        {"where": {"$and": [{"tags": {"$contains": "sea"}}, {"year": {"$lt": 1900}}]}},
    ),
    Scenario("parents", "ParentDocumentRetriever"),
    Scenario("parents, second level", "ParentDocumentRetriever", {"level": 2}, {"k": 3}),
    Scenario("whole documents", "ParentDocumentRetriever", {"level": None}),
    Scenario("two parents", "ParentDocumentRetriever", {"max_parents": 2}),
    Scenario("parents in a budget", "ParentDocumentRetriever", {}, {"budget": 100}),
    Scenario("windows", "SentenceWindowRetriever"),
    Scenario("windows ahead", "SentenceWindowRetriever", {"before": 0, "after": 2}, {"k": 2}),
    Scenario("windows of few candidates", "SentenceWindowRetriever", {}, {"candidates": 4}),
    Scenario("windows in a budget", "SentenceWindowRetriever", {}, {"budget": 80, "candidates": 6}),
    Scenario("merging", "AutoMergingRetriever", {}, {"candidates": 8}),
    Scenario("merging eagerly", "AutoMergingRetriever", {"threshold": 0.2}, {"candidates": 8}),
    Scenario("merging one level", "AutoMergingRetriever", {"max_level": 1}),
    Scenario("merging small", "AutoMergingRetriever", {"max_words": 40}, {"candidates": 10}),
    Scenario("merging without gaps", "AutoMergingRetriever", {"fill_gaps": 0}, {"candidates": 8}),
    Scenario("merging by the best", "AutoMergingRetriever", {"score": "max"}, {"candidates": 8}),
    Scenario("merging in a budget", "AutoMergingRetriever", {}, {"budget": 60, "k": 4}),
    Scenario("merging what a threshold leaves", "AutoMergingRetriever", {"base": Vector(min_score=0.3)}),
    Scenario("merging filtered", "AutoMergingRetriever", {}, {"where": {"topic": {"$ne": "animals"}}}),
]
