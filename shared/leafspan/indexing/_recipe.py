"""How the documents of another edition of an index are made: with other vectors, or other leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import IndexSettings, indexed_heads, indexed_texts, unpack_place
from leafspan.embedding import Embed
from leafspan.files import Parts, page_starts
from leafspan.flows import Call, Flow
from leafspan.indexing._contents import put_together
from leafspan.indexing._known_files import hash_of, lines_before, markup_of
from leafspan.indexing._writing import NewVersion, embed_leaves, split_document
from leafspan.splitting import Heading, Layout, breaks_between, layout_of
from leafspan.store import PARTS_KEY, DocumentToWrite, Reader, Row, Store, read_consistently
from leafspan.values import Document, Leaf


class Prepared(NamedTuple):
    """A document of an edition, without its vectors."""

    document: DocumentToWrite
    texts: Sequence[str]  # for each leaf, the text to embed
    heads: Sequence[str]  # for each leaf, the title and headings to embed


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an edition's documents are made from another edition's documents."""

    settings: IndexSettings
    embed: Embed
    has_other_leaves: bool  # whether its leaves are others

    @property
    def of_summaries(self) -> Recipe:
        """The recipe for trees, whose summaries have no neighbours."""
        return replace(self, settings=replace(self.settings, context_sentences=0))

    def key(self, row: Row) -> object:
        """Return what is equal in the rows of a document and of the one that is made from it."""
        extra = {key: value for key, value in row.extra.items() if key != COPIED_KEY}
        return (row.hash, extra) if self.has_other_leaves else replace(row, leftovers=(), extra=extra)

    def prepared(self, source: Store, ids: Sequence[str]) -> Flow[list[Prepared]]:
        """Return documents with the texts to embed, without documents that are gone."""
        prepare = self._cut if self.has_other_leaves else self._copied
        stored = yield from read_consistently(source, partial(stored_documents, ids=ids))
        return (yield Call(list, (map(prepare, stored),)))  # type: ignore[no-any-return]  # it would block an event loop

    def embedded(self, prepared: Sequence[Prepared]) -> Flow[list[DocumentToWrite]]:
        """Return the documents with their vectors."""
        texts = [text for each in prepared for text in each.texts]
        heads = [head for each in prepared for head in each.heads]
        vectors = iter((yield from embed_leaves(texts, heads, self.settings, self.embed)))
        return [each.document._replace(vectors=[next(vectors) for _ in each.texts]) for each in prepared]

    def _copied(self, stored: DocumentToWrite) -> Prepared:
        row, indexed = stored.row, stored.texts
        if self.settings.context_sentences:
            document = Document(row.document_id, "".join(stored.texts))
            indexed = indexed_texts(document, _leaves(stored), context_sentences=self.settings.context_sentences)
        return Prepared(stored, indexed, indexed_heads(row.title, row.sections, row.leaves))

    def _cut(self, stored: DocumentToWrite) -> Prepared:
        row, texts, metadatas, _ = stored
        document = put_together(row, list(zip(_leaves(stored), texts, metadatas, strict=True)))
        assert document is not None  # trees are not cut
        new = NewVersion(document, row.hash or hash_of(document), replace(row, hash=""), row.language)
        layout = _layout(row, document.text, texts), lines_before(row.extra)
        split = split_document(new, self.settings, extra=row.extra, stored_layout=layout)
        row_keys = document.metadata.keys() - metadatas[0].keys() if metadatas else ()
        return Prepared(split.with_vectors((), frozenset(row_keys)), split.texts, split.heads)


def stored_documents(reader: Reader, ids: Sequence[str]) -> Flow[list[DocumentToWrite]]:
    """Return documents with everything stored of them but the vectors, without documents that are gone."""
    rows = [row for row in (yield from reader.rows(ids)).values() if row.version is not None]
    records = yield from reader.fetch_records([id_ for row in rows for id_ in row.record_ids])
    documents = []
    for row in rows:
        texts, metadatas = zip(*(records[id_] for id_ in row.record_ids), strict=True) if row.leaves else ((), ())
        documents.append(DocumentToWrite(row, texts, metadatas, ()))
    return documents


def count_texts(prepared: Sequence[Prepared], recipe: Recipe) -> int:
    """Return how many texts are embedded for these documents."""
    heads = {head for each in prepared for head in each.heads if head} if recipe.settings.title_weight else ()
    return sum(len(each.texts) for each in prepared) + len(heads)


def _leaves(stored: DocumentToWrite) -> list[Leaf]:
    places = zip(stored.row.leaf_ids, stored.metadatas, strict=True)
    return [unpack_place(leaf, metadata[STRUCTURE_KEY]) for leaf, metadata in places]


def _layout(row: Row, text: str, leaves: Sequence[str]) -> Layout:
    """Return a stored text's structure. Headings that its file had without marks in the text begin with their leaves."""
    layout = layout_of(text, markup_of(row.extra))
    if not layout.headings:
        starts = [0, *accumulate(map(len, leaves))]
        headings = [
            Heading(starts[each.first], starts[each.first], each.depth, each.text)
            for each in row.sections
            if each.depth <= _DEEPEST
        ]
        layout = layout._replace(headings=headings)
    packed = row.extra.get(PARTS_KEY) or []
    parts = [
        Parts(unit, first, steps if isinstance(steps, int) else list(accumulate(steps)), name)
        for unit, first, steps, name in packed
    ]
    return layout._replace(breaks=breaks_between(text, page_starts(text, parts))) if parts else layout


_DEEPEST = 6  # depth of a heading; the headers of tables are deeper
COPIED_KEY = "copied_from"  # the key in a row's further values for the id of the index that the document was copied from
