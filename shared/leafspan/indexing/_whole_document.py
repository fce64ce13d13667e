"""Checks whether a document that was put together from its leaves equals the document that was added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import content_hash, copy_metadata
from leafspan.indexing._known_files import content_in_file
from leafspan.store import Row
from leafspan.values import Chunk, Document, Leaf, LeafId


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
