"""The indexes that search a store. They are derived from it, and can be made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leafspan.documents import IndexSettings
from leafspan.engine import Flow
from leafspan.mirror import Mirror, VectorCopy
from leafspan.search._words import LexicalIndex
from leafspan.store import Catalogue, DocumentToWrite, Store


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """A store with the indexes that search it.

    Attributes:
        store: The store.
        words: Its lexical index.
        vectors: A copy of its vectors for exact search, for a store in a folder. None for others.
    """

    store: Store
    words: LexicalIndex
    vectors: Mirror | None

    @classmethod
    def of(cls, store: Store, settings: IndexSettings) -> SearchIndexes:
        """The indexes of a store, which are loaded when they are first needed.

        Args:
            store: The store.
            settings: How its documents are indexed.
        """
        words = LexicalIndex(store.cache_folder, settings.analyzer, settings.bm25)
        indexes = cls(store, words, Mirror(store.cache_folder, VectorCopy()) if store.embedded else None)
        store.follower = indexes.take
        return indexes

    def take(self, documents: Sequence[DocumentToWrite], catalogue: Catalogue | None) -> Flow[None]:
        """Index documents that have just been written, so that no question has to read them back: see ``Mirror.take``."""
        yield from self.words.take(documents, catalogue)
        if self.vectors is not None:
            yield from self.vectors.take(documents, catalogue)
