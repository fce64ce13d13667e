"""A document cut into leaves, ready to be embedded and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from leafspan.errors import IndexMismatch, InvalidDocument
from leafspan.files import FileDocument, page_starts
from leafspan.indexing._known_files import file_values, lines_before, markup_of
from leafspan.splitting import Cut, HierarchicalSplitter, Layout, Splitter, breaks_between, check_cuts, layout_of, to_cuts
from leafspan.store import HIDDEN_KEY, DocumentToWrite, Row, Store
from leafspan.values import Document, Leaf


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document with its leaves.

    Attributes:
        document: The document.
        row: Its row in the manifest.
        leaves: Its leaves.
        texts: For each leaf, the text to embed.
        heads: For each leaf, the title and headings to index, or an empty text.
        row_keys: Metadata keys that only the row stores.
    """

    document: Document
    row: Row
    leaves: Sequence[Leaf]
    texts: Sequence[str]
    heads: Sequence[str]
    row_keys: frozenset[str] = frozenset()

    def noting(self, values: Mapping[str, Any]) -> SplitDocument:
        """Return the same with further values in its row."""
        return replace(self, row=replace(self.row, extra={**self.row.extra, **values}))

    def with_vectors(self, vectors: Any) -> DocumentToWrite:
        """Return what is stored of the document: each leaf's text, place, vector, and the document's metadata."""
        document = self.document
        texts = [document.text[leaf.start : leaf.end] for leaf in self.leaves]
        own = [chunk.metadata for chunk in document.chunks] or [{}] * len(texts)
        shared = {key: value for key, value in document.metadata.items() if key not in self.row_keys}
        # The document's values win, since filters and scopes use them.
        metadatas = [
            {**more, **shared, STRUCTURE_KEY: pack_place(leaf)} for more, leaf in zip(own, self.leaves, strict=True)
        ]
        return DocumentToWrite(self.row, texts, metadatas, vectors)


def check_splitter(store: Store, settings: IndexSettings) -> None:
    """Check that documents can be split with the index's splitter.

    Raises:
        IndexMismatch: if the index needs a user's own splitter that was not passed again.
    """
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
    """Cut a document into leaves.

    Raises:
        InvalidDocument: if the document's chunks do not partition the text.
        FunctionFailed: if the splitter fails, or does not return cuts that partition the text.
    """
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
    """Return the cuts of a user's own splitter.

    Raises:
        FunctionFailed: if the splitter fails, or does not return cuts that partition the text.
    """
    text = document.text
    with calling("the splitter", splitter, text, of=f"document {shown(document.id)}"):
        cuts = to_cuts(splitter, splitter(text))
    try:
        check_cuts(cuts, text)
    except InvalidDocument as error:
        rule = f"return cuts that partition the text of document {shown(document.id)} ({error})"
        raise unusable("the splitter", splitter, rule, cuts, text) from error
    return cuts
