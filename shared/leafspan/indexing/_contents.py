"""The content of an index: documents, their texts and leaves, and the text around a passage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from leafspan.checks import STRUCTURE_KEY, check_whole, is_unicode, shown
from leafspan.documents import IndexSettings, content_hash, copy_metadata, with_language
from leafspan.embedding import CheckedEmbedder
from leafspan.engines import StaleRead
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.filters import Where
from leafspan.flows import Call, Flow
from leafspan.indexing._known_files import content_in_file
from leafspan.spans import grown_within
from leafspan.store import (
    Catalogue,
    Reader,
    Row,
    Scope,
    Store,
    StoredLeaf,
    Totals,
    leaf_passage,
    outline_of,
    read_consistently,
)
from leafspan.text import first_words
from leafspan.trees import Trees, count_trees
from leafspan.values import Chunk, Document, Leaf, LeafId, Passage, run_of_id, short_id

_USUAL_REACH = 2  # leaves on each side of a passage
_FIRST_REACH = 16  # leaves to read on each side at first, if only a number of words limits them


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document's properties, without its text.

    Attributes:
        id: Its id.
        title: Its title.
        metadata: Its metadata.
        leaves: Length in leaves.
        words: Length in words.
        characters: Length in characters.
        hidden: Metadata keys that no language model may see: see ``Document``.
        language: Code of its language, such as ``en``. None if it is not certain.
    """

    id: str
    title: str | None
    metadata: Mapping[str, object]
    leaves: int
    words: int
    characters: int
    hidden: tuple[str, ...] = ()
    language: str | None = None

    def __repr__(self) -> str:
        title = "" if self.title is None else f", title={first_words(self.title)}"
        return f"DocumentInfo({short_id(self.id)}{title}, {self.leaves:,} leaves, {self.words:,} words)"


@dataclass(frozen=True, slots=True)
class Stats:
    """An index in numbers, and what it was made with.

    Attributes:
        documents: Number of documents.
        leaves: Number of leaves.
        words: Length of all texts in words.
        characters: Length of all texts in characters.
        embedder: Name of the embedder, None before the first document.
        dimension: Dimensions of its vectors, None before the first document.
        splitter: The splitter.
        context_sentences: Number of sentences from the previous and the next leaf that are indexed with each leaf.
        title_weight: Weight of title and headings in a leaf's vector.
        analyzer: The analyzer.
        trees: Number of documents whose tree is up to date.
        summaries: Number of summaries.
        layers: Layers of the highest tree.
        languages: Number of documents by code of their language, most frequent first. Those whose language is not certain
            are left out.
        spare: Name of the spare edition that ``Index.reembed`` has left or not finished, None without one.
    """

    documents: int
    leaves: int
    words: int
    characters: int
    embedder: str | None
    dimension: int | None
    splitter: str
    context_sentences: int
    title_weight: float
    analyzer: str
    trees: int
    summaries: int
    layers: int
    languages: Mapping[str, int] = field(default_factory=dict)
    spare: str | None = None

    def __repr__(self) -> str:
        trees = f", {self.trees:,} trees" if self.trees else ""
        return (
            f"Stats({self.documents:,} documents, {self.leaves:,} leaves, {self.words:,} words{trees}, "
            f"embedder={self.embedder!r})"
        )


def summaries_of(stats: Stats) -> str:
    """Describe the summaries as text: ``12 summaries in 2 layers``."""
    summaries = "1 summary" if stats.summaries == 1 else f"{stats.summaries:,} summaries"
    return f"{summaries} in {stats.layers} {'layer' if stats.layers == 1 else 'layers'}"


def index_stats(
    store: Store, embedder: CheckedEmbedder, trees: Trees, settings: IndexSettings, scope: Scope | None
) -> Flow[Stats]:
    """Return figures about the index, or about the part that ``scope`` shows."""

    def read(reader: Reader) -> Flow[Totals]:
        return (yield from _catalogue(reader)).totals

    totals = yield from read_consistently(store, read, scope)
    identity = yield from embedder.identity()
    counts = yield from count_trees(store, trees, scope)
    return Stats(
        documents=totals.documents,
        leaves=totals.leaves,
        words=totals.words,
        characters=totals.characters,
        embedder=identity.name if identity else None,
        dimension=identity.dimension if identity else None,
        splitter=store.settings["splitter"],
        context_sentences=settings.context_sentences,
        title_weight=settings.title_weight,
        analyzer=store.settings["analyzer"],
        trees=counts.trees,
        summaries=counts.summaries,
        layers=counts.layers,
        languages=dict(totals.languages),
        spare=None if scope else (yield from store.editions()).spare,
    )


