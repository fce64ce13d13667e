"""Adding and deleting documents, as flows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from leafspan.blending import blend
from leafspan.documents import read_documents
from leafspan.embedding import embedding
from leafspan.engine import Call, Flow
from leafspan.errors import IndexMismatch, InvalidArgument, InvalidDocument, Overtaken, WriterBusy
from leafspan.leaves import find_sections, indexed_heads, indexed_texts, make_leaves
from leafspan.progress import Progress
from leafspan.reading import reading
from leafspan.scope import Scope
from leafspan.settings import Indexing
from leafspan.splitting import find_headings
from leafspan.store import Coming, Reader, Row, Store, Writer
from leafspan.structure import STRUCTURE_KEY, pack
from leafspan.values import Document, Leaf

_LOOK = 256  # documents looked up in the manifest at a time


@dataclass(frozen=True, slots=True)
class Added:
    """What an ``add`` did: ids of new and of replaced documents, and how many were there already, unchanged."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written, but for its vectors."""

    document: Document
    row: Row
    leaves: Sequence[Leaf]
    texts: Sequence[str]
    heads: Sequence[str]


Embed = Callable[[Sequence[str]], Flow[Any]]


def content_hash(document: Document) -> str:
    """A hash of everything that is stored of a document."""
    content = [document.text, document.title, sorted(document.metadata.items())]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def prepare(document: Document, digest: str, indexing: Indexing, old: Row | None = None) -> Prepared:
    """Cut a document of this content hash into leaves, under a version that differs from the one that counts now.

    Raises:
        InvalidDocument: if the splitter's cuts do not partition the text.
    """
    version = digest[8:16] if old is not None and old.version == digest[:8] and old.hash != digest else digest[:8]
    try:
        leaves = make_leaves(document, version, indexing.splitter(document.text) if indexing.splitter else ())
    except InvalidDocument as error:
        raise InvalidDocument(f"document {document.id!r} cannot be split: {error}") from error
    sections = find_sections(leaves, find_headings(document.text)) if leaves else []
    row = Row(
        document.id,
        digest,
        version,
        len(leaves),
        title=document.title,
        metadata=document.metadata,
        sections=tuple(sections),
        characters=len(document.text),
        words=leaves[0].ancestors[-1].words if leaves else 0,
    )
    texts = indexed_texts(document, leaves, context_sentences=indexing.context_sentences)
    return Prepared(document, row, leaves, texts, indexed_heads(document.title, sections, len(leaves)))


def adding_any(
    store: Store,
    embed: Embed,
    documents: Iterable[object] | object,
    *,
    indexing: Indexing,
    timeout: float,
    show: bool | None,
    scope: Scope | None = None,
) -> Flow[Added]:
    """Like ``adding``, of whatever a user adds; a list is looked through before anything is written."""
    if indexing.splitter is None:
        recorded = store.settings["splitter"]
        raise IndexMismatch(f"the index was made with the splitter {recorded}; open it with that splitter to add to it")
    checked: Iterable[Document] = read_documents(documents)
    total = None
    if isinstance(documents, Sequence):
        checked = every = yield Call(list, (checked,))
        total = len(every)
    progress = Progress(total, show=show)
    try:
        flow = adding(store, embed, checked, indexing=indexing, timeout=timeout, progress=progress, scope=scope)
        return (yield from flow)
    finally:
        progress.close()


def adding(
    store: Store,
    embed: Embed,
    documents: Iterable[Document],
    *,
    indexing: Indexing,
    timeout: float,
    progress: Progress,
    scope: Scope | None = None,
) -> Flow[Added]:
    """Write documents group by group, each group as large as Chroma takes at once; unchanged ones are skipped."""
    shown: dict[str, str] = {}  # by stored id
    done: dict[str, bool] = {}
    unchanged = 0
    unfinished: list[str] = []
    seen: set[str] = set()
    group: list[Prepared] = []
    size = 0  # of the group, in leaves

    def write(group: Sequence[Prepared]) -> Flow[dict[str, bool]]:
        vectors = yield from _embed(embed, group, indexing.title_weight, progress)
        return (yield from _write(store, group, vectors, timeout, progress, scope))

    stream = iter(documents)
    while chunk := (yield Call(_next, (stream,))):
        for document in chunk:
            if document.id in seen:
                raise InvalidDocument(f"document {document.id!r} occurs twice in one add; ids must differ")
            seen.add(document.id)
        ids = [id_ for document in chunk for id_ in (scope.stored_ids(document.id) if scope else [document.id])]
        rows = yield from reading(store, partial(Reader.rows, ids=ids))
        for given in chunk:
            document = given if scope is None else scope.stamped(given, scope.place(given.id, rows))
            shown[document.id] = given.id
            old = rows.get(document.id)
            digest = yield Call(content_hash, (document,))
            if old is not None and old.version is not None and old.hash == digest:
                unchanged += 1
                if old.litter:
                    unfinished.append(document.id)
                progress.advance(1)
                continue
            prepared = yield Call(prepare, (document, digest, indexing, old))
            full = size + len(prepared.leaves) > store.batch or len(group) == store.batch
            if group and full:
                done.update((yield from write(group)))
                group, size = [], 0
            group.append(prepared)
            size += len(prepared.leaves)
    if group:
        done.update((yield from write(group)))
    if unfinished or (store.interrupted and not done):
        yield from _finish(store, unfinished)
    new = tuple(shown[id_] for id_, was_there in done.items() if not was_there)
    return Added(new, tuple(shown[id_] for id_, was_there in done.items() if was_there), unchanged)


