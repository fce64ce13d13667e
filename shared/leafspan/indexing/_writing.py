"""Splits and embeds documents, writes and deletes them, and finishes the work of killed writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from leafspan.checks import STRUCTURE_KEY, calling, is_unicode, shown, unusable
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
from leafspan.embedding import CheckedEmbedder, Embed, blend, embed_in_batches
from leafspan.errors import ConcurrentUpdate, DamagedIndex, IndexMismatch, InvalidArgument, InvalidDocument, WriterBusy
from leafspan.files import FileDocument, page_starts
from leafspan.filters import constant, to_filter
from leafspan.flows import Call, Flow
from leafspan.indexing._known_files import file_values
from leafspan.splitting import (
    MARKDOWN,
    Cut,
    HierarchicalSplitter,
    Layout,
    Splitter,
    breaks_between,
    check_cuts,
    layout_of,
    to_cuts,
)
from leafspan.store import HIDDEN_KEY, DocumentToWrite, Reader, Row, Scope, Store, read_consistently
from leafspan.text import UnicodeErrors
from leafspan.values import Document, Leaf

Forget = Callable[[Sequence[str]], Flow[None]]  # a flow that deletes what was derived from documents, by their stored ids


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """What all writes through one view share."""

    store: Store
    settings: IndexSettings
    embedder: CheckedEmbedder
    embed: Embed
    scope: Scope | None
    timeout: float  # seconds to wait for another writer
    unicode_errors: UnicodeErrors
    forget: Forget


class NewVersion(NamedTuple):
    document: Document  # as it will be stored
    hash: str  # of its content
    old: Row | None = None  # its existing row
    language: str | None = None  # the code of its language, if it is certain


@dataclass(frozen=True, slots=True)
class SplitDocument:
    document: Document
    row: Row  # its row in the manifest
    leaves: Sequence[Leaf]
    texts: Sequence[str]  # for each leaf, the text to embed
    heads: Sequence[str]  # for each leaf, the title and headings to index, or an empty text

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
    new: NewVersion,
    settings: IndexSettings,
    done: Callable[[int], None] = lambda _: None,
    extra: Mapping[str, Any] = MappingProxyType({}),
    stored_layout: tuple[Layout | None, int] = (None, 0),
) -> SplitDocument:
    """Cut a document into leaves.

    ``extra`` has further values of its row. ``stored_layout`` is the layout of a stored text and the lines before it in its
    file.
    """
    document, hash_, old, language = new
    version = hash_[8:16] if old is not None and old.version == hash_[:8] and old.hash != hash_ else hash_[:8]
    layout, before = stored_layout
    if isinstance(document, FileDocument):
        extra = {**extra, **file_values(document)}
        layout, before = document.layout or layout_of(document.text, document.markup), document.lines_before
        if document.parts:
            layout = layout._replace(breaks=breaks_between(document.text, page_starts(document.text, document.parts)))
    layout = layout or layout_of(document.text, MARKDOWN)
    try:
        leaves = make_leaves(document, version, _cuts(document, layout, settings.splitter, done))
    except InvalidDocument as error:
        raise InvalidDocument(f"document {shown(document.id)} cannot be split: {error}") from error
    row = row_of(document, hash_, leaves, layout, before, language, extra, version)
    texts = indexed_texts(document, leaves, context_sentences=settings.context_sentences)
    return SplitDocument(document, row, leaves, texts, indexed_heads(document.title, row.sections, len(leaves)))


def row_of(
    document: Document,
    hash_: str,
    leaves: Sequence[Leaf],
    layout: Layout,
    lines_before: int,
    language: str | None,
    extra: Mapping[str, Any],
    version: str,
) -> Row:
    """Return the row of a document with these leaves. It has ``lines_before`` lines before it in its file."""
    of_parts = document.chunks or place_of(document.metadata)
    return Row(
        document.id,
        hash_,
        version,
        len(leaves),
        title=document.title,
        metadata=document.metadata,
        language=language,
        sections=tuple(find_sections(leaves, layout.headings, layout.tables)) if leaves else (),
        characters=len(document.text),
        words=leaves[0].ancestors[-1].words if leaves else 0,
        # A text that was joined from chunks, or is a piece of one, has no known line numbers.
        lines="" if of_parts else moved_down(pack_lines(document.text, leaves), lines_before),
        extra={
            **extra,
            **({"chunks": True} if document.chunks else {}),
            **({HIDDEN_KEY: list(document.hidden)} if document.hidden else {}),
        },
    )


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
    text = document.text
    with calling("the splitter", splitter, text, of=f"document {shown(document.id)}"):
        cuts = to_cuts(splitter, splitter(text))
    try:
        check_cuts(cuts, text)
    except InvalidDocument as error:
        rule = f"return cuts that partition the text of document {shown(document.id)} ({error})"
        raise unusable("the splitter", splitter, rule, cuts, text) from error
    return cuts


@dataclass(slots=True)
class Group:
    """Documents that are written together."""

    documents: Sequence[SplitDocument]
    vectors: Sequence[Any]  # a matrix for each document, with a row for each leaf
    derived: Mapping[str, Any] = field(default_factory=dict)  # what was derived from all of them for search, by name

    @property
    def leaves(self) -> int:
        return sum(len(split.leaves) for split in self.documents)

    @property
    def characters(self) -> int:
        return sum(len(split.document.text) for split in self.documents)


def vectors_of(
    documents: Sequence[SplitDocument],
    settings: IndexSettings,
    embed: Embed,
    embedding: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> Flow[list[Any]]:
    """Return a matrix for each document, with a row for each leaf."""
    texts = [text for split in documents for text in split.texts]
    heads = [head for split in documents for head in split.heads]
    vectors = iter((yield from embed_leaves(texts, heads, settings, embed, embedding)))
    return [list(islice(vectors, len(split.leaves))) for split in documents]


def embed_leaves(
    texts: Sequence[str],
    heads: Sequence[str],
    settings: IndexSettings,
    embed: Embed,
    embedding: Callable[[int], Callable[[int], None]] = lambda _: lambda _: None,
) -> Flow[Sequence[Any]]:
    """Return the vector of each leaf, from its text, and the title and headings above it.

    ``embedding`` gets the number of texts, and returns a function that counts embedded texts.
    """
    weight = settings.title_weight
    rows = {head: row for row, head in enumerate(dict.fromkeys(filter(None, heads)))} if weight else {}
    vectors = yield from embed_in_batches(embed, [*texts, *rows], embedding(len(texts) + len(rows)))
    if not texts:
        return []
    head_of = [*map(rows.get, heads)]
    return (yield Call(blend, (vectors[: len(texts)], vectors[len(texts) :], head_of, weight)))  # type: ignore[no-any-return]


def write_group(
    target: WriteTarget, group: Group, row_keys: Set[str] = frozenset(), wrote: Callable[[int], None] = lambda _: None
) -> Flow[dict[str, bool]]:
    """Write whole documents, except those that are stored with the same content, and return whether each replaced one.

    Only the rows store the metadata under ``row_keys``.
    """
    scope = target.scope
    with (yield from target.store.start_writing(target.timeout, [each.document.id for each in group.documents])) as writer:
        yield from writer.recover()
        replaces: dict[str, bool] = {}
        to_write = []
        for split, matrix in zip(group.documents, group.vectors, strict=True):
            old = writer.rows.get(split.document.id)
            if scope and old and old.version is not None and not scope.sees(old):
                raise ConcurrentUpdate("another process has written the same ids meanwhile; add the documents again")
            if scope and old and not (yield from writer.shows_all_leaves(old, scope)):
                raise DamagedIndex(
                    f"document {split.document.id!r} is damaged and belongs to another view: delete it through the index",
                    split.document.id,
                )
            # Another writer may have written the same content first.
            if old is None or old.hash != split.row.hash:
                to_write.append((split, matrix))
            replaces[split.document.id] = old is not None
        if to_write:
            derived = group.derived if len(to_write) == len(group.documents) else None
            yield from writer.replace((yield Call(_with_vectors, (to_write, row_keys))), wrote, derived)
        return replaces


def _with_vectors(documents: Sequence[tuple[SplitDocument, Any]], row_keys: Set[str]) -> list[DocumentToWrite]:
    """Return the documents with everything stored of them: for a whole group, this would block an event loop."""
    return [split.with_vectors(matrix, row_keys) for split, matrix in documents]


def finish(store: Store, ids: Sequence[str]) -> Flow[None]:
    """Finish a killed writer's half-done work on unchanged documents, unless another writer is at work."""
    try:
        writer = yield from store.start_writing(0.0, ids)
    except WriterBusy:
        return
    with writer:
        yield from writer.recover()


