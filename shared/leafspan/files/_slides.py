"""Slides: texts, tables and speaker notes of each slide, under its title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from leafspan.errors import MissingExtra
from leafspan.files._archive import bytes_of, open_archive
from leafspan.files._office import chart, diagram, equation, found, name_of, reference
from leafspan.files._opening import Unreadable
from leafspan.files._parts import Assembly
from leafspan.files._properties import title_in_properties
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, table

_DEEPEST = 8  # levels of a list, as in PowerPoint


def read_pptx(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its slides, without hidden ones. Its title is in its properties, or its first slide's."""
    try:
        from pptx import Presentation
    except ImportError as error:
        raise MissingExtra.of("PowerPoint needs python-pptx", "pptx") from error
    archive = open_archive(path)
    assembly = Assembly()
    first, left_out = None, list[str]()
    try:
        for number, slide in enumerate(Presentation(bytes_of(archive)).slides, start=1):
            if slide._element.get("show") in ("0", "false"):
                continue
            _simplify(slide._element)
            shown = slide.shapes.title
            title = _words(shown.text) if shown is not None else ""
            first = first or title
            parts = [f"# {title}"] if title else []
            for shape in _shapes(slide.shapes):
                if shown is not None and shape._element is shown._element:
                    continue
                try:
                    parts.append(_text(shape))
                except Exception as error:  # such as a broken chart
                    left_out.append(f"slide {number}: {shape.name} is left out: {error}")
            if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
                parts.append(f"Notes: {frame.text.strip()}")
            if text := "\n\n".join(filter(None, parts)):
                assembly.add(f"{text}\n\n", "slide", number)
    except Exception as error:  # a broken file makes python-pptx raise any exception
        raise Unreadable(f"these are no slides that python-pptx can read: {error}") from None
    if not assembly.text.strip():
        raise Unreadable("it has no text, only images perhaps: recognise its text first (OCR)")
    yield Record(assembly.text, title_in_properties(archive) or first or None, {}, left_out=left_out, parts=assembly.parts)


def _simplify(slide: Any) -> None:
    """Keep one of alternative contents, and turn equations into texts: the library sees neither."""
    for each in list(found(slide, "AlternateContent")):
        if (parent := each.getparent()) is not None:
            choice = next((part for part in each if name_of(part) == "Choice"), None)
            place = parent.index(each)
            parent[place : place + 1] = list(choice) if choice is not None else []
    for paragraph in list(found(slide, "p")):
        for each in [part for part in paragraph if name_of(part) == "m"]:
            text = " ".join(map(equation, found(each, "oMath")))
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


def _text(shape: Any) -> str:
    if getattr(shape, "has_table", False):
        return table(map(_row, shape.table.rows)).rstrip()
    for each in found(shape._element, "graphicData"):
        for drawing in each:
            if name_of(drawing) == "chart":
                title, tables = chart(_part(shape, reference(drawing, "id")))
                return "\n\n".join(filter(None, [title, *(table(rows).rstrip() for rows in tables)]))
            if name_of(drawing) == "relIds":
                return _listed(diagram(_part(shape, reference(drawing, "dm"))))
    if not shape.has_text_frame:
        return ""
    return _listed([(each.level, _words(each.text)) for each in shape.text_frame.paragraphs])


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


def _words(text: str) -> str:
    return " ".join(text.split())