def count_documents(store: Store, scope: Scope | None) -> Flow[int]:
    """Return the number of documents. No row is unpacked."""

    def read(reader: Reader) -> Flow[int]:
        return (yield from _catalogue(reader)).count

    return read_consistently(store, read, scope)


def _catalogue(reader: Reader) -> Flow[Catalogue]:
    catalogue = yield from reader.whole_catalogue()
    reader.warn_of_left_out()
    return catalogue


def list_documents(store: Store, where: Where | None, part: slice, scope: Scope | None = None) -> Flow[list[DocumentInfo]]:
    """Return a part of the documents that match a filter, sorted by id."""
    return [
        DocumentInfo(
            row.document_id,
            row.title,
            copy_metadata(row.metadata),
            row.leaves,
            row.words,
            row.characters,
            row.hidden,
            row.language,
        )
        for row in (yield from read_consistently(store, partial(_rows, where=where, part=part), scope))
    ]


def value_counts(documents: Iterable[DocumentInfo], key: str | None, *, hidden: bool = True) -> list[tuple[Any, int]]:
    """A metadata key's values, or all keys, each with its number of documents, most frequent first."""
    counts: Counter[tuple[bool, Any]] = Counter()
    for each in documents:
        metadata = with_language(each.metadata, each.language)
        keys = [name for name in metadata if hidden or name not in each.hidden]
        value = keys if key is None else metadata[key] if key in keys else []
        # Filters compare numbers of all types, but True is not 1.
        counts.update({(isinstance(item, bool), item) for item in (value if isinstance(value, list) else [value])})
    return sorted(((value, count) for (_, value), count in counts.items()), key=lambda entry: (-entry[1], str(entry[0])))


def get_document(store: Store, document_id: str, scope: Scope | None = None) -> Flow[Document]:
    """Return a document with its text."""

    def read(reader: Reader) -> Flow[Document]:
        reader = reader.raising()
        row = yield from _current_row(reader, document_id)
        ids = row.leaf_ids
        if row.extra.get("chunks"):
            stored = yield from _leaves(reader, ids)
            texts = {id_: each.text for id_, each in stored.items()}
            chunks = chunks_of_leaves(row, [(stored[id_].leaf, stored[id_].metadata) for id_ in ids])
        else:
            texts, chunks = (yield from reader.fetch(ids)) if ids else {}, ()
        text = "".join(texts[id_] for id_ in ids)
        outline = outline_of(row, ((0, row.leaves - 1),) if ids else (), [texts[id_] for id_ in ids])
        document = Document(row.document_id, text, row.title, copy_metadata(row.metadata), chunks, outline, row.hidden)
        if (problem := (yield Call(problem_of_content, (row, document)))) is not None:
            raise reader.error({document_id: problem})
        return document

    return read_consistently(store, read, scope)


def list_leaves(store: Store, document_id: str | None, scope: Scope | None = None) -> Flow[list[Passage]]:
    """Return the leaves of one document, or of all documents, as passages with score 0."""

    def read(reader: Reader) -> Flow[list[Passage]]:
        if document_id is not None:
            reader = reader.raising()
            rows = [(yield from _current_row(reader, document_id))]
        else:
            rows = yield from _rows(reader)
        stored = yield from _leaves(reader, [id_ for row in rows for id_ in row.leaf_ids])
        texts = {id_: leaf.text for id_, leaf in stored.items()}
        return [
            leaf_passage(leaf.span, texts, row, stored[id_].metadata, ancestors=leaf.ancestors)
            for row in rows
            for id_ in row.leaf_ids
            for leaf in (stored[id_].leaf,)
        ]

    return read_consistently(store, read, scope)