def finish_interrupted(store: Store) -> Flow[None]:
    """Finish a killed, failed or interrupted writer's work in a folder, before rows decide what must be written.

    Otherwise the next writer would finish that work later, and its result could contradict a decision made from old rows,
    such as "this document is unchanged".
    """
    if store.interrupted:
        yield from finish(store, ())


def delete_documents(
    target: WriteTarget, ids: Iterable[str], *, versions: Mapping[str, str | None] | None = None, dry_run: bool = False
) -> Flow[list[str]]:
    """Delete documents, and return the ids of those that existed. With versions, only those that still have them."""
    if isinstance(ids, str) or not isinstance(ids, Iterable) or getattr(ids, "ndim", 1) == 0:
        meant = f"; did you mean [{shown(ids)}]?" if isinstance(ids, str) else ""
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}{meant}")
    ids = list(ids)
    if not all(isinstance(id_, str) for id_ in ids):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}")
    wanted = [str.__str__(id_) for id_ in ids if id_ and is_unicode(id_)]  # no document can have another id
    store, scope = target.store, target.scope
    if dry_run:
        rows = yield from read_consistently(store, partial(Reader.rows, ids=wanted), scope)
        return [id_ for id_ in dict.fromkeys(wanted) if id_ in rows and rows[id_].version is not None]
    touched = wanted
    if scope:
        yield from finish_interrupted(store)
        # On a server, a writer also finishes interrupted work on the documents it names, which may belong to another view.
        places = [stored for id_ in wanted for stored in scope.stored_ids(id_)]
        rows = yield from read_consistently(store, partial(Reader.rows, ids=places))
        # Also documents that were half deleted through this view, or half written for the first time.
        touched = [
            id_
            for id_, row in rows.items()
            if scope.sees(row) or is_half_deleted(row, scope) or (row.version is None and id_.endswith(scope.suffixes))
        ]
    yield from target.forget(touched)
    with (yield from store.start_writing(target.timeout, touched)) as writer:
        yield from writer.recover()
        find = writer.rows.get if scope is None else partial(scope.find, rows=writer.rows)
        current = {id_: row for id_ in wanted if (row := find(id_)) is not None}
        if versions is not None:
            current = {id_: row for id_, row in current.items() if row.version == versions.get(id_)}
        if scope:
            for id_, row in list(current.items()):
                if not (yield from writer.shows_all_leaves(row, scope)):
                    del current[id_]  # it was moved to another view before it was damaged
        if current:
            yield from writer.delete(list(current.values()))
        return list(current)


