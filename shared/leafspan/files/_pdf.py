"""PDF: the text of its pages, joined so that a sentence can go on on the next page."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path

from leafspan.errors import MissingExtra
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._parts import Assembly
from leafspan.files._properties import said_title
from leafspan.files._record import Record
from leafspan.files._source import Files

_MOST_SECONDS = 300  # a file of a few kilobytes can have a million pages


def read_pdf(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its pages. Its title is the file's own title, unless a program has made it up."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra.of("PDF needs pypdf", "pdf") from error
    pages, left_out = Assembly(), []
    until = time.monotonic() + _MOST_SECONDS
    try:
        document = PdfReader(io.BytesIO(read_bytes(path)))
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = document.metadata.title if document.metadata else None
        for number, page in enumerate(document.pages, start=1):
            if time.monotonic() > until:
                left_out.append(f"the pages from {number:,} on are left out: the others took {_MOST_SECONDS} seconds")
                break
            pages.add(page.extract_text().replace("\0", "").rstrip(), "page", number)
    except (Unreadable, OSError):
        raise
    except Exception as error:  # a broken file makes pypdf raise any exception
        raise Unreadable(f"it is no PDF that pypdf can read: {error}") from None
    if not pages.text.strip():
        raise Unreadable("it has no text, only images perhaps: recognise its text first (OCR)")
    yield Record(pages.text, said_title(title), {}, left_out=left_out, parts=pages.parts)