def surrounding_text(
    store: Store, passage: object, before: int | None, after: int | None, words: int | None, scope: Scope | None = None
) -> Flow[Passage]:
    """Return a passage with the leaves around it, as one passage with score 0."""
    usual = _USUAL_REACH if words is None else None  # None: no limit
    before = usual if before is None else check_whole("before", before, 0)
    after = usual if after is None else check_whole("after", after, 0)
    most_words = None if words is None else check_whole("words", words, 1)
    target = _target(passage)

    def read(reader: Reader) -> Flow[Passage]:
        reader = reader.raising()
        row = yield from _row_around(reader, target)
        first, last = (yield from _ordinals(reader, row, target)) if isinstance(target, Citation) else target[1:]
        if not first <= last < row.leaves:
            raise InvalidArgument(f"document {row.document_id!r} has {row.leaves} leaves, got {first} to {last}")
        lowest = 0 if before is None else max(0, first - before)
        highest = row.leaves - 1 if after is None else min(row.leaves - 1, last + after)
        leaves: dict[int, StoredLeaf] = {}
        step = row.leaves if most_words is None else _FIRST_REACH
        while True:
            begin, end = max(lowest, first - step), min(highest, last + step)
            ordinals = [each for each in range(begin, end + 1) if each not in leaves]
            stored = yield from _leaves(reader, [LeafId(row.document_id, row.version or "", each) for each in ordinals])
            leaves |= {each.leaf.ordinal: each for each in stored.values()}
            sizes = {ordinal: each.leaf.words for ordinal, each in leaves.items()}
            chosen = (begin, end) if most_words is None else grown_within(first, last, begin, end, sizes, most_words)
            # Perhaps too few leaves were read: check that the text could not have grown beyond them.
            if (chosen[0] > begin or begin == lowest) and (chosen[1] < end or end == highest):
                break
            step *= 2
        span = replace(leaves[chosen[0]].leaf.span, last=chosen[1])
        texts = {each.leaf.id: each.text for each in leaves.values()}
        # The metadata of a single chunk do not hold for the text around it.
        return leaf_passage(span, texts, row, leaves[first].metadata if span.size == 1 else row.metadata)

    return read_consistently(store, read, scope)


MOST_DIGITS = 12  # of a character's number in a citation
_CITATION = re.compile(rf"(?s)(.*):(\d{{1,{MOST_DIGITS}}})-(\d{{1,{MOST_DIGITS}}})", re.ASCII)


class Citation(NamedTuple):
    """A range of characters of a document. As text it is ``{document_id}:{start}-{end}``."""

    document_id: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.document_id}:{self.start}-{self.end}"

    @classmethod
    def parse(cls, text: str) -> Citation:
        """Read a citation from its text."""
        match = _CITATION.fullmatch(text)
        if match is None or int(match[2]) >= int(match[3]):
            raise InvalidArgument(
                f"citation must be like handbook.md:120-480, as search returns it, got {shown(text)}; to read from a "
                "document's start, give document_id"
            )
        return cls(match[1], int(match[2]), int(match[3]))


def place_cited(passage: object) -> tuple[object, str]:
    """The place that a citation names, and the text that it quotes; or another value unchanged, and an empty text.

    A citation is its text, or an object of a host or a model's answer that has this text as its source.
    """

    def value(name: str) -> Any:
        return passage.get(name) if isinstance(passage, Mapping) else getattr(passage, name, None)

    more = value("extras")  # where LangChain keeps what its citations have no field for
    source = passage if isinstance(passage, str) else value("source") or (isinstance(more, Mapping) and more.get("source"))
    if not isinstance(source, str) or run_of_id(source) is not None or (match := _CITATION.fullmatch(source)) is None:
        return passage, ""
    quoted = value("cited_text") or getattr(value("cited_content"), "text", None)
    metadata = {"doc_id": match[1], "start": int(match[2]), "end": int(match[3])}
    return SimpleNamespace(metadata=metadata), quoted if isinstance(quoted, str) else ""


class _Run(NamedTuple):
    """The leaves of a passage."""

    of: LeafId
    first: int
    last: int


def _target(passage: object) -> _Run | Citation:
    """Return the leaves of a passage, or its place."""
    id_ = passage if isinstance(passage, str) else getattr(passage, "node_id", None) or getattr(passage, "id", None)
    if (run := run_of_id(id_ if isinstance(id_, str) else None)) is not None:
        if run[0].is_summary:
            raise InvalidArgument(
                f"a summary has no surroundings, got {shown(id_)}: pass a leaf that it covers: passage.summary.leaf_ids"
            )
        return _Run(run[0], run[0].ordinal, run[1])
    metadata = getattr(passage, "metadata", None)
    if isinstance(metadata, Mapping):
        document_id, start, end = (metadata.get(key) for key in ("doc_id", "start", "end"))
        if isinstance(document_id, str) and type(start) is int and type(end) is int and start < end:
            return Citation(document_id, start, end)
    raise InvalidArgument(
        "passage must be a Passage of a document of the index, a Document or node that leafspan has made of one, its id, "
        f"or a citation, got {shown(passage)}"
    )