def deleting(
    store: Store,
    wanted: Iterable[str],
    *,
    timeout: float,
    scope: Scope | None = None,
    forget: Callable[[Sequence[str]], Flow[None]] | None = None,
) -> Flow[list[str]]:
    """Delete documents; the ids of those that were there.

    ``forget``: deletes what was made of documents, by stored ids. It is called first: where it is the last that is done,
    the documents are still there, and can be deleted again.
    """
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise InvalidArgument(f"ids must be a list of strings, got {wanted!r}")
    ids = list(wanted)
    if not all(isinstance(id_, str) for id_ in ids):
        raise InvalidArgument(f"ids must be a list of strings, got {ids!r}")
    touched = ids
    if scope:
        # Behind a server a writer finishes what is half done of the documents it names; these might be somebody else's.
        places = [stored for id_ in ids for stored in scope.stored_ids(id_)]
        rows = yield from reading(store, partial(Reader.rows, ids=places))
        touched = [id_ for id_, row in rows.items() if scope.sees(row)]
    if forget is not None:
        yield from forget(touched)
    writer = yield from store.start_writing(timeout, touched)
    try:
        yield from recover(writer)
        find = writer.rows.get if scope is None else partial(scope.find, rows=writer.rows)
        found = {id_: row for id_ in ids if (row := find(id_)) is not None}
        if found:
            yield from writer.delete(list(found.values()))
        return list(found)
    finally:
        writer.stop()


def recover(writer: Writer) -> Flow[list[Row]]:
    """Finish what a killed writer left half done of the documents that this one may touch; their rows."""
    half_done = [row for row in writer.rows.values() if row.litter or row.version is None]
    yield from writer.clear(half_done)
    return half_done


def _finish(store: Store, ids: Sequence[str]) -> Flow[None]:
    """Finish what a killed writer left half done of documents that are unchanged, unless another is at work."""
    try:
        writer = yield from store.start_writing(0.0, ids)
    except WriterBusy:
        return
    try:
        yield from recover(writer)
    finally:
        writer.stop()


def _embed(embed: Embed, group: Sequence[Prepared], title_weight: float, progress: Progress) -> Flow[list[Any]]:
    """The vectors of a group: a matrix for each document, a row for each leaf."""
    texts = [text for prepared in group for text in prepared.texts]
    heads = [head for prepared in group for head in prepared.heads]
    places = {head: place for place, head in enumerate(dict.fromkeys(filter(None, heads)))} if title_weight else {}
    vectors = yield from embedding(embed, [*texts, *places], progress.embedded)
    if not texts:
        return [[] for _ in group]
    rows = [*map(places.get, heads)]
    blended = iter((yield Call(blend, (vectors[: len(texts)], vectors[len(texts) :], rows, title_weight))))
    return [list(islice(blended, len(prepared.leaves))) for prepared in group]


def _write(
    store: Store,
    group: Sequence[Prepared],
    vectors: Sequence[Any],
    timeout: float,
    progress: Progress,
    scope: Scope | None,
) -> Flow[dict[str, bool]]:
    """Write a group; which documents, and whether they were there."""
    writer = yield from store.start_writing(timeout, [prepared.document.id for prepared in group])
    try:
        yield from recover(writer)
        done = {}
        documents = []
        for prepared, matrix in zip(group, vectors, strict=True):
            old = writer.rows.get(prepared.document.id)
            if scope and old and old.version is not None and not scope.sees(old):
                raise Overtaken("somebody else has written meanwhile; add the documents again")
            # Another writer may have come first: with the same content there is nothing left to do.
            if old is None or old.hash != prepared.row.hash:
                documents.append(_coming(prepared, matrix))
            done[prepared.document.id] = old is not None
        if documents:
            yield from writer.replace(documents)
    finally:
        writer.stop()
    progress.advance(len(group))
    return done


def _coming(prepared: Prepared, vectors: Any) -> Coming:
    """What is stored of each leaf: its text, its document's metadata, and its place."""
    document, leaves = prepared.document, prepared.leaves
    texts = [document.text[leaf.start : leaf.end] for leaf in leaves]
    metadatas = [{**document.metadata, STRUCTURE_KEY: pack(leaf)} for leaf in leaves]
    return Coming(prepared.row, texts, metadatas, vectors)


def _next(documents: Iterator[Document]) -> list[Document]:
    """Some more documents, which may be files yet to be read."""
    return list(islice(documents, _LOOK))
