"""Whether a document that was put together of its leaves is the one that was added."""

from __future__ import annotations

from leafspan.documents import content_hash
from leafspan.store import Row
from leafspan.values import Document


def problem_of_content(row: Row, document: Document) -> str | None:
    """What is wrong with a document whose leaves are all there; None if nothing is.

    Args:
        row: Its row. A private view has masked the document before its hash was made, and so it is compared.
        document: The document, as it is stored.
    """
    if len(document.text) != row.characters:
        return f"its leaves have {len(document.text)} characters, and it had {row.characters}"
    if row.hash and content_hash(document) == row.hash:
        return None
    if row.checksums:
        # Each leaf is as it was written. The hash is empty, since something else is missing; or the document has chunks
        # with metadata that the document has too, of which the leaves have only the document's.
        return None if not row.hash or document.chunks else "its title, metadata or text is not as it was added"
    if document.chunks and row.hash:
        return None  # the same chunks, of an earlier version: nothing can be compared but lengths
    return "its text is not as it was added" if row.hash else "doctor() has found that it is not whole"
