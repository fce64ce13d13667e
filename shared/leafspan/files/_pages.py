"""Files of pages: PDF, whose pages are joined so that a sentence can go on, and slides; titles in properties."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.files._office import chart, diagram, elements, equation, name_of, reference
from leafspan.files._opening import NO_TEXT, Unreadable, bytes_of, in_one_line, library, open_archive, parsing, read_bytes
from leafspan.files._record import Assembly, Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, table

_HIDDEN = 2 | 32  # flags of an annotation
_PASSWORD, _BUTTON = 1 << 13, 1 << 16  # flags of a field
_MOST_ABOVE = 20  # fields above a field, from which it inherits
_MOST_SECONDS = 50  # of processor time: a file of a few kilobytes can have a million pages


def read_pdf(path: Path, files: Files) -> Iterator[Record]:
    """Read a PDF, whose parts are its pages. Its title is the file's own, unless a program has made it up."""
    pypdf = library("pypdf", "PDF needs pypdf", "pdf")
    pages, left_out = Assembly(), list[str]()
    until = time.process_time() + _MOST_SECONDS
    data = io.BytesIO(read_bytes(path))
    with parsing("it is no PDF that pypdf can read"):
        document = pypdf.PdfReader(data)
        if document.is_encrypted and not document.decrypt(""):
            raise Unreadable("it is encrypted")
        title = document.metadata.title if document.metadata else None
        for number, page in enumerate(document.pages, start=1):
            if time.process_time() > until:
                left_out.append(f"the pages from {number:,} on are left out: the others took {_MOST_SECONDS} seconds")
                break
            texts = [page.extract_text().replace("\0", "").rstrip(), "\n".join(_written(page))]
            pages.add("\n\n".join(filter(None, texts)), "page", number)
    if not pages.text.strip():
        raise Unreadable(NO_TEXT)
    yield pages.record(said_title(title), left_out)


def _written(page: Any) -> Iterator[str]:
    """Yield what is written on a page: the values of its form's fields, such as ``"Name: Ann"``, and notes of free text."""
    for annotation in page.get("/Annots") or ():
        note = annotation.get_object()
        if note is None or int(note.get("/F", 0)) & _HIDDEN:
            continue
        if note.get("/Subtype") == "/FreeText":
            yield _in_line(note.get("/Contents"))
        elif note.get("/Subtype") == "/Widget" and (value := _value(note)):
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
    return in_one_line(value) if isinstance(value, str) else ""


_DEEPEST = 8  # levels of a list, as in PowerPoint


def read_pptx(path: Path, files: Files) -> Iterator[Record]:
    """Read slides without hidden ones. The title is in the file's properties, or is the first slide's."""
    pptx = library("pptx", "PowerPoint needs python-pptx", "pptx")
    archive = open_archive(path)
    assembly = Assembly()
    first, left_out = "", list[str]()
    with parsing("these are no slides that python-pptx can read"):
        for number, slide in enumerate(pptx.Presentation(bytes_of(archive)).slides, start=1):
            if slide._element.get("show") in ("0", "false"):
                continue
            _simplify(slide._element)
            title_shape = slide.shapes.title
            title = in_one_line(title_shape.text) if title_shape is not None else ""
            first = first or title
            parts = [f"# {title}"] if title else []
            for shape in _shapes(slide.shapes):
                if title_shape is not None and shape._element is title_shape._element:
                    continue
                try:
                    parts.append(_shape_text(shape))
                except Exception as error:  # such as a broken chart
                    left_out.append(f"slide {number}: {shape.name} is left out: {error}")
            if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
                parts.append(f"Notes: {frame.text.strip()}")
            if text := "\n\n".join(filter(None, parts)):
                assembly.add(f"{text}\n\n", "slide", number)
    if not assembly.text.strip():
        raise Unreadable(NO_TEXT)
    yield assembly.record(title_in_properties(archive) or first, left_out)


def _simplify(slide: Any) -> None:
    """Keep one of alternative contents, and turn equations into texts: the library sees neither."""
    for each in list(elements(slide, "AlternateContent")):
        if (parent := each.getparent()) is not None:
            choice = next((part for part in each if name_of(part) == "Choice"), None)
            place = parent.index(each)
            parent[place : place + 1] = list(choice) if choice is not None else []
    for paragraph in list(elements(slide, "p")):
        for each in [part for part in paragraph if name_of(part) == "m"]:
            text = " ".join(map(equation, elements(each, "oMath")))
            run = paragraph.makeelement(paragraph.tag[:-1] + "r")
            run.append(run.makeelement(paragraph.tag[:-1] + "t"))
            run[0].text = text
            paragraph.replace(each, run)


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield the visible shapes from top to bottom, including those in groups."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if shape._element.xpath("boolean(./*/p:cNvPr[@hidden='1' or @hidden='true'])"):
            continue
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _shape_text(shape: Any) -> str:
    if getattr(shape, "has_table", False):
        return table(map(_row, shape.table.rows)).rstrip()
    for each in elements(shape._element, "graphicData"):
        for drawing in each:
            if name_of(drawing) == "chart":
                title, tables = chart(_part(shape, reference(drawing, "id")))
                return "\n\n".join(filter(None, [title, *(table(rows).rstrip() for rows in tables)]))
            if name_of(drawing) == "relIds":
                return _listed(diagram(_part(shape, reference(drawing, "dm"))))
    if not shape.has_text_frame:
        return ""
    return _listed([(each.level, in_one_line(each.text)) for each in shape.text_frame.paragraphs])


def _row(row: Any) -> list[Cell]:
    """Return a row's cells without those that merged cells cover."""
    return [Cell(cell.text, cell.span_height, cell.span_width) for cell in row.cells if not cell.is_spanned]


def _part(shape: Any, id_: str) -> Any:
    return ElementTree.fromstring(shape.part.related_part(id_).blob)


def _listed(lines: list[tuple[int, str]]) -> str:
    filled = [(level, text) for level, text in lines if text]
    if len(filled) == 1:
        return filled[0][1]
    return "\n".join(f"{'  ' * min(level, _DEEPEST)}- {text}" for level, text in filled)


# Titles that programs make up, and that do not describe the text.
_MADE = re.compile(
    r"(?:\(?(?:anonymous|unknown|unspecified|none|null|no title)\)?|microsoft (?:word|excel|powerpoint) [-\u2013\u2014] .*"
    r"|(?:untitled|document|presentation|slide)[-\s\d]*|powerpoint presentation|(?:doc|book|workbook)\d+"
    r"|[^\n]*\.(?:docx?|pptx?|xlsx?|odt|rtf|tex|dvi|pdf|indd|qxd|html?))",
    re.IGNORECASE,
)
_TITLE_ELEMENT = "{http://purl.org/dc/elements/1.1/}title"


def title_in_properties(archive: ZipFile, name: str = "docProps/core.xml") -> str | None:
    """Return the title, or None if there is no title, or a program has made it up."""
    with suppress(Exception):  # the text can be read all the same
        root = ElementTree.fromstring(archive.read(name))
        return said_title(next((each.text for each in root.iter(_TITLE_ELEMENT)), None))
    return None


def said_title(text: str | None) -> str | None:
    """Return a file's declared title, or None if it is empty, or a program has made it up."""
    title = in_one_line(text or "")
    return None if not title or _MADE.fullmatch(title) else title
