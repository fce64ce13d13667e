"""Secret people, documents about them, and an embedder that remembers its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from langchain_core.documents import Document as LangChainDocument

from leafspan import Chunk, Document, Index
from leafspan.private import Key, PrivateView, Vault, private_view
from leafspan.private.pseudonyms._seal import VaultKeys
from leafspan.private.pseudonyms._vault import _header
from leafspan.private.pseudonyms._vault_file import VaultFile
from tests.corpus import SPLITTER

KEY = "tests-only-0123456789-abcdefghijklmnop"
KNOWN = {
    "PERSON": ["Alice Smith", ["Robert Quillfeather", "Bob Quillfeather"], "Zoë Łuczak"],
    "ADDRESS": ["17 Marigold Lane"],
}

ALICE = "alice.smith@example.com"
PHONE = "+49 30 901820"
CARD = "4111 1111 1111 1111"
SECRETS = [
    *("Alice Smith", "ALICE SMITH", "Alice\nSmith", "alice smith", "Quillfeather", "Łuczak", "luczak", "Marigold"),
    *(ALICE, "alice.smith", PHONE, "4930901820", "901820", CARD, "4111111111111111"),
]

LETTER = f"""# Letter of Alice Smith

Alice Smith wrote to the council about the harbour. She lives at 17 Marigold Lane. Her address is {ALICE}. The council did
not answer for a month.

Then Robert Quillfeather called her. The number that he used was {PHONE}. ALICE SMITH paid the fee with the card {CARD}. The
letter of Alice
Smith is in the archive of the harbour.
"""
REPORT = """The report on the pier was written by Zoë Łuczak. It has forty pages. Bob Quillfeather read it twice.

The pier needs new planks. The planks come from the forests in the east. The work takes a summer.
"""

DOCUMENTS = [
    Document("letter", LETTER, "On Alice Smith", {"from": ALICE, "to": ["council", "Zoë Łuczak"], "year": 1923}),
    Document("report:Zoë Łuczak", REPORT, None, {"Robert Quillfeather": True, "pages": 40}),
    Document(
        "minutes",
        "Alice Smith opened the meeting. Bob Quillfeather took the minutes.",
        "Minutes",
        {"topic": "harbour"},
        (Chunk(31, {"speaker": "Alice Smith"}), Chunk(66, {"speaker": "Bob Quillfeather"})),
    ),
]
LANGCHAIN = [
    LangChainDocument("Alice Smith asked for a permit.", metadata={"source": f"mails/{ALICE}/permit.eml"}),
    LangChainDocument("The permit was sent to 17 Marigold Lane.", metadata={"source": "mails/permit.eml", "page": 2}),
]


def fixed_vault(path: Path) -> Vault:
    """A vault whose pseudonyms are always the same, so that vectors and ranks are."""
    if not path.exists():
        keys = VaultKeys(b"data-key-of-the-tests-0123456789", b"hmac-key-of-the-tests-0123456789")
        VaultFile(path, 30).make(_header(Key(KEY), keys, b"tests-vault-0123", 1))
    return Vault.open(path, KEY)


def write_files(folder: Path) -> Path:
    """A folder of files; the names of some must stay secret."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Alice Smith.md").write_text("# Alice Smith\n\nShe was born near the harbour.\n", encoding="utf-8")
    (folder / "harbour.md").write_text("# The harbour\n\nAlice Smith and Zoë Łuczak came by ship.\n", encoding="utf-8")
    (folder / "people.jsonl").write_text(
        f'{{"text": "A line on Bob Quillfeather.", "mail": "{ALICE}"}}\n{{"text": "A line on planks."}}\n', encoding="utf-8"
    )
    return folder


class SpyEmbedder:
    """Embeds words by their hashes, and remembers every text."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.seen += texts
        return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.01] * 32
    for word in text.lower().split():
        vector[hashlib.md5(word.strip(".,").encode()).digest()[0] % 32] += 1.0
    return vector


def opened(folder: Path, **options: object) -> tuple[Index, PrivateView]:
    """An index in a folder, and a private view of it that reveals nothing."""
    index = Index.open(folder / "kb", splitter=SPLITTER, **options)  # type: ignore[arg-type]
    return index, private_view(index, fixed_vault(folder / "vault.db"), known=KNOWN)


def is_in_the_clear(content: bytes | str) -> list[str]:
    """The secrets in a value."""
    text = content if isinstance(content, str) else content.decode(errors="replace")
    return [secret for secret in SECRETS if secret.casefold() in text.casefold()]
