"""Letters with names, in an index that never gets a name.

    python examples/pii.py

It needs no network: pip install ".[pii]"
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from leafspan import Document, F, Index
from leafspan.private import PIIAware, Vault, private_view

PEOPLE = ["Alice Smith", ["Robert Jones", "Bob Jones"], "Zoë Łuczak"]
LETTERS = [
    Document(
        "1",
        "Alice Smith would like to rent the garden by the mill. She can be reached at alice@example.com or +49 30 901820.",
        "Letter of Alice Smith",
        {"from": "alice@example.com"},
    ),
    Document(
        "2",
        "Robert Jones gives up the garden by the mill. He asks for the fee of forty crowns to be sent to the account "
        "DE89 3704 0044 0532 0130 00.",
        "Letter of Bob Jones",
        {"from": "bob@example.com"},
    ),
    Document("3", "The gardens by the mill are watered twice a week. Zoë Łuczak has the key of the pump.", "Gardens"),
]
QUESTIONS = ["What does Alice Smith want?", "Which account did Bob Jones name?", "Who can open the pump?"]


def main() -> None:
    """Add the letters, ask about them, and show what is stored."""
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        vault = Vault.open(Path(folder) / "letters.vault", secrets.token_bytes(32))
        masked = private_view(index, vault, known={"PERSON": PEOPLE})
        masked.add(LETTERS)
        revealed = masked.revealing()
        for question in QUESTIONS:
            print(f"\n{question}")
            (hidden,) = masked.retrieve(question, PIIAware(), k=1)
            (shown,) = revealed.retrieve(question, PIIAware(), k=1)
            print(f"  the index has:  {hidden.text}\n  a reader may see: {shown.text}")
            (letter,) = [letter for letter in LETTERS if letter.id == shown.document_id]
            assert letter.text[shown.start : shown.end] == shown.text
        (own,) = revealed.retrieve("garden", PIIAware(), where=F("from") == "alice@example.com", k=1)
        print(f"\nFrom alice@example.com: {own.text}")
        stored = b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())
        names = ["Alice", "Jones", "Łuczak", "901820", "0532 0130"]
        print("\nIn the files:", {name: name.encode() in stored for name in names})


if __name__ == "__main__":
    main()