def _row_around(reader: Reader, target: _Run | Citation) -> Flow[Row]:
    """Return the row of a passage's document."""
    document_id = target.document_id if isinstance(target, Citation) else target.of.document_id
    row = yield from _find_row(reader, document_id)
    if row is None:
        raise DocumentNotFound(f"there is no document {shown(document_id)} in the index (any more): retrieve again")
    if isinstance(target, _Run) and row.version != target.of.version:
        raise DocumentNotFound(
            f"document {document_id!r} has been replaced, version {target.of.version} is not in the index any more: "
            "retrieve again"
        )
    return row


def _ordinals(reader: Reader, row: Row, citation: Citation) -> Flow[tuple[int, int]]:
    """Return the ordinals of the first and the last leaf at a place."""
    places = [each.leaf for each in (yield from _leaves(reader, row.leaf_ids)).values()]
    inside = [place.ordinal for place in places if place.start < citation.end and place.end > citation.start]
    if not inside:
        raise InvalidArgument(
            f"document {row.document_id!r} has {row.characters} characters, got {citation.start} to {citation.end}"
        )
    return min(inside), max(inside)


def _leaves(reader: Reader, ids: Sequence[LeafId]) -> Flow[dict[LeafId, StoredLeaf]]:
    stored = yield from reader.fetch_leaves(ids)
    if len(stored) < len(ids):
        raise StaleRead
    return stored


def _rows(reader: Reader, where: Where | None = None, part: slice = slice(0, None)) -> Flow[list[Row]]:
    """Return the rows of a part of the documents that match a filter, sorted by id. Only these rows are unpacked."""
    catalogue = yield from _catalogue(reader)
    if where is not None or part != slice(0, None):
        ids = sorted(filter(None, map(catalogue.shown_id, catalogue.select(where).ids)))
        return [catalogue.rows[id_] for id_ in ids[part]]
    return [row for _, row in sorted(catalogue.unpacked().rows.items()) if row.version is not None]


def _current_row(reader: Reader, document_id: str) -> Flow[Row]:
    row = yield from _find_row(reader, document_id)
    if row is None:
        raise (yield from reader.catalogue()).lacks(document_id)
    return row


def _find_row(reader: Reader, document_id: str) -> Flow[Row | None]:
    """Return a document's row, or None if there is no such document."""
    rows = (yield from reader.rows([document_id])) if is_unicode(document_id) else {}  # other ids cannot be stored
    row = rows.get(document_id)
    if row is not None and row.damage is not None:
        raise reader.error({document_id: row.damage.problem})
    return None if row is None or row.version is None else row


def problem_of_content(row: Row, document: Document) -> str | None:
    """Return what is wrong with a document whose leaves are all stored, or None if it is whole."""
    if len(document.text) != row.characters:
        return f"its leaves have {len(document.text)} characters, and it had {row.characters}"
    if row.hash and content_hash(document, content_in_file(row.extra)) == row.hash:
        return None
    # Each leaf is as it was written. The hash is empty because something else is missing, or chunks have metadata under
    # keys of the document, and the leaves have only the document's values.
    return None if not row.hash or document.chunks else "its title, metadata or text is not as it was added"


def put_together(row: Row, leaves: Sequence[tuple[Leaf, str, Mapping[str, Any]]]) -> Document | None:
    """Put a document together from its leaves, their texts and metadata, as stored.

    None for a tree, since its hash is not computed from its summaries.
    """
    if LeafId(row.document_id, row.version or "", 0).is_summary:
        return None
    chunks = chunks_of_leaves(row, [(leaf, own) for leaf, _, own in leaves]) if row.extra.get("chunks") else ()
    text = "".join([text for _, text, _ in leaves])
    return Document(row.document_id, text, row.title, copy_metadata(row.metadata), chunks, hidden=row.hidden)


def chunks_of_leaves(row: Row, leaves: list[tuple[Leaf, Mapping[str, Any]]]) -> tuple[Chunk, ...]:
    """Return the chunks that a document was added with, from its leaves and their metadata."""
    return tuple(Chunk(leaf.end, _own(metadata, row.metadata)) for leaf, metadata in leaves)


def _own(metadata: Mapping[str, object], shared: Mapping[str, object]) -> dict[str, object]:
    """Return a chunk's metadata without its document's metadata."""
    copied = copy_metadata({key: value for key, value in metadata.items() if key != STRUCTURE_KEY})
    return {key: value for key, value in copied.items() if key not in shared}
