"""An index in a folder, for servers in separate processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import Document, Index


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed index with a document of tenant a, and one of tenant b."""
    folder = tmp_path_factory.mktemp("served") / "kb"
    with Index.open(folder) as index:
        index.add(Document("bees.md", "# Bees\n\nKarl von Frisch decoded the dance.\n", "Bees", {"tenant": "a"}))
        index.add(Document("vault.md", "The code of the vault is xyzzy.\n", metadata={"tenant": "b"}))
    return folder
