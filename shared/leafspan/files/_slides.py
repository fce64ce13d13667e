"""Slides: texts, tables and speaker notes of each slide, under its title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from leafspan.errors import MissingExtra
from leafspan.files._archive import bytes_of, open_archive
from leafspan.files._opening import Unreadable
from leafspan.files._parts import Assembly
from leafspan.files._properties import title_in_properties
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._table import Tables


def read_pptx(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its slides. Its title is in its properties, or else its first slide's title."""
    try:
        from pptx import Presentation
    except ImportError as error:
        raise MissingExtra.of("PowerPoint needs python-pptx", "pptx") from error
    archive = open_archive(path)
    assembly = Assembly()
    first, left_out = None, list[str]()
    try:
        for number, slide in enumerate(Presentation(bytes_of(archive)).slides, start=1):
            title = _words(slide.shapes.title.text) if slide.shapes.title is not None else ""
            first = first or title
            parts = [f"# {title}"] if title else []
            for shape in _shapes(slide.shapes):
                if shape == slide.shapes.title:
                    continue
                try:
                    parts.append(_text(shape))
                except Exception as error:  # such as an unknown kind of chart
                    left_out.append(f"slide {number}: {shape.name} is left out: {error}")
            if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None and frame.text.strip():
                parts.append(f"Notes: {frame.text.strip()}")
            assembly.add("\n\n".join(filter(None, parts)) + "\n\n", "slide", number)
    except Exception as error:  # a broken file makes python-pptx raise any exception
        raise Unreadable(f"these are no slides that python-pptx can read: {error}") from None
    yield Record(assembly.text, title_in_properties(archive) or first or None, {}, left_out=left_out, parts=assembly.parts)


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield the shapes from top to bottom, including those in groups."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _text(shape: Any) -> str:
    if getattr(shape, "has_table", False):
        assembly = Assembly()
        Tables(assembly).add([cell.text for cell in row.cells] for row in shape.table.rows)
        return assembly.text.rstrip()
    if getattr(shape, "has_chart", False):
        return _of_chart(shape.chart)
    if not shape.has_text_frame:
        return ""
    paragraphs = [(each.level, _words(each.text)) for each in shape.text_frame.paragraphs]
    filled = [(level, text) for level, text in paragraphs if text]
    if len(filled) == 1:
        return filled[0][1]
    return "\n".join(f"{'  ' * level}- {text}" for level, text in filled)


def _of_chart(chart: Any) -> str:
    """Return a chart's data as a table with a column for each series."""
    title = _words(chart.chart_title.text_frame.text) if chart.has_title and chart.chart_title.has_text_frame else ""
    assembly = Assembly()
    for plot in chart.plots:
        names, series = [str(each) for each in plot.categories], list(plot.series)
        rows = zip_longest(names, *(each.values for each in series))
        Tables(assembly).add([["Category", *(each.name for each in series)], *rows])
    return "\n\n".join(filter(None, [title, assembly.text.rstrip()]))


def _words(text: str) -> str:
    return " ".join(text.split())
