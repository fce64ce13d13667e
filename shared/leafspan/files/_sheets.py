"""Tables: CSV and TSV, and Excel's sheets. Formulas are not computed: the values are the saved ones."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from pathlib import Path

from leafspan.errors import MissingExtra
from leafspan.files._archive import bytes_of, open_archive
from leafspan.files._decoding import decode
from leafspan.files._opening import MOST_BYTES, Unreadable, read_bytes
from leafspan.files._parts import Assembly
from leafspan.files._properties import said_title
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._table import Tables

_SAMPLE = 1 << 16  # characters from which the separator of columns is guessed
_LONGEST_FIELD = 1 << 20


def read_csv(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its rows. It guesses whether commas, semicolons, tabs or bars separate the columns."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    assembly = Assembly()
    tables = Tables(assembly)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    try:
        tables.add(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, path), strict=False))
    except csv.Error as error:
        raise Unreadable(f"it is no table that can be read: {error}") from None
    yield Record(assembly.text, None, {}, left_out=tables.left_out, parts=assembly.parts)


def _delimiter(text: str, path: Path) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    try:
        return csv.Sniffer().sniff(text[:_SAMPLE].rpartition("\n")[0] or text[:_SAMPLE], ",;\t|").delimiter
    except csv.Error:
        return ","


def read_xlsx(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are the rows of its sheets. Each sheet's name is a heading above it."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra.of("Excel needs openpyxl", "xlsx") from error
    archive = open_archive(path, most_xml=MOST_BYTES)
    assembly = Assembly()
    tables = Tables(assembly)
    try:
        with warnings.catch_warnings(action="ignore"):
            book = load_workbook(bytes_of(archive), read_only=True, data_only=True, keep_links=False)
            for sheet in book.worksheets:
                if sheet.sheet_state == "visible":
                    sheet.reset_dimensions()  # the file's declared size may be wrong
                    tables.add(sheet.iter_rows(values_only=True), sheet.title)
            title = said_title(book.properties.title)
    except Exception as error:  # a broken file makes openpyxl raise any exception
        raise Unreadable(f"it is no workbook that openpyxl can read: {error}") from None
    yield Record(assembly.text, title, {}, left_out=tables.left_out, parts=assembly.parts)
