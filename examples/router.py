"""Route each question to the source that can answer it: by descriptions, by a rule, or by a language model.

    python examples/router.py

It needs no network and no key. A function replaces the language model.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from leafspan import BM25, Document, Hybrid, Index, Passage, Router, Strategy

HANDBOOK = [
    Document("holidays", "Every employee has thirty days of holidays. Ask your manager before you book a flight."),
    Document("expenses", "Keep the receipts of your travels. Expenses are paid at the end of the month."),
]
INCIDENTS = [
    Document("INC-204", "Error E1107 stopped the pump in hall 3. The valve was replaced.", metadata={"year": 2023}),
    Document("INC-311", "Error E2040: the sensor of the furnace sent nothing for an hour.", metadata={"year": 2024}),
]
QUESTIONS = ["How many days of holidays do I have?", "What was done about E1107?"]
DESCRIPTIONS = {
    "handbook": "holidays, expenses, travel and other rules for employees",
    "incidents": "errors, incidents and repairs of machines, such as E1107",
}


def by_code(question: str) -> str | None:
    """A rule: questions with an error's name go to the incidents. None means the default source."""
    return "incidents" if any(word[:1] == "E" and word[1:5].isdigit() for word in question.split()) else None


def model(prompt: str) -> str:
    """Replaces a language model: it gets names and descriptions, and answers with a name."""
    question = prompt.rpartition("Question: ")[2]
    return "Best source: **incidents**" if "E1107" in question else "handbook"


def show(question: str, found: list[Passage]) -> None:
    """Print the best passage, and why its source was chosen."""
    print(question)
    print(f"  {found[0].text.strip()}")
    print(f"  {found[0].trace.explain()[-1]}")


def main() -> None:
    """Route each question in three ways."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.open(Path(folder) / "handbook") as handbook,
        Index.open(Path(folder) / "incidents") as incidents,
    ):
        handbook.add(HANDBOOK)
        incidents.add(INCIDENTS)
        # The handbook is this index; the incidents are in another index.
        retrievers: dict[str, Strategy] = {"handbook": Hybrid(), "incidents": incidents.as_strategy(BM25())}

        for name, router in {
            "descriptions": Router(retrievers=retrievers, descriptions=DESCRIPTIONS),
            "a rule": Router(retrievers=retrievers, choose=by_code, default="handbook"),
            "a language model": Router(retrievers=retrievers, descriptions=DESCRIPTIONS, generate=model),
        }.items():
            print(f"\nRouted by {name}")
            for question, found in zip(QUESTIONS, handbook.retrieve_many(QUESTIONS, router, k=1), strict=True):
                show(question, found)

        print("\nBoth asked, and fused")
        both = Router(retrievers=retrievers, choose=lambda _: ["handbook", "incidents"])
        for passage in handbook.retrieve("Who replaced the valve, and who pays for travels?", both, k=2):
            print(f"  {passage.score:.4f} {passage.metadata.get('doc_id', passage.document_id)}: {passage.text.strip()}")


if __name__ == "__main__":
    main()
