"""Whatever a user adds, as documents: our own, LangChain's, LlamaIndex's, mappings and files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.documents._metadata import clean_metadata
from leafspan.errors import InvalidDocument
from leafspan.reserved import RESERVED_ID_PREFIX
from leafspan.splitting import find_headings
from leafspan.values import Document

SUFFIXES = (".md", ".markdown", ".txt", ".text")
"""The files that are taken from a folder, but for hidden ones."""


def read_documents(things: Any) -> Iterator[Document]:
    """A checked document for each thing, in order; a folder gives one for each text or Markdown file below it.

    Raises:
        InvalidDocument: for a thing that is no document, or one that cannot be stored.
    """
    for thing in [things] if _is_one(things) else things:
        if isinstance(thing, Path):
            for path in _files(thing):
                yield check_document(_from_file(path))
        else:
            yield check_document(to_document(thing))


def _is_one(things: object) -> bool:
    """One document or path, rather than several; the frameworks' Documents can be iterated, over their fields."""
    one = isinstance(things, str | bytes | Mapping) or not isinstance(things, Iterable)
    return one or hasattr(things, "page_content") or hasattr(things, "node_id")


def to_document(thing: object) -> Document:
    """One document, recognised by its shape, so that neither framework need be installed.

    A LangChain Document without an id gets its ``source`` (and ``page``) as its id, or else a hash of its text. The title
    is the metadata's ``title``.
    """
    if isinstance(thing, Document):
        return thing
    metadata = getattr(thing, "metadata", None)
    if hasattr(thing, "page_content"):
        text = thing.page_content
        return Document(
            getattr(thing, "id", None) or _identity(text, metadata or {}), text, _title(metadata), metadata or {}
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
        "a document must be a leafspan, LangChain or LlamaIndex Document, a mapping or a Path, "
        f"got {type(thing).__name__}{hint}"
    )


def check_document(document: Document) -> Document:
    """The document with its metadata cleaned.

    Raises:
        InvalidDocument: if the id is empty, a field is of a wrong type, or a text holds a lone surrogate.
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


def _identity(text: str, metadata: Mapping[str, object]) -> str:
    source = metadata.get("source")
    if isinstance(source, str) and source:
        return f"{source}:{metadata['page']}" if "page" in metadata else source
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def _title(metadata: Mapping[str, object] | None) -> str | None:
    title = (metadata or {}).get("title")
    return title if isinstance(title, str) and title else None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        return sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))
    if not path.exists():
        raise InvalidDocument(f"there is no file {str(path)!r}")
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidDocument(f"files must be text or Markdown ({', '.join(SUFFIXES)}), got {str(path)!r}")
    return [path]


def _from_file(path: Path) -> Document:
    try:
        text = path.read_bytes().decode("utf-8-sig")  # bytes, so that line ends stay as they are
    except UnicodeDecodeError as error:
        raise InvalidDocument(f"file {str(path)!r} must be UTF-8: {error}") from None
    headings = find_headings(text)
    title = headings[0].text if headings and headings[0].depth == 1 and not text[: headings[0].start].strip() else path.stem
    return Document(path.as_posix(), text, title, {"source": path.as_posix()})
