"""Where a retrieval's answers come from."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.checked_embedder import CheckedEmbedder
from leafspan.matching import WordSearch
from leafspan.mirror import Mirror
from leafspan.mirror.vector_copy import VectorCopy
from leafspan.settings import Indexing
from leafspan.store import Store


@dataclass(frozen=True, slots=True)
class Sources:
    """``copy``: the vectors once more, in a file, for an index in a folder."""

    store: Store
    embedder: CheckedEmbedder
    words: WordSearch
    copy: Mirror | None

    @classmethod
    def of(cls, store: Store, embedder: CheckedEmbedder, indexing: Indexing) -> Sources:
        """The sources of an index."""
        folder = store.cache_folder
        words = WordSearch(folder, indexing.analyzer, indexing.bm25)
        return cls(store, embedder, words, Mirror(folder, VectorCopy()) if store.embedded else None)
