"""Adding and deleting documents, as flows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from leafspan.engine import Flow
from leafspan.errors import InvalidArgument, InvalidDocument, WriterBusy
from leafspan.leaves import find_sections, indexed_texts, make_leaves
from leafspan.progress import Progress
from leafspan.reading import reading
from leafspan.splitting import Splitter, find_headings
from leafspan.store import Reader, Row, Store, Writer
from leafspan.values import Document, Leaf

_LOOK = 256  # documents looked up in the manifest at a time
_EMBED = 512  # texts given to the embedder at a time


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


Embed = Callable[[Sequence[str]], Flow[Any]]


def content_hash(document: Document) -> str:
    """A hash of everything that is stored of a document."""
    content = [document.text, document.title, sorted(document.metadata.items())]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def prepare(document: Document, splitter: Splitter, *, context_sentences: int, old: Row | None) -> Prepared:
    """Cut a document into leaves, under a version that differs from the one that counts now.

    Raises:
        InvalidDocument: if the splitter's cuts do not partition the text.
    """
    digest = content_hash(document)
    version = digest[8:16] if old is not None and old.version == digest[:8] and old.hash != digest else digest[:8]
    try:
        leaves = make_leaves(document, version, splitter(document.text))
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
        words=sum(leaf.words for leaf in leaves),
    )
    return Prepared(document, row, leaves, indexed_texts(document, leaves, sections, context_sentences=context_sentences))


def adding(
    store: Store,
    embed: Embed,
    documents: Iterable[Document],
    *,
    splitter: Splitter,
    context_sentences: int,
    timeout: float,
    progress: Progress,
) -> Flow[Added]:
    """Write documents group by group, each group as large as Chroma takes at once; unchanged ones are skipped."""
    done: dict[str, bool] = {}
    unchanged = 0
    unfinished: list[str] = []
    seen: set[str] = set()
    group: list[Prepared] = []
    stream = iter(documents)
    while chunk := list(islice(stream, _LOOK)):
        for document in chunk:
            if document.id in seen:
                raise InvalidDocument(f"document {document.id!r} occurs twice in one add; ids must differ")
            seen.add(document.id)
        ids = [document.id for document in chunk]
        rows = yield from reading(store, partial(Reader.rows, ids=ids))
        for document in chunk:
            old = rows.get(document.id)
            if old is not None and old.version is not None and old.hash == content_hash(document):
                unchanged += 1
                if old.litter:
                    unfinished.append(document.id)
                progress.advance(1)
                continue
            prepared = prepare(document, splitter, context_sentences=context_sentences, old=old)
            if group and sum(len(p.leaves) for p in group) + len(prepared.leaves) > store.batch:
                done.update((yield from _write(store, embed, group, timeout, progress)))
                group = []
            group.append(prepared)
    if group:
        done.update((yield from _write(store, embed, group, timeout, progress)))
    if unfinished or (store.interrupted and not done):
        yield from _finish(store, unfinished)
    new = tuple(id_ for id_, was_there in done.items() if not was_there)
    return Added(new, tuple(id_ for id_, was_there in done.items() if was_there), unchanged)


def deleting(store: Store, ids: Sequence[str], *, timeout: float) -> Flow[list[str]]:
    """Delete documents; the ids of those that were there."""
    if isinstance(ids, str) or not all(isinstance(id_, str) for id_ in ids):
        raise InvalidArgument(f"ids must be a list of strings, got {ids!r}")
    writer = yield from store.start_writing(timeout, ids)
    try:
        yield from recover(writer)
        rows = [writer.rows[id_] for id_ in dict.fromkeys(ids) if id_ in writer.rows]
        if rows:
            yield from writer.delete(rows)
        return [row.document_id for row in rows]
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


def _write(
    store: Store, embed: Embed, group: Sequence[Prepared], timeout: float, progress: Progress
) -> Flow[dict[str, bool]]:
    """Embed a group, without holding up other writers, then write it; which documents, and whether they were there."""
    vectors = []
    for texts in _pieces([text for prepared in group for text in prepared.texts], _EMBED):
        vectors.append((yield from embed(texts)))
        progress.embedded(len(texts))
    matrices = iter(row for matrix in vectors for row in matrix)
    written = [(p, list(islice(matrices, len(p.leaves)))) for p in group]
    writer = yield from store.start_writing(timeout, [prepared.document.id for prepared in group])
    try:
        yield from recover(writer)
        done = {}
        documents = []
        for prepared, matrix in written:
            old = writer.rows.get(prepared.document.id)
            # Another writer may have come first: with the same content there is nothing left to do.
            if old is None or old.hash != prepared.row.hash:
                documents.append((prepared.document, prepared.row, prepared.leaves, matrix))
            done[prepared.document.id] = old is not None
        if documents:
            yield from writer.replace(documents)
    finally:
        writer.stop()
    progress.advance(len(group))
    return done


def _pieces(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]
