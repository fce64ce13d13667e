"""What is derived from a store to search it, and can be made again from it."""

from __future__ import annotations

from dataclasses import dataclass

from leafspan.documents import IndexSettings
from leafspan.mirror import Mirror, VectorCopy
from leafspan.search._words import LexicalIndex
from leafspan.store import Store


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """A store with its indexes: one for words, and for a store in a folder a copy of the vectors in a file."""

    store: Store
    words: LexicalIndex
    vectors: Mirror | None

    @classmethod
    def of(cls, store: Store, settings: IndexSettings) -> SearchIndexes:
        """The indexes of a store. They are loaded when they are first needed."""
        words = LexicalIndex(store.cache_folder, settings.analyzer, settings.bm25)
        return cls(store, words, Mirror(store.cache_folder, VectorCopy()) if store.embedded else None)