def delete_matching(target: WriteTarget, where: object, *, dry_run: bool = False) -> Flow[list[str]]:
    """Delete the documents that match a filter, and return their ids in order."""
    condition = to_filter(where)
    if condition is None or constant(condition):
        raise InvalidArgument(f"where must have a condition that says what to delete, got {shown(where)}")
    store, scope = target.store, target.scope

    def matching(reader: Reader) -> Flow[tuple[dict[str, Row], list[str]]]:
        catalogue = yield from reader.catalogue()
        ids = sorted(filter(None, map(catalogue.shown_id, catalogue.select(condition).ids)))
        everything = yield from reader.everything()
        half_deleted = [
            id_
            for id_, row in everything.rows.items()
            if is_half_deleted(row, scope) and condition.matches(row.filterable, id_)
        ]
        return {id_: catalogue.rows[id_] for id_ in ids}, half_deleted

    if not dry_run:
        yield from finish_interrupted(store)
    rows, half_deleted = yield from read_consistently(store, matching, scope)
    if half_deleted and not dry_run:
        yield from finish(store, half_deleted)
    if dry_run or not rows:
        return list(rows)
    versions = {id_: row.version for id_, row in rows.items()}
    return (yield from delete_documents(target, rows, versions=versions))


def is_half_deleted(row: Row, scope: Scope | None) -> bool:
    """Whether a killed or failed deletion has left a document half deleted that the view had shown.

    The view no longer shows it, so a deletion must look for it to finish it. A document that another process is writing
    for the first time has no current version either, but its row has no length yet.
    """
    if row.version is not None or not (row.characters or not any(leaves for _, leaves in row.leftovers)):
        return False
    return scope is None or scope.where.matches(row.filterable, row.document_id)
