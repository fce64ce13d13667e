"""The indexes that search a store. They are made from the store, and can be made again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafspan.documents import IndexSettings
from leafspan.engines import Field
from leafspan.flows import Call, Flow
from leafspan.search._name_table import DocumentNames
from leafspan.search._words import LexicalIndex
from leafspan.segments import (
    Mirror,
    Recipe,
    RecordCopy,
    Segment,
    SharedMirror,
    Shelf,
    VectorCopy,
    WordPostings,
    records_in,
    vectors_in,
)
from leafspan.store import Catalogue, Copied, DocumentToWrite, Reader, Store
from leafspan.strategies import ListLeaves
from leafspan.values import Hit, LeafId


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

        def mirror(recipe: Recipe) -> Mirror:
            if store.segments_table is not None and store.cache_folder is not None:
                return SharedMirror(store.cache_folder, Shelf(store.segments_table, store.id, recipe.name), recipe)
            return Mirror(store.cache_folder, recipe, read_only=store.cache_read_only)

        analyzer = settings.analyzer
        words = LexicalIndex(None if analyzer is None else mirror(WordPostings(analyzer)), analyzer, settings.bm25)
        vectors, records = (mirror(each) if store.embedded else None for each in (VectorCopy(), RecordCopy()))
        indexes = cls(store, words, vectors, records)
        store.copies = indexes
        return indexes

    @property
    def copies(self) -> list[Mirror]:
        """All copies of stored data."""
        return [each for each in (self.words.mirror, self.vectors, self.records) if each is not None]

    def close(self) -> None:
        """Close the store. A closed store in a folder cannot be used any more, so its copies are released, too."""
        self.store.close()
        if self.store.embedded:
            self.words.close()
            self.names.close()
            for copy in (self.vectors, self.records):
                if copy is not None:
                    copy.close()

    def refresh(self, reader: Reader) -> Flow[None]:
        """Bring the copy of the leaves up to date, from which queries read the leaves that they have found."""
        if self.records is not None:
            yield from self.records.current(reader)

    def read(self, catalogue: Catalogue, leaves: Iterable[LeafId], fields: Collection[Field]) -> Flow[Copied]:
        """Read fields of leaves by their stored ids. Leaves that the existing segments lack are left out."""
        assert self.records is not None
        assert self.vectors is not None
        if "vector" in fields:
            return vectors_in((yield from self.vectors.existing(catalogue)), leaves)
        return records_in((yield from self.records.existing(catalogue)), leaves, fields)

    def derive(self, documents: Sequence[DocumentToWrite], made: Mapping[str, Any]) -> Flow[list[tuple[Mirror, Segment]]]:
        """Make segments of documents while they are written, so that no query has to read them again.

        ``made`` has the arrays that workers have made of the same documents, by recipe.
        """
        documents = [each for each in documents if each.texts]
        segments: list[tuple[Mirror, Segment]] = []
        for copy in self.copies if documents else ():
            segment = yield Call(copy.made_of, (documents, made.get(copy.name)))
            if segment is not None:
                segments.append((copy, segment))
        return segments

    def keep(self, derived: list[tuple[Mirror, Segment]]) -> Flow[None]:
        for copy, segment in derived:
            yield from copy.append(segment)

    def merge(self, derived: list[tuple[Mirror, Segment]], load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
        for copy, _ in derived:
            yield from copy.merge_appended(load)


def page_of_leaves(reader: Reader, request: ListLeaves) -> Flow[list[Hit]]:
    """One page of the visible leaves whose documents match a filter. Each leaf has a score of 1.

    The order is by document id, then position.
    """
    visible = yield from reader.whole_catalogue(request.where)
    matching = visible.select(request.where).ids
    hits: list[Hit] = []
    skip = request.offset
    for document_id, row in sorted(visible.rows.items()):
        if len(hits) >= request.count:
            break
        if visible.stored_id(document_id) not in matching:
            continue
        if skip >= row.leaves:
            skip -= row.leaves
            continue
        stop = min(row.leaves, skip + request.count - len(hits))
        hits += [Hit(LeafId(document_id, row.version or "", ordinal), 1.0) for ordinal in range(skip, stop)]
        skip = 0
    return hits
