"""Texts, sheets and slides of LibreOffice. Formulas are not computed, and no macro is run."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import repeat
from pathlib import Path
from posixpath import join, normpath
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.files._html import markdown_of
from leafspan.files._office import elements, name_of, title_in_properties
from leafspan.files._opening import NO_TEXT, Unreadable, in_one_line, open_archive, parsing
from leafspan.files._record import Assembly, Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, Tables, table
from leafspan.files._text import first_heading

_MOST_COLUMNS = 16_384  # of a sheet, as in Excel
_SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
_SPACES = {"draw": f"{_SPACE}drawing:1.0", "fo": f"{_SPACE}xsl-fo-compatible:1.0", "xlink": "http://www.w3.org/1999/xlink"}
_UNSEEN = ("annotation", "annotation-end", "tracked-changes", "forms", "title", "desc", "hidden-text", "sequence-decls")
_BLOCKS = ("p", "h", "list", "table", "frame", "text-box", "section")
_SMALLEST = 1.0  # points


def read_opendocument(path: Path, files: Files) -> Iterator[Record]:
    """Read a text without parts, or slides or the rows of sheets as parts, without hidden ones."""
    kind = path.suffix.lower()
    archive = open_archive(path)
    assembly = Assembly()
    tables = Tables(assembly)
    title = None
    with parsing("it is no OpenDocument file that can be read"):
        document = _Document(archive)
        if kind == ".odt":
            assembly.add_text(markdown_of(document.html())[0])
            title = document.title
        elif kind == ".ods":
            for sheet in elements(document.body, "table"):
                if document.style(sheet, "table", "display") != "false":
                    tables.add(_Rows(sheet, tables), _get(sheet, "table:name"))
        else:
            for number, page in enumerate(elements(document.body, "page"), start=1):
                if document.style(page, "draw", "visibility") != "hidden" and (text := document.slide(page)):
                    assembly.add(f"{text}\n\n", "slide", number)
    if not assembly.text.strip():
        raise Unreadable(NO_TEXT)
    title = title or title_in_properties(archive, "meta.xml") or (None if kind == ".ods" else first_heading(assembly.text))
    yield assembly.record(title, tables.left_out)


class _Document:
    """A document's visible text."""

    def __init__(self, archive: ZipFile) -> None:
        self.title: str | None = None
        self._archive = archive
        content = ElementTree.fromstring(archive.read("content.xml"))
        common = ElementTree.fromstring(archive.read("styles.xml")) if "styles.xml" in archive.namelist() else content
        self.body = next(elements(content, "body"))
        self._pages = [each for each in common.iter() if name_of(each) == "master-page"]
        self._styles = {_get(each, "style:name"): each for root in (common, content) for each in elements(root, "style")}
        self._notes: list[str] = []
        fills = {_get(part, "fo:background-color") for each in self._styles.values() for part in each}
        self._is_white = fills <= {"", "transparent", "#ffffff"}  # on which white text cannot be seen

    def style(self, element: Any, space: str, key: str) -> str:
        """Return a property of an element's style, or of the styles that it is based on, or ``""``."""
        for style in self._chain(_get(element, f"{space}:style-name")).values():
            for each in (style, *style):
                for attribute, value in each.attrib.items():
                    if attribute.rpartition("}")[2] == key:
                        return str(value)
        return ""

    def _chain(self, name: str) -> dict[str, Any]:
        """Return a style and the styles that it is based on, by name."""
        chain: dict[str, Any] = {}
        while name and name not in chain:
            chain[name] = self._styles.get(name, ElementTree.Element("style"))
            name = _get(chain[name], "style:parent-style-name")
        return chain

    def html(self) -> str:
        """Return a text as HTML, between the headers and footers of its pages."""
        text = self._blocks(self.body)
        margins = {
            kind: dict.fromkeys(
                self._blocks(part)
                for page in self._pages
                for part in page
                if name_of(part).partition("-")[0] == kind
                and _get(part, "style:display") != "false"
                and any(map(str.isalpha, "".join(part.itertext())))
            )
            for kind in ("header", "footer")
        }
        return f"{''.join(margins['header'])}{text}{''.join(self._notes)}{''.join(margins['footer'])}"

    def slide(self, page: Any) -> str:
        """Return a slide as Markdown: its title, its texts and tables, and its notes."""
        titles: list[str] = []
        notes: list[str] = []
        parts: list[str] = []
        for shape in page:
            if _get(shape, "presentation:placeholder") == "true":
                continue
            if name_of(shape) == "notes":
                notes += self._lines(shape)
            elif _get(shape, "presentation:class") == "title":
                titles += self._lines(shape)
            elif (rows := next(elements(shape, "table"), None)) is not None:
                parts.append(table(_Rows(rows, None)).rstrip())
            elif lines := [f"- {line}" for line in self._lines(shape)]:
                if parts and parts[-1].startswith("- "):
                    lines.insert(0, parts.pop())
                parts.append("\n".join(lines))
        heading = [f"# {' '.join(titles)}"] if titles else []
        return "\n\n".join([*heading, *parts, *([f"Notes: {' '.join(notes)}"] if notes else ())])

    def _lines(self, shape: Any) -> list[str]:
        texts = (_words(each) for each in shape.iter() if name_of(each) in ("p", "h"))
        objects = (_words(each) for frame in elements(shape, "object") for each in self._object(frame))
        return [text for text in (*texts, *objects) if text]

    def _blocks(self, parent: Any) -> str:
        return "".join(map(self._block, parent))

    def _block(self, element: Any) -> str:
        """Return an element between paragraphs as HTML."""
        kind = name_of(element)
        if kind in _UNSEEN or _get(element, "text:display") == "none":
            return ""
        if kind in ("p", "h"):
            return self._paragraph(element, kind)
        if kind == "table":
            return self._table(element)
        inner = self._blocks(element)
        if kind in ("list", "list-item", "list-header") and inner:
            return f"<ul>{inner}</ul>" if kind == "list" else f"<li>{inner}</li>"
        return inner + "".join(map(self._block, self._object(element)) if kind == "object" else ())

    def _paragraph(self, element: Any, kind: str) -> str:
        if any(_get(each, "text:is-hidden") == "true" for each in elements(element, "hidden-paragraph")):
            return ""
        below: list[str] = []
        text = self._line(element, below).strip()
        level = _get(element, "text:outline-level") if kind == "h" else self.style(element, "text", "default-outline-level")
        if text and "Title" in self._chain(_get(element, "text:style-name")):
            level = "1"
            self.title = self.title or _words(element)
        tag = f"h{min(int(level), 6)}" if level.isdecimal() and int(level) else "p"
        return f"<{tag}>{text}</{tag}>{''.join(below)}" if text else "".join(below)

    def _line(self, element: Any, below: list[str]) -> str:
        """Return a paragraph's content as HTML. Blocks in it, such as text boxes, are added to ``below``."""
        if self._is_hidden(element):
            return ""
        texts = [escape(element.text or "")]
        for each in element:
            kind = name_of(each)
            if kind == "note":
                mark = "".join(self._line(part, below) for part in each if name_of(part) == "note-citation")
                body = "".join(self._blocks(part) for part in each if name_of(part) == "note-body")
                texts.append(f"[{mark}]")
                self._notes.append(f"<p>[{mark}] {body.removeprefix('<p>')}" if body.startswith("<p>") else body)
            elif kind in ("s", "tab", "line-break"):
                texts.append("<br/>" if kind == "line-break" else " ")
            elif kind == "object":
                objects = list(self._object(each))
                is_line = all(name_of(part) == "math" for part in objects)
                (texts if is_line else below).extend(
                    escape(_words(part)) if is_line else self._block(part) for part in objects
                )
            elif kind in _BLOCKS and kind != "frame":
                below.append(self._block(each))
            elif kind not in _UNSEEN:
                texts.append(self._line(each, below))
            texts.append(escape(each.tail or ""))
        return "".join(texts)

    def _is_hidden(self, element: Any) -> bool:
        size = self.style(element, "text", "font-size").removesuffix("pt")
        is_tiny = size.replace(".", "", 1).isdecimal() and float(size) <= _SMALLEST
        is_white = self._is_white and self.style(element, "text", "color") == "#ffffff"
        return is_tiny or is_white or self.style(element, "text", "display") == "none"

    def _table(self, element: Any) -> str:
        rows = []
        for row in _rows_of(element):
            cells = []
            for cell in (each for each in row if name_of(each) == "table-cell"):
                spans = f'rowspan="{_number(cell, "table:number-rows-spanned")}" '
                spans += f'colspan="{_number(cell, "table:number-columns-spanned")}"'
                cells += [f"<td {spans}>{self._blocks(cell)}</td>"] * min(_number(cell, _COLUMNS), _MOST_COLUMNS)
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table>{''.join(rows)}</table>"

    def _object(self, element: Any) -> list[Any]:
        """Return the parts of an embedded object: an equation, or a chart's titles and its data."""
        name = join(normpath(_get(element, "xlink:href")), "content.xml")
        if name not in self._archive.namelist():
            return []
        root = ElementTree.fromstring(self._archive.read(name))
        if name_of(root) == "math":
            formula = next(elements(root, "annotation"), root)  # as it was typed, such as "a over b"
            formula.tag = "math"
            return [formula]
        titles = [paragraph for each in root.iter() if name_of(each) in ("title", "subtitle") for paragraph in each]
        return [each for each in root.iter() if name_of(each) == "table" or (name_of(each) == "p" and each in titles)]


