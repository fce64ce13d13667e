"""The indexes that search a store. They are made from the store, and can be made again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leafspan.documents import IndexSettings
from leafspan.engines import Field
from leafspan.flows import Flow
from leafspan.search._document_names import DocumentNames
from leafspan.search._words import LexicalIndex
from leafspan.segments import Mirror, RecordCopy, Shelf, VectorCopy, WordPostings, mirrors_of, records_in, vectors_in
from leafspan.store import Catalogue, Copied, Derived, DocumentToWrite, Reader, Store


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """A store with the indexes that search it."""

    store: Store
    words: LexicalIndex
    vectors: Mirror | None  # for exact search; None behind a client
    records: Mirror | None  # texts, places and metadata of leaves; None behind a client
    names: DocumentNames = field(default_factory=DocumentNames)  # the names of its documents, made at first use

    @classmethod
    def of(cls, store: Store, settings: IndexSettings) -> SearchIndexes:
        """Make the indexes of a store. They are loaded when they are first needed."""
        shelf = None if store.segments_table is None else partial(Shelf, store.segments_table, store.id)
        mirror = mirrors_of(store.cache_folder, shelf, read_only=store.cache_read_only)
        analyzer = settings.analyzer
        words = LexicalIndex(None if analyzer is None else mirror(WordPostings(analyzer)), analyzer, settings.bm25)
        vectors, records = (mirror(each) if store.embedded else None for each in (VectorCopy(), RecordCopy()))
        indexes = cls(store, words, vectors, records)
        store.follower = indexes.follow
        if store.embedded:
            store.copied = indexes._copied
        return indexes

    @property
    def copies(self) -> list[Mirror]:
        """All copies of stored data."""
        return [each for each in (self.words.copy, self.vectors, self.records) if each is not None]

    def close(self) -> None:
        """Close the store. A closed store in a folder cannot be used any more, so its copies are released, too."""
        self.store.close()
        if self.store.embedded:
            self.words.close()
            self.names.close()
            for copy in (self.vectors, self.records):
                if copy is not None:
                    copy.close()

    def keep_up(self, reader: Reader) -> Flow[None]:
        """Bring the copy of the leaves up to date, from which queries read the leaves that they have found."""
        if self.records is not None:
            yield from self.records.current(reader)

    def _copied(self, catalogue: Catalogue, ids: Iterable[str], fields: Collection[Field]) -> Flow[Copied]:
        assert self.records is not None
        assert self.vectors is not None
        if "vector" in fields:
            return vectors_in((yield from self.vectors.at_hand(catalogue)), ids)
        return records_in((yield from self.records.at_hand(catalogue)), ids, fields)

    def follow(self, documents: Sequence[DocumentToWrite], ready: Mapping[str, Any]) -> Flow[Derived]:
        """Index documents while they are written, so that no query has to read them again: see ``Mirror.make``."""
        made = []
        for copy in self.copies:
            if (segment := (yield from copy.make(documents, ready))) is not None:
                made.append((copy, segment))

        def keep() -> Flow[None]:
            for copy, segment in made:
                yield from copy.take(segment)

        def tidy(load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
            for copy, _ in made:
                yield from copy.tidy(load)

        return Derived(keep, tidy)
