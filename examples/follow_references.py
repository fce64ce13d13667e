"""References that retrieval follows: from overviews to their documents, to another index, and to a function.

    python examples/follow_references.py

It needs no network and no key.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from leafspan import Document, F, FollowReferences, HostRetriever, Index, Passage, Vector
from leafspan.examples import example_documents
from leafspan.strategies import HostResult, filtered

OVERVIEWS = [
    Document("machines", "Overview of machines that are driven by steam.", metadata={"reference": "Steam_engine"}),
    Document("plagues", "Overview of plagues and infections.", metadata={"reference": ["Black_Death", "Immune_system"]}),
    Document("weather", "Overview of forecasts.", metadata={"reference": ["weather service", "notes"]}),
]


def forecasts(question: str) -> Sequence[HostResult]:
    """Instead of a service. Its results become passages like all others."""
    return [HostResult("tomorrow", "Tomorrow it will rain in the west.", 1.0, kind="forecast")]


async def aforecasts(question: str) -> Sequence[HostResult]:
    """The same for an event loop."""
    return forecasts(question)


def show(question: str, found: list[Passage]) -> None:
    """Print what was found, and which references led there."""
    print(f"\n{question}")
    for passage in found:
        source = passage.document_id or passage.metadata.get("doc_id") or passage.kind
        print(f"  {passage.score:.3f} {source}: {' '.join(passage.text.split())[:90]}")
        for line in passage.trace.explain():
            if line.startswith("FollowReferences"):
                print(f"        {line}")


def main() -> None:
    """Ask the overviews, and read the documents that they refer to."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.open(Path(folder) / "kb") as index,
        Index.open(Path(folder) / "notes") as notes,
    ):
        index.add([*example_documents(), *OVERVIEWS])
        notes.add(Document("umbrella", "My umbrella is at the office. Forecasts of rain: take it home."))
        targets = {"weather service": HostRetriever("weather", forecasts, aforecasts), "notes": notes.as_strategy()}
        # The search looks only at overviews, and then reads the documents that they refer to.
        overviews = filtered(Vector(), F("reference").exists())
        following = FollowReferences(base=overviews, targets=targets, per_reference=2)

        question = "What do steam engines do with the heat?"
        show(f"{question} (the overview alone)", index.retrieve(question, overviews, k=1))
        show(question, index.retrieve(question, following, k=2))
        show("What is the weather forecast?", index.retrieve("What is the weather forecast?", following, k=2))


if __name__ == "__main__":
    main()
