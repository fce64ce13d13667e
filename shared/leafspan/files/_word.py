"""Word documents: their text as Markdown, with headings, lists and tables. No macro is run, and no picture is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafspan.errors import MissingExtra
from leafspan.files._archive import bytes_of, open_archive
from leafspan.files._html import markdown_of
from leafspan.files._opening import Unreadable
from leafspan.files._properties import title_in_properties
from leafspan.files._record import Record
from leafspan.files._source import Files


def read_docx(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is in its properties, or is its first heading."""
    try:
        import mammoth
    except ImportError as error:
        raise MissingExtra.of("Word needs mammoth", "docx") from error
    archive = open_archive(path)
    try:
        html = mammoth.convert_to_html(bytes_of(archive), convert_image=_no_image, include_embedded_style_map=False).value
    except Exception as error:  # a broken file makes mammoth raise any exception
        raise Unreadable(f"it is no document that mammoth can read: {error}") from None
    text, heading = markdown_of(html)
    yield Record(text, title_in_properties(archive) or heading, {}, parts=())


def _no_image(image: Any) -> list[Any]:
    return []
