"""PDF: the text of its pages, joined so that a sentence can go on on the next page."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafspan.errors import MissingExtra
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._parts import Assembly
from leafspan.files._properties import said_title
from leafspan.files._record import Record
from leafspan.files._source import Files

_HIDDEN = 2 | 32  # flags of an annotation
_PASSWORD, _BUTTON = 1 << 13, 1 << 16  # flags of a field
_MOST_ABOVE = 20  # fields above a field, from which it inherits
_MOST_SECONDS = 50  # of processor time: a file of a few kilobytes can have a million pages


def read_pdf(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its pages. Its title is the file's own title, unless a program has made it up."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra.of("PDF needs pypdf", "pdf") from error
    pages, left_out = Assembly(), []
    until = time.process_time() + _MOST_SECONDS
    try:
        document = PdfReader(io.BytesIO(read_bytes(path)))
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = document.metadata.title if document.metadata else None
        for number, page in enumerate(document.pages, start=1):
            if time.process_time() > until:
                left_out.append(f"the pages from {number:,} on are left out: the others took {_MOST_SECONDS} seconds")
                break
            texts = [page.extract_text().replace("\0", "").rstrip(), "\n".join(_written(page))]
            pages.add("\n\n".join(filter(None, texts)), "page", number)
    except (Unreadable, OSError):
        raise
    except Exception as error:  # a broken file makes pypdf raise any exception
        raise Unreadable(f"it is no PDF that pypdf can read: {error}") from None
    if not pages.text.strip():
        raise Unreadable("it has no text, only images perhaps: recognise its text first (OCR)")
    yield Record(pages.text, said_title(title), {}, left_out=left_out, parts=pages.parts)


def _written(page: Any) -> Iterator[str]:
    """Yield what is written on a page: the values of its form's fields, such as ``"Name: Ann"``, and notes of free text."""
    for reference in page.get("/Annots") or ():
        note = reference.get_object()
        if note is None or int(note.get("/F", 0)) & _HIDDEN:
            continue
        if note.get("/Subtype") == "/FreeText":
            yield _in_line(note.get("/Contents"))
        elif note.get("/Subtype") == "/Widget":
            value = _value(note)
            if value:
                yield f"{_in_line(_inherited(note, '/TU') or _inherited(note, '/T') or 'Field')}: {value}"


def _value(field: Any) -> str:
    kind, flags = _inherited(field, "/FT"), int(_inherited(field, "/Ff") or 0)
    if kind == "/Btn":
        state = str(field.get("/AS") or "/Off").removeprefix("/")
        return "" if flags & _BUTTON or state == "Off" else state
    if kind not in ("/Tx", "/Ch") or flags & _PASSWORD:
        return ""
    value = _inherited(field, "/V")
    return ", ".join(map(_in_line, value if isinstance(value, list) else [value]))


def _inherited(field: Any, key: str) -> Any:
    for _ in range(_MOST_ABOVE):
        if key in field:
            return field[key]
        if "/Parent" not in field:
            return None
        field = field["/Parent"]
    return None


def _in_line(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str) else ""
