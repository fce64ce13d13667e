"""The parts of an open index that a retrieval uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leafspan.embedding import CheckedEmbedder
from leafspan.retrieval._limits import Defaults
from leafspan.search import SearchIndexes
from leafspan.store import Store
from leafspan.text import UnicodeErrors
from leafspan.trees import Trees


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of an open index."""

    indexes: SearchIndexes  # the store of the documents, and the indexes that search it
    embedder: CheckedEmbedder
    trees: Trees
    defaults: Defaults  # strategy and limits for calls without their own
    reopen: Callable[[], Any] | None = None
    unicode_errors: UnicodeErrors = "strict"  # how to treat documents and questions with half of a surrogate pair

    @property
    def store(self) -> Store:
        """The store of the documents."""
        return self.indexes.store

    def close(self) -> None:
        """Close the stores."""
        self.indexes.close()
        self.trees.close()
