"""Tables: CSV and TSV, and Excel's sheets. Formulas are not computed: the values are the saved ones."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.files._office import chart, paragraphs, relations, said_title
from leafspan.files._opening import Unreadable, bytes_of, decode, library, open_archive, parsing, read_bytes
from leafspan.files._record import Assembly, Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, Tables, formatted

_SAMPLE = 1 << 16  # characters from which the separator of columns is guessed
_LONGEST_FIELD = 1 << 20
_SEPARATORS = "\t;,|"  # the first one wins if several divide all rows alike
_DECLARATION = "sep="  # which Excel writes and reads in the first line


def read_csv(path: Path, files: Files) -> Iterator[Record]:
    """Read a table whose parts are its rows. Guess whether commas, semicolons, tabs or bars separate the columns."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    assembly = Assembly()
    tables = Tables(assembly)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    first = text.partition("\n")[0].strip('\ufeff\r"')
    is_declared = first.lower().startswith(_DECLARATION) and len(first) == len(_DECLARATION) + 1
    with parsing("it is no table that can be read"):
        rows = _rows(text, first[-1] if is_declared else "\t" if path.suffix.lower() == ".tsv" else _separator(text))
        if is_declared:
            next(rows)
        tables.add(rows)
    yield assembly.record(None, tables.left_out)


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=False)


def _separator(text: str) -> str:
    """Return the separator that divides most of the first rows into the same number of columns, more than one."""
    sample = text[:_SAMPLE].rpartition("\n")[0] or text[:_SAMPLE]

    def alike(separator: str) -> float:
        widths = Counter(len(row) for row in _rows(sample, separator) if row)
        return max((count for width, count in widths.items() if width > 1), default=0) / (widths.total() or 1)

    best = max(_SEPARATORS, key=alike)
    return best if alike(best) else ","


def read_xlsx(path: Path, files: Files) -> Iterator[Record]:
    """Read a workbook whose parts are the rows of its sheets. Each sheet's name is a heading above it.

    Hidden sheets, rows and columns are left out. A formula without a saved value is read itself.
    """
    openpyxl = library("openpyxl", "Excel needs openpyxl", "xlsx")
    archive = open_archive(path)
    assembly = Assembly()
    tables = Tables(assembly)
    with parsing("it is no workbook that openpyxl can read"), warnings.catch_warnings(action="ignore"):
        book = openpyxl.load_workbook(bytes_of(archive), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets:
            if sheet.sheet_state == "visible":
                tables.add(_Sheet(sheet, tables).rows(), sheet.title)
                for text in _drawn(archive, sheet._worksheet_path):
                    assembly.add_text(f"\n{text}\n")
        title = said_title(book.properties.title)
    if not assembly.text.strip():
        raise Unreadable("it has no text")
    yield assembly.record(title, tables.left_out)


class _Sheet:
    """The visible rows of a sheet, with merged cells, and values in their number formats.

    The library's own rows lack what is hidden and merged, unless all sheets are in memory as objects.
    """

    def __init__(self, sheet: Any, tables: Tables) -> None:
        self._sheet = sheet
        self._tables = tables
        self._formats: dict[int, str] = {}  # by the number of a style

    def rows(self) -> Iterator[Sequence[str | Cell]]:
        from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

        class Parser(WorkSheetParser):  # type: ignore[misc]
            def parse_cell(self, element: Any) -> dict[str, Any]:
                cell: dict[str, Any] = super().parse_cell(element)
                formula = element.find(FORMULA_TAG)
                if cell["value"] is None and formula is not None and element.get("t") != "str":
                    cell |= {"value": f"={formula.text or '...'}", "data_type": "f"}
                return cell

        book = self._sheet.parent
        formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        with self._sheet._get_source() as source:
            parser = Parser(source, self._sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
            rows: dict[int, dict[int, str]] = {}
            for number, cells in parser.parse():
                if not _is_on(parser.row_dimensions.pop(str(number), {}).get("hidden")):
                    texts = {cell["column"]: self._text(cell) for cell in cells if cell["value"] is not None}
                    rows[number] = {column: text for column, text in texts.items() if text}
        hidden: set[int] = set()
        for each in parser.column_dimensions.values():
            if _is_on(each.get("hidden")):
                hidden.update(range(int(each["min"]), int(each["max"]) + 1))
        last_column = max((max(row, default=0) for row in rows.values()), default=0)
        merged: dict[int, list[Any]] = {}
        for area in parser.merged_cells.mergeCell if parser.merged_cells else ():
            merged.setdefault(area.min_row, []).append(area)
        yield from _placed(rows, merged, hidden, last_column)

    def _text(self, cell: dict[str, Any]) -> str:
        if cell["data_type"] == "f":
            self._tables.formulas += 1
        value = cell["value"]
        return value if isinstance(value, str) else formatted(value, self._format(cell["style_id"]))

    def _format(self, style: int) -> str:
        from openpyxl.styles.numbers import BUILTIN_FORMATS

        if style not in self._formats:
            book = self._sheet.parent
            number = book._cell_styles[style].numFmtId
            code = BUILTIN_FORMATS.get(number, "General") if number < 164 else book._number_formats[number - 164]
            self._formats[style] = str(code)
        return self._formats[style]


def _placed(
    rows: dict[int, dict[int, str]], merged: dict[int, list[Any]], hidden: set[int], last_column: int
) -> Iterator[Sequence[str | Cell]]:
    """Yield the rows from the first to the last one, without the places that merged cells cover."""
    open_: list[Any] = []
    last_row = max((number for number, row in rows.items() if row), default=0)
    for number in range(1, last_row + 1):
        row = rows.get(number, {})
        if not row and not open_ and number not in merged:
            yield ()
            continue
        open_ = [area for area in open_ if area.max_row >= number]
        covered = {column for area in open_ for column in range(area.min_col, min(area.max_col, last_column) + 1)}
        origins: dict[int, Cell] = {}
        for area in merged.get(number, ()):
            columns = [each for each in range(area.min_col, min(area.max_col, last_column) + 1) if each not in hidden]
            if columns and not covered.intersection(columns):
                height = min(area.max_row, last_row) - number + 1
                origins[columns[0]] = Cell(row.get(area.min_col, ""), max(1, height), len(columns))
                covered.update(columns[1:])
        open_ += [area for area in merged.get(number, ()) if area.max_row > number]
        last, gone = max((*row, *origins), default=0), covered | hidden
        yield [origins.get(column, row.get(column, "")) for column in range(1, last + 1) if column not in gone]


def _is_on(value: str | None) -> bool:
    return value in ("1", "true")


def _drawn(archive: ZipFile, sheet: str) -> Iterator[str]:
    """Yield the texts of a sheet's text boxes, and the titles of its charts."""
    for kind, drawing in relations(archive, sheet).values():
        if kind == "drawing":
            yield from paragraphs(ElementTree.fromstring(archive.read(drawing)))
            for other, name in relations(archive, drawing).values():
                if other == "chart" and (title := chart(ElementTree.fromstring(archive.read(name)))[0]):
                    yield title
