"""PDF: each page is a document, so that a citation names the page."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from leafspan.errors import MissingExtra
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._record import BadRecord, Record
from leafspan.files._source import Files


def read_pdf(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """See Reader. A page without text is left out. The metadata ``page`` is its number, from 1."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra.of("PDF needs pypdf", "pdf") from error
    try:
        document = PdfReader(io.BytesIO(read_bytes(path)))
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = (document.metadata.title if document.metadata else None) or ""
        texts = [page.extract_text().replace("\0", "") for page in document.pages]
    except (Unreadable, OSError):
        raise
    except Exception as error:  # a broken file makes pypdf raise anything
        raise Unreadable(f"it is no PDF that pypdf can read: {error}") from None
    if not any(text.strip() for text in texts):
        raise Unreadable("it has no text, only images perhaps: recognise its text first (OCR)")
    for number, text in enumerate(texts, start=1):
        if text.strip():
            yield Record(text, title.strip() or None, {"page": number}, part=f"page={number}")
