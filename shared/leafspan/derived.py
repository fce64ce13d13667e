"""What is derived from a store, and can be made anew of it."""

from __future__ import annotations

from leafspan.matching import WordSearch
from leafspan.mirror import Mirror
from leafspan.mirror.vector_copy import VectorCopy
from leafspan.settings import Indexing
from leafspan.store import Store


def derived(store: Store, indexing: Indexing) -> tuple[WordSearch, Mirror | None]:
    """The search by words, and for a store in a folder the vectors once more, in a file."""
    words = WordSearch(store.cache_folder, indexing.analyzer, indexing.bm25)
    return words, Mirror(store.cache_folder, VectorCopy()) if store.embedded else None
