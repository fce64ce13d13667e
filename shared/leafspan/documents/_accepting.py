"""Documents from everything that a user may add: leafspan's, LangChain's and LlamaIndex's documents, mappings and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.documents._metadata import clean_metadata
from leafspan.errors import InvalidDocument
from leafspan.files import FileReading, Files
from leafspan.reserved import RESERVED_ID_PREFIX
from leafspan.values import Document


def read_documents(things: Any, reading: FileReading | None = None) -> Iterator[Document]:
    """The documents that a user adds, checked, in order.

    Args:
        things: A leafspan, LangChain or LlamaIndex Document, a mapping with ``id`` and ``text``, ``Files`` or a Path, which
            stands for ``Files`` of it, or an iterable of these.
        reading: What reads files, and notes those that cannot be read. Default: a new one, for absolute paths as ids.

    Raises:
        InvalidDocument: if one of them is no document, or cannot be stored.
    """
    files = reading or FileReading(check_document)
    for thing in [things] if _is_single(things) else things:
        if isinstance(thing, Path | Files):
            yield from files.read(thing if isinstance(thing, Files) else Files(thing))
        else:
            yield check_document(to_document(thing))


def _is_single(things: object) -> bool:
    """Whether it is one document or path. A framework's Document is iterable too, over its fields."""
    single = isinstance(things, str | bytes | Mapping) or not isinstance(things, Iterable)
    return single or hasattr(things, "page_content") or hasattr(things, "node_id")


def to_document(thing: object) -> Document:
    """A document from one thing. Objects are recognised by their attributes, so no framework needs to be installed.

    The metadata's ``title`` is the title of a framework's Document. A LangChain Document without an id gets its ``source``
    (and ``page``) as its id, or else a hash of its text.

    Args:
        thing: A leafspan, LangChain or LlamaIndex Document, or a mapping with ``id`` and ``text``, which may have ``title``
            and ``metadata`` too.

    Raises:
        InvalidDocument: if it is none of these.
    """
    if isinstance(thing, Document):
        return thing
    metadata = getattr(thing, "metadata", None)
    if hasattr(thing, "page_content"):
        text = thing.page_content
        return Document(
            getattr(thing, "id", None) or _default_id(text, metadata or {}), text, _title(metadata), metadata or {}
        )
    if hasattr(thing, "node_id") and hasattr(thing, "get_content"):
        return Document(thing.node_id, thing.get_content(), _title(metadata), metadata or {})
    if isinstance(thing, Mapping):
        unknown = set(thing) - {"id", "text", "title", "metadata"}
        if unknown or not {"id", "text"} <= set(thing):
            raise InvalidDocument(
                f"a mapping must have id and text, may have title and metadata, got keys {sorted(map(str, thing))}"
            )
        return Document(**thing)
    hint = "; for a file, pass a pathlib.Path" if isinstance(thing, str) else ""
    raise InvalidDocument(
        "a document must be a leafspan, LangChain or LlamaIndex Document, a mapping, a Path or Files, "
        f"got {type(thing).__name__}{hint}"
    )


def check_document(document: Document) -> Document:
    """The document with its metadata as it will be stored.

    Raises:
        InvalidDocument: if the id is empty or reserved, a field has a wrong type, a text holds a lone surrogate, or the
            metadata cannot be stored.
    """
    if not isinstance(document.id, str) or not document.id:
        raise InvalidDocument(f"a document's id must be a non-empty string, got {document.id!r}")
    if document.id.startswith(RESERVED_ID_PREFIX):
        raise InvalidDocument(f"a document's id must not begin with {RESERVED_ID_PREFIX!r}, got {document.id!r}")
    if not isinstance(document.text, str):
        raise InvalidDocument(f"the text of document {document.id!r} must be a string, got {type(document.text).__name__}")
    if document.title is not None and not isinstance(document.title, str):
        raise InvalidDocument(
            f"the title of document {document.id!r} must be a string, got {type(document.title).__name__}"
        )
    for name, value in (("id", document.id), ("text", document.text), ("title", document.title or "")):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidDocument(f"the {name} of document {document.id!r} must be valid Unicode: {error}") from None
    return Document(document.id, document.text, document.title, clean_metadata(document.id, document.metadata))


def _default_id(text: str, metadata: Mapping[str, object]) -> str:
    """The id of a document without one: its source and page, or else a hash of its text."""
    source = metadata.get("source")
    if isinstance(source, str) and source:
        return f"{source}:{metadata['page']}" if "page" in metadata else source
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _title(metadata: Mapping[str, object] | None) -> str | None:
    title = (metadata or {}).get("title")
    return title if isinstance(title, str) and title else None
