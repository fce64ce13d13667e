"""A document cut into leaves, ready to be embedded and written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.documents import IndexSettings, find_sections, indexed_heads, indexed_texts, make_leaves, pack_place
from leafspan.errors import InvalidDocument
from leafspan.indexing._known_files import file_values
from leafspan.reserved import STRUCTURE_KEY
from leafspan.splitting import find_headings
from leafspan.store import DocumentToWrite, Row
from leafspan.values import Document, Leaf


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document with its leaves.

    Attributes:
        document: The document.
        row: Its row in the manifest.
        leaves: Its leaves.
        texts: Text that each leaf is embedded under.
        heads: Title and headings that each leaf is indexed under, empty if there are none.
    """

    document: Document
    row: Row
    leaves: Sequence[Leaf]
    texts: Sequence[str]
    heads: Sequence[str]

    def with_vectors(self, vectors: Any) -> DocumentToWrite:
        """What is stored of the document: of each leaf its text, the document's metadata, its place and its vector."""
        texts = [self.document.text[leaf.start : leaf.end] for leaf in self.leaves]
        metadatas = [{**self.document.metadata, STRUCTURE_KEY: pack_place(leaf)} for leaf in self.leaves]
        return DocumentToWrite(self.row, texts, metadatas, vectors)


def content_hash(document: Document) -> str:
    """A hash of everything that is stored of a document."""
    content = [document.text, document.title, sorted(document.metadata.items())]
    return hashlib.sha256(json.dumps(content, ensure_ascii=True).encode()).hexdigest()


def split_document(document: Document, hash_: str, settings: IndexSettings, old: Row | None = None) -> SplitDocument:
    """Cut a document into leaves.

    Args:
        document: The document.
        hash_: Its content hash. The version is made of it, and differs from the one that counts now.
        settings: How to split and index.
        old: Its row in the manifest, None for a new document.

    Raises:
        InvalidDocument: if the splitter's cuts do not partition the text.
    """
    version = hash_[8:16] if old is not None and old.version == hash_[:8] and old.hash != hash_ else hash_[:8]
    try:
        leaves = make_leaves(document, version, settings.splitter(document.text) if settings.splitter else ())
    except InvalidDocument as error:
        raise InvalidDocument(f"document {document.id!r} cannot be split: {error}") from error
    sections = find_sections(leaves, find_headings(document.text)) if leaves else []
    row = Row(
        document.id,
        hash_,
        version,
        len(leaves),
        title=document.title,
        metadata=document.metadata,
        sections=tuple(sections),
        characters=len(document.text),
        words=leaves[0].ancestors[-1].words if leaves else 0,
        extra=file_values(document),
    )
    texts = indexed_texts(document, leaves, context_sentences=settings.context_sentences)
    return SplitDocument(document, row, leaves, texts, indexed_heads(document.title, sections, len(leaves)))
