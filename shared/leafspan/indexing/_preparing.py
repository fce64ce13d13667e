"""Prepares documents for writing: splits and embeds them, and analyses their words. Workers do so in other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from leafspan.checks import STRUCTURE_KEY, calling, shown, unusable
from leafspan.documents import (
    IndexSettings,
    find_sections,
    indexed_heads,
    indexed_texts,
    make_leaves,
    moved_down,
    pack_lines,
    pack_place,
    place_of,
)
from leafspan.embedding import Embed, blend, embed_in_batches
from leafspan.errors import IndexMismatch, InvalidDocument, LeafspanError
from leafspan.files import FileDocument, page_starts
from leafspan.flows import Call, Flow, run
from leafspan.indexing._known_files import file_values, lines_before, markup_of
from leafspan.segments import WordPostings
from leafspan.splitting import Cut, HierarchicalSplitter, Layout, Splitter, breaks_between, check_cuts, layout_of, to_cuts
from leafspan.store import HIDDEN_KEY, DocumentToWrite, Row, Store
from leafspan.values import Document, Leaf


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document with its leaves."""

    document: Document
    row: Row  # its row in the manifest
    leaves: Sequence[Leaf]
    texts: Sequence[str]  # for each leaf, the text to embed
    heads: Sequence[str]  # for each leaf, the title and headings to index, or an empty text

    def noting(self, values: Mapping[str, Any]) -> SplitDocument:
        """Return the same with further values in its row."""
        return replace(self, row=replace(self.row, extra={**self.row.extra, **values}))

    def with_vectors(self, vectors: Any, row_keys: Set[str] = frozenset()) -> DocumentToWrite:
        """Return what is stored of the document: each leaf's text, place, vector, and the document's metadata."""
        document = self.document
        texts = [document.text[leaf.start : leaf.end] for leaf in self.leaves]
        own = [chunk.metadata for chunk in document.chunks] or [{}] * len(texts)
        shared = {key: value for key, value in document.metadata.items() if key not in row_keys}
        # The document's values win, since filters and scopes use them.
        metadatas = [
            {**more, **shared, STRUCTURE_KEY: pack_place(leaf)} for more, leaf in zip(own, self.leaves, strict=True)
        ]
        return DocumentToWrite(self.row, texts, metadatas, vectors)


def check_splitter(store: Store, settings: IndexSettings) -> None:
    """Check that documents can be split with the index's splitter."""
    if settings.splitter is None:
        recorded = store.settings["splitter"]
        raise IndexMismatch(f"the index was made with the splitter {recorded}; open it with that splitter to add to it")


def split_document(
    document: Document,
    hash_: str,
    settings: IndexSettings,
    language: str | None = None,
    old: Row | None = None,
    done: Callable[[int], None] = lambda _: None,
) -> SplitDocument:
    """Cut a document into leaves."""
    version = hash_[8:16] if old is not None and old.version == hash_[:8] and old.hash != hash_ else hash_[:8]
    of_file = file_values(document)
    known = document.layout if isinstance(document, FileDocument) else None
    layout = known or layout_of(document.text, markup_of(of_file))
    if isinstance(document, FileDocument) and document.parts:
        layout = layout._replace(breaks=breaks_between(document.text, page_starts(document.text, document.parts)))
    try:
        leaves = make_leaves(document, version, _cuts(document, layout, settings.splitter, done))
    except InvalidDocument as error:
        raise InvalidDocument(f"document {shown(document.id)} cannot be split: {error}") from error
    sections = find_sections(leaves, layout.headings, layout.tables) if leaves else []
    of_parts = document.chunks or place_of(document.metadata)
    row = Row(
        document.id,
        hash_,
        version,
        len(leaves),
        title=document.title,
        metadata=document.metadata,
        language=language,
        sections=tuple(sections),
        characters=len(document.text),
        words=leaves[0].ancestors[-1].words if leaves else 0,
        # A text that was joined from chunks, or is a piece of one, has no known line numbers.
        lines="" if of_parts else moved_down(pack_lines(document.text, leaves), lines_before(of_file)),
        extra={
            **of_file,
            **({"chunks": True} if document.chunks else {}),
            **({HIDDEN_KEY: list(document.hidden)} if document.hidden else {}),
        },
    )
    texts = indexed_texts(document, leaves, context_sentences=settings.context_sentences)
    return SplitDocument(document, row, leaves, texts, indexed_heads(document.title, sections, len(leaves)))