_COLUMNS = "table:number-columns-repeated"


class _Rows:
    """The visible rows of a table, without blank ones at the end: files often declare a million."""

    def __init__(self, element: Any, tables: Tables | None) -> None:
        self._element = element
        self._tables = tables

    def __iter__(self) -> Iterator[list[Cell | str]]:
        hidden: set[int] = set()
        column = 0
        for each in elements(self._element, "table-column"):
            width = min(_number(each, _COLUMNS), _MOST_COLUMNS)
            hidden.update(range(column, column + width) if _get(each, "table:visibility") in _HIDDEN else ())
            column += width
        blank = 0
        for row in _rows_of(self._element):
            cells = [] if _get(row, "table:visibility") in _HIDDEN else self._cells(row, hidden)
            times = _number(row, "table:number-rows-repeated")
            if any(cell.text if isinstance(cell, Cell) else cell for cell in cells):
                yield from repeat([], blank)
                yield from repeat(cells, times)
                blank = 0
            else:
                blank += times

    def _cells(self, row: Any, hidden: set[int]) -> list[Cell | str]:
        """Return the cells up to the last one with a text, without those that merged cells cover."""
        cells: list[Cell | str] = []
        column = blank = 0
        for cell in row:
            if name_of(cell) not in ("table-cell", "covered-table-cell"):
                continue
            width = min(_number(cell, _COLUMNS), _MOST_COLUMNS - column)
            if name_of(cell) == "table-cell":
                columns = _number(cell, "table:number-columns-spanned")
                seen = sum(each not in hidden for each in range(column, column + max(width, min(columns, _MOST_COLUMNS))))
                text = self._text(cell) if seen else ""
                rows = _number(cell, "table:number-rows-spanned")
                if text or rows > 1 or columns > 1:
                    cells += [""] * blank
                    is_wide = columns > 1 and seen
                    cells += [Cell(text, rows, seen)] if is_wide else [Cell(text, rows) if rows > 1 else text] * seen
                    blank = 0
                else:
                    blank += seen
            column += width
        return cells

    def _text(self, cell: Any) -> str:
        """Return what a cell shows, or its value, or its formula."""
        lines = list(map(_words, elements(cell, "p")))
        if any(lines):
            text = " ".join(lines)
            return text.removesuffix(".0") if text == _get(cell, "office:value") else text
        for key in ("value", "date-value", "time-value", "boolean-value", "string-value"):
            if value := _get(cell, f"office:{key}"):
                return value.removesuffix(".0") if key == "value" else value
        if formula := _get(cell, "table:formula") if not _get(cell, "office:value-type") else "":
            if self._tables is not None:
                self._tables.formulas += 1
            return formula.partition(":")[2] or formula
        return ""


_HIDDEN = ("collapse", "filter")


def _rows_of(element: Any) -> Iterator[Any]:
    for each in element:
        if name_of(each) == "table-row":
            yield each
        elif name_of(each) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows_of(each)


def _get(element: Any, key: str) -> str:
    space, _, name = key.partition(":")
    return str(element.get(f"{{{_SPACES.get(space) or f'{_SPACE}{space}:1.0'}}}{name}") or "")


def _number(element: Any, key: str) -> int:
    text = _get(element, key)
    return max(1, int(text)) if text.isdecimal() and len(text) < 12 else 1


def _words(element: Any) -> str:
    """Return an element's text in one line, without comments."""
    texts: list[str] = []

    def add(each: Any) -> None:
        if name_of(each) in _UNSEEN:
            return
        texts.append(" " if name_of(each) in ("s", "tab", "line-break") else each.text or "")
        for part in each:
            add(part)
            texts.append(part.tail or "")

    add(element)
    return in_one_line("".join(texts))
