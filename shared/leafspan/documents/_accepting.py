"""Turns everything that a user may add into documents as they will be stored."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import warn

from leafspan.checks import RESERVED_ID_PREFIX, shown
from leafspan.documents._frameworks import ForeignDocument, described, made_id, recognise, source_of
from leafspan.documents._metadata import check_size, clean_metadata, flatten, storable
from leafspan.errors import InvalidDocument
from leafspan.files import FileReading, Files
from leafspan.text import UnicodeErrors, without_surrogates
from leafspan.values import Chunk, Document

MOST_CHARACTERS_OF_ID = 100_000  # the most characters of a document's id; each leaf's id starts with it


def read_documents(
    things: Any,
    reading: FileReading | None = None,
    *,
    flatten_metadata: bool = False,
    unicode_errors: UnicodeErrors = "strict",
    skip_bad: bool = False,
) -> Iterator[Document]:
    """Yield the documents that a user adds, as they will be stored, in order."""
    reading = reading or FileReading(check_document)
    pieces = Counter[str]()
    for thing in [things] if is_single(things) else things:
        if isinstance(thing, Path | Files):
            yield from reading.read(thing if isinstance(thing, Files) else Files(thing))
        else:
            document = recognise(thing)
            if isinstance(document, ForeignDocument):  # perhaps a piece that a splitter has made of a source
                source = document.source or ("start_index" in document.metadata and source_of(document.metadata))
                if source:
                    pieces[source] += 1
            if unicode_errors == "replace":
                document = without_surrogates(document)
            try:
                checked = reading.check(document, flatten_metadata=flatten_metadata)
            except InvalidDocument as error:
                if not skip_bad:
                    raise
                reading.skip_document(_id_of(document), str(error))
                continue
            yield checked
    if pieces and max(pieces.values()) > 1:
        warn(
            f"{pieces.total()} of the documents are pieces of longer texts, so windows, parents and merging end where a "
            "piece ends: add leafspan.chunks_of(pieces), whose documents have the pieces as leaves",
            UserWarning,
            stacklevel=2,
        )


def _id_of(document: Document | ForeignDocument) -> str:
    """Return the id of a document that cannot be stored, or "" if it has no valid id."""
    try:
        return _checked_id(document.id)
    except InvalidDocument:
        return ""


def distinct(documents: Iterable[Document]) -> Iterator[tuple[Document, str]]:
    """Yield each document once, in order, with the hash of its content."""
    seen: dict[str, str] = {}
    for document in documents:
        hash_ = content_hash(document)
        if document.id not in seen:
            seen[document.id] = hash_
            yield document, hash_
        elif seen[document.id] != hash_:
            raise InvalidDocument(
                f"two different documents of one add have the id {shown(document.id)}, so one would replace the "
                "other: give each an id of its own, or put chunks of one text together with chunks_of"
            )


def content_hash(document: Document, of_file: Mapping[str, object] | None = None) -> str:
    """Return a hash of everything that is stored of a document, including its place in its file."""
    content: list[object] = [document.text, document.title, sorted(document.metadata.items())]
    if document.chunks:
        content.append([(chunk.end, sorted(chunk.metadata.items())) for chunk in document.chunks])
    if document.hidden:
        content.append({"hidden": sorted(document.hidden)})
    if of_file:
        content.append(of_file)
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def is_single(things: object) -> bool:
    """Whether it is one document or path. A framework's Document is iterable too, over its fields."""
    # A numpy array without dimensions cannot be iterated.
    single = isinstance(things, str | bytes | Mapping) or not isinstance(things, Iterable) or not getattr(things, "ndim", 1)
    return single or hasattr(things, "page_content") or hasattr(things, "node_id")


def to_document(thing: object, *, flatten_metadata: bool = False, volatile_keys: Collection[str] = ()) -> Document:
    """Return one thing as a document, as it will be stored.

    The title of a framework's Document is the ``title`` in its metadata. A Document without an id of its own gets one that
    tells it apart from every other: see ``made_id``.
    """
    return check_document(recognise(thing), flatten_metadata=flatten_metadata, volatile_keys=volatile_keys)


def with_any_metadata(thing: object) -> Document:
    """Like ``to_document``, for a framework's document that is only split, and so may have any metadata.

    The metadata are those that an index stores with ``flatten_metadata``. If some cannot be stored, a hash of them
    replaces them, which tells the document apart from others.
    """
    document = recognise(thing)
    return check_document(replace(document, metadata=storable(document.metadata)))