def _cuts(document: Document, layout: Layout, splitter: Splitter | None, done: Callable[[int], None]) -> Sequence[Cut]:
    """Return the cuts of the document's text: the ends of its chunks, or else the splitter's cuts."""
    text, ends = document.text, [chunk.end for chunk in document.chunks]
    default = splitter if isinstance(splitter, HierarchicalSplitter) else None
    if default and not ends:
        return default.cuts(text, layout, done)
    if ends:
        cuts: Sequence[Cut] = default.above(text, ends, layout) if default else [*map(Cut, ends)]
    else:
        cuts = _cut_by(splitter, document) if splitter else ()
    done(len(text))  # other splitters do not report progress
    return cuts


def _cut_by(splitter: Splitter, document: Document) -> list[Cut]:
    """Return the cuts of a user's own splitter."""
    text = document.text
    with calling("the splitter", splitter, text, of=f"document {shown(document.id)}"):
        cuts = to_cuts(splitter, splitter(text))
    try:
        check_cuts(cuts, text)
    except InvalidDocument as error:
        rule = f"return cuts that partition the text of document {shown(document.id)} ({error})"
        raise unusable("the splitter", splitter, rule, cuts, text) from error
    return cuts


_CHARACTERS = 100_000  # per task, about 400 leaves
_DOCUMENTS = 256


class ToPrepare(NamedTuple):
    """A new or changed document."""

    document: Document  # the document as it will be stored
    hash: str  # the hash of its content
    old: Row | None  # its existing row, if any
    language: str | None  # the code of its language, if it is certain


class Prepared(NamedTuple):
    """Documents that are ready for writing."""

    documents: Sequence[SplitDocument]  # the documents, cut into leaves
    vectors: Sequence[Any]  # a matrix for each document, with a row for each leaf
    derived: Mapping[str, Any]  # what was derived from all of them for search, by name


@dataclass(frozen=True)
class Preparation:
    """What preparing documents takes. It can be sent to another process."""

    settings: IndexSettings  # the index's settings
    embed: Embed  # embeds texts


def prepare(preparation: Preparation, portion: Sequence[ToPrepare]) -> Prepared:
    """Return documents that are ready for writing."""
    documents = [
        split_document(each.document, each.hash, preparation.settings, each.language, each.old) for each in portion
    ]
    vectors = run(vectors_of(documents, preparation.settings, preparation.embed))
    assert preparation.settings.analyzer is not None
    recipe = WordPostings(preparation.settings.analyzer)
    to_write = [split.with_vectors(matrix) for split, matrix in zip(documents, vectors, strict=True) if split.leaves]
    try:
        derived = {recipe.name: recipe.of(to_write)} if to_write else {}
    except LeafspanError:  # the writer tries again, and can do without it
        derived = {}
    return Prepared(documents, vectors, derived)


def vectors_of(
    documents: Sequence[SplitDocument],
    settings: IndexSettings,
    embed: Embed,
    embedding: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> Flow[list[Any]]:
    """Return a matrix for each document, with a row for each leaf.

    ``embedding`` gets the number of texts, and returns a function that counts embedded texts.
    """
    texts = [text for split in documents for text in split.texts]
    heads = [head for split in documents for head in split.heads]
    weight = settings.title_weight
    rows = {head: row for row, head in enumerate(dict.fromkeys(filter(None, heads)))} if weight else {}
    vectors = yield from embed_in_batches(embed, [*texts, *rows], embedding(len(texts) + len(rows)))
    if not texts:
        return [[] for _ in documents]
    head_of = [*map(rows.get, heads)]
    blended = iter((yield Call(blend, (vectors[: len(texts)], vectors[len(texts) :], head_of, weight))))
    return [list(islice(blended, len(split.leaves))) for split in documents]


def is_full(portion: Sequence[ToPrepare]) -> bool:
    """Whether these documents are enough work for a worker."""
    return len(portion) >= _DOCUMENTS or sum(len(each.document.text) for each in portion) >= _CHARACTERS
