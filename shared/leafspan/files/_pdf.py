"""PDF: the text of its pages, one after the other, so that a sentence goes on in the next one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from leafspan.errors import MissingExtra
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._parts import Assembly
from leafspan.files._properties import said_title
from leafspan.files._record import Record
from leafspan.files._source import Files


def read_pdf(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its pages. Its title is that of the file, unless a program has made it."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra.of("PDF needs pypdf", "pdf") from error
    try:
        document = PdfReader(io.BytesIO(read_bytes(path)))
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = document.metadata.title if document.metadata else None
        texts = [page.extract_text().replace("\0", "") for page in document.pages]
    except (Unreadable, OSError):
        raise
    except Exception as error:  # a broken file makes pypdf raise anything
        raise Unreadable(f"it is no PDF that pypdf can read: {error}") from None
    if not any(text.strip() for text in texts):
        raise Unreadable("it has no text, only images perhaps: recognise its text first (OCR)")
    pages = Assembly()
    for number, text in enumerate(texts, start=1):
        pages.add(text.rstrip(), "page", number)
    yield Record(pages.text, said_title(title), {}, parts=pages.parts)
