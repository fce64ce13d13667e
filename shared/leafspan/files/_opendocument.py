"""Texts, sheets and slides of LibreOffice. Formulas are not computed, and no macro is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from leafspan.errors import MissingExtra
from leafspan.files._archive import bytes_of, open_archive
from leafspan.files._opening import MOST_BYTES, Unreadable
from leafspan.files._parts import Assembly
from leafspan.files._properties import title_in_properties
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._table import Tables
from leafspan.files._text import first_heading

_MOST_COLUMNS = 16_384  # of a sheet, as in Excel
_IN_NOTES = "ancestor::presentation:notes"


def read_opendocument(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. The parts are slides, and rows of sheets; text documents have no parts."""
    try:
        from odfdo import Document
    except ImportError as error:
        raise MissingExtra.of("OpenDocument needs odfdo", "odf") from error
    kind = path.suffix.lower()
    archive = open_archive(path, **({"most_xml": MOST_BYTES} if kind == ".ods" else {}))
    assembly = Assembly()
    tables = Tables(assembly)
    try:
        document = Document(bytes_of(archive))
        if kind == ".odt":
            assembly.add_text(str(document.to_markdown()))
        elif kind == ".ods":
            for sheet in document.body.get_tables():
                tables.add(_rows(sheet), sheet.name or "")
        else:
            for number, page in enumerate(document.body.get_draw_pages(), start=1):
                assembly.add(_slide(page), "slide", number)
    except Exception as error:  # a broken file makes odfdo raise any exception
        raise Unreadable(f"it is no file that odfdo can read: {error}") from None
    title = title_in_properties(archive, "meta.xml") or (None if kind == ".ods" else first_heading(assembly.text))
    yield Record(assembly.text, title, {}, left_out=tables.left_out, parts=assembly.parts)


def _rows(sheet: Any) -> Iterator[Sequence[object]]:
    """Yield a sheet's rows without blank ones at the end: files often declare a million."""
    blank = 0
    for row in sheet.xpath("descendant::table:table-row"):
        cells: list[object] = []
        for cell in row.xpath("table:table-cell|table:covered-table-cell"):
            cells += [_value(cell)] * min(cell.repeated or 1, _MOST_COLUMNS - len(cells))
        while cells and cells[-1] is None:
            cells.pop()
        if cells:
            yield from repeat([], blank)
            yield from repeat(cells, row.repeated or 1)
        blank = 0 if cells else blank + (row.repeated or 1)


def _value(cell: Any) -> object:
    """Return a cell's value, or its text if odfdo does not understand the value."""
    try:
        return cell.value
    except (ValueError, TypeError, ArithmeticError):
        return cell.inner_text


def _slide(page: Any) -> str:
    titles = _texts(page, f"*[@presentation:class='title']//text:p[not({_IN_NOTES})]")
    texts = _texts(page, f"*[not(@presentation:class='title')]//text:p[not({_IN_NOTES})]")
    notes = _texts(page, ".//presentation:notes//text:p")
    parts = [f"# {' '.join(titles)}"] if titles else []
    parts += ["\n".join(f"- {text}" for text in texts)] if texts else []
    parts += [f"Notes: {' '.join(notes)}"] if notes else []
    return "\n\n".join(parts) + "\n\n"


def _texts(page: Any, path: str) -> list[str]:
    found = (" ".join(str(each.inner_text).split()) for each in page.xpath(path))
    return [text for text in found if text]