def check_document(
    document: Document | ForeignDocument, *, flatten_metadata: bool = False, volatile_keys: Collection[str] = ()
) -> Document:
    id_ = _name(document) if isinstance(document, ForeignDocument) and document.id is None else _checked_id(document.id)
    for name, value in (("text", document.text), ("title", "" if document.title is None else document.title)):
        if not isinstance(value, str):
            raise InvalidDocument(f"the {name} of document {shown(id_)} must be a string, got {type(value).__name__}")
        _check_unicode(id_, name, value)
    metadata = _stored_metadata(id_, document.metadata, flat=flatten_metadata)
    chunks = tuple(_checked_chunks(id_, document, metadata, flat=flatten_metadata))
    hidden = _checked_hidden(id_, document, metadata, chunks)
    if isinstance(document, ForeignDocument) and document.id is None:
        id_ = _checked_id(
            made_id(
                document.text, metadata, source=document.source, position=document.position, volatile_keys=volatile_keys
            )
        )
    return Document(id_, document.text, document.title, metadata, chunks, hidden=hidden)


def _checked_id(id_: object) -> str:
    if not isinstance(id_, str) or not id_:
        raise InvalidDocument(f"a document's id must be a non-empty string, got {shown(id_)}")
    if id_.startswith(RESERVED_ID_PREFIX):
        raise InvalidDocument(f"a document's id must not begin with {RESERVED_ID_PREFIX!r}, got {shown(id_)}")
    if len(id_) > MOST_CHARACTERS_OF_ID:
        raise InvalidDocument(
            f"a document's id must have at most {MOST_CHARACTERS_OF_ID:,} characters, got {len(id_):,}: {shown(id_)}"
        )
    _check_unicode(id_, "id", id_)
    return id_


def _check_unicode(id_: str, name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidDocument(f"the {name} of document {shown(id_)} must be valid Unicode: {error}") from None


def _name(document: ForeignDocument) -> str:
    """Return the name of a document without an id, for errors."""
    named = isinstance(document.metadata, Mapping) and described(document.metadata)
    return named or f"{str(document.text)[:40]}..."


def _stored_metadata(id_: str, metadata: Mapping[str, object], *, flat: bool) -> dict[str, object]:
    return clean_metadata(id_, flatten(metadata) if flat and isinstance(metadata, Mapping) else metadata)


def _checked_hidden(
    id_: str, document: Document | ForeignDocument, metadata: Mapping[str, object], chunks: Iterable[Chunk]
) -> tuple[str, ...]:
    """Return the stored keys that are hidden, or flattened from a hidden key. A hidden title is one of them."""
    hidden = document.hidden
    if not isinstance(hidden, tuple | list) or not all(isinstance(key, str) for key in hidden):
        raise InvalidDocument(f"the hidden keys of document {shown(id_)} must be a list of strings, got {shown(hidden)}")
    stored = [{"title": document.title} if document.title else {}, metadata, *(chunk.metadata for chunk in chunks)]
    return tuple(
        dict.fromkeys(
            key
            for own in stored
            for key in own
            if any(key == each or (key.startswith(f"{each}.") and each not in own) for each in hidden)
        )
    )


def _checked_chunks(
    id_: str, document: Document | ForeignDocument, metadata: Mapping[str, object], *, flat: bool
) -> Iterator[Chunk]:
    """Yield the chunks as they will be stored, each with the document's metadata beside its own."""
    before = 0
    if not isinstance(document.chunks, tuple | list):
        raise InvalidDocument(f"the chunks of document {shown(id_)} must be a list of Chunks, got {shown(document.chunks)}")
    for chunk in document.chunks:
        if not isinstance(chunk, Chunk) or not isinstance(chunk.end, int) or chunk.end <= before:
            raise InvalidDocument(
                f"the chunks of document {shown(id_)} must be Chunks with ascending ends, got {shown(chunk)}"
            )
        before = chunk.end
        own = _stored_metadata(id_, chunk.metadata, flat=flat)
        check_size(id_, {**own, **metadata})
        yield Chunk(chunk.end, own)
    if document.chunks and before != len(document.text):
        raise InvalidDocument(
            f"the last chunk of document {shown(id_)} must end at the end of the text, {len(document.text)}, got "
            f"{shown(before)}"
        )
