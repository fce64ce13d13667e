"""Scores that fall with the age of documents: python examples/decay.py"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

from leafspan import Decay, Document, Hybrid, Index, Strategy

NOTES = [
    ("2026-01-10", "The ferry to the island leaves at nine and at noon."),
    ("2026-04-02", "The ferry to the island leaves at nine, at noon and at three."),
    ("2026-06-01", "The ferry to the island leaves every hour."),
    (None, "The island has a harbour, a ferry and a lighthouse."),
]


def main() -> None:
    """Ask one question, with and without scores that depend on dates."""
    question = "When does the ferry to the island leave?"
    ways: dict[str, Strategy] = {
        "without regard to dates": Hybrid(),
        "half as much for each 30 days": Decay(now="2026-06-15"),
        "nothing after 90 days, nothing without a date": Decay(
            now="2026-06-15", scale=timedelta(days=45), shape="linear", missing=0
        ),
    }
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        index.add(
            Document(f"note {number}", text, metadata={} if day is None else {"date": day})
            for number, (day, text) in enumerate(NOTES, start=1)
        )
        for name, strategy in ways.items():
            print(f"\n{name}:")
            for passage in index.retrieve(question, strategy, k=4):
                print(f"  {passage.score:.3f}  {passage.metadata.get('date', 'no date')}  {passage.text}")


if __name__ == "__main__":
    main()
