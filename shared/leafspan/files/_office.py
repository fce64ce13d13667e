"""What Office files of all kinds have in common: relations of their parts, equations, diagrams and charts; and slides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.files._opening import NO_TEXT, Unreadable, bytes_of, in_one_line, library, open_archive, parsing
from leafspan.files._record import Assembly, Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, formatted, table

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}"


def relations(archive: ZipFile, name: str) -> dict[str, tuple[str, str]]:
    """Return what a part of an archive refers to: by id the kind, such as ``"header"``, and the name of the other part."""
    try:
        data = archive.read(join(dirname(name), "_rels", f"{basename(name)}.rels"))
    except KeyError:
        return {}
    return {
        each.get("Id", ""): (
            each.get("Type", "").rpartition("/")[2],
            normpath(join("/", dirname(name), each.get("Target", ""))).lstrip("/"),
        )
        for each in ElementTree.fromstring(data)
        if each.get("TargetMode") != "External"
    }


def reference(element: Any, key: str) -> str:
    """Return the id of the relation in an attribute, such as ``r:id``."""
    return str(element.get(_RELATION + key) or element.get(_STRICT_RELATION + key) or "")


def name_of(element: Any) -> str:
    """Return an element's name without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def elements(element: Any, name: str) -> Iterator[Any]:
    """Yield the elements with this name in an element, in the order of the file."""
    return (each for each in element.iter() if name_of(each) == name)


def value_of(element: Any, *path: str) -> str | None:
    """Return the attribute ``val`` of the element below, ``""`` without this attribute, or None if there is no element."""
    for name in path:
        element = next((each for each in element if name_of(each) == name), None) if element is not None else None
    if element is None:
        return None
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == "val"), "")


def paragraphs(element: Any) -> list[str]:
    """Return the paragraphs of a drawing's text that are not blank."""
    texts = (in_one_line("".join(each.text or "" for each in elements(line, "t"))) for line in elements(element, "p"))
    return [text for text in texts if text]


def equation(element: Any) -> str:
    """Return an equation (OMML) in one line, such as ``(a + b)/2``."""
    kind = name_of(element)
    if kind == "t":
        return element.text or ""
    parts = [(name_of(each), equation(each)) for each in element if not name_of(each).endswith("Pr")]
    first = dict(reversed(parts))
    base, sub, sup = (first.get(each, "") for each in ("e", "sub", "sup"))
    down, up = f"_{_atom(sub)}" if sub else "", f"^{_atom(sup)}" if sup else ""
    match kind:
        case "f":
            return f"{_atom(first.get('num', ''))}/{_atom(first.get('den', ''))}"
        case "sSub" | "sSup" | "sSubSup":
            return f"{_atom(base)}{down}{up}"
        case "sPre":
            return f"{down}{up}{_atom(base)}"
        case "rad":
            degree = first.get("deg", "")
            return f"√{_atom(base)}" if not degree else f"root({degree}, {base})"
        case "nary":
            return f"{value_of(element, 'naryPr', 'chr') or '∫'}{down}{up} {base}"
        case "d":
            begin, middle, end = (value_of(element, "dPr", each) for each in ("begChr", "sepChr", "endChr"))
            inner = ("|" if middle is None else middle).join(text for name, text in parts if name == "e")
            return f"{'(' if begin is None else begin}{inner}{')' if end is None else end}"
        case "func":
            return f"{first.get('fName', '')}{_atom(base) if len(base) > 1 and base[:1] != '(' else ' ' + base}"
        case "limLow" | "limUpp":
            return f"{base}{'_' if kind == 'limLow' else '^'}{_atom(first.get('lim', ''))}"
        case "acc":
            return f"{base}{value_of(element, 'accPr', 'chr') or '̂'}"
        case "m" | "eqArr":
            return "; ".join(text for _, text in parts)
        case "mr":
            return ", ".join(text for _, text in parts)
    return "".join(text for _, text in parts)


def _atom(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() or (text[0] == "(" and text.find(")") == len(text) - 1) else f"({text})"


def diagram(root: Any) -> list[tuple[int, str]]:
    """Return the texts of a diagram (SmartArt), each with its depth, from top to bottom."""
    points = {each.get("modelId"): each for each in elements(root, "pt")}
    below: dict[str | None, list[tuple[int, str | None]]] = {}
    for each in elements(root, "cxn"):
        if each.get("type", "parOf") == "parOf":
            below.setdefault(each.get("srcId"), []).append((int(each.get("srcOrd") or 0), each.get("destId")))
    texts: list[tuple[int, str]] = []
    done: set[str | None] = set()
    roots = sorted(points, key=lambda each: points[each].get("type") != "doc")  # then points without a parent
    waiting: list[tuple[int, str | None]] = [
        (-1 if points[each].get("type") == "doc" else 0, each) for each in reversed(roots)
    ]
    while waiting:
        depth, id_ = waiting.pop()
        point = points.get(id_)
        if point is None or id_ in done or point.get("type") in ("pres", "parTrans", "sibTrans"):
            continue
        done.add(id_)
        if text := " ".join(paragraphs(point)):
            texts.append((max(depth, 0), text))
        waiting += [(depth + 1, each) for _, each in sorted(below.get(id_, ()), key=lambda each: -each[0])]
    return texts


def chart(root: Any) -> tuple[str, list[list[list[str]]]]:
    """Return a chart's titles, and its series as tables of a column for each, with a row for each category."""
    titles = " - ".join(text for title in elements(root, "title") for text in paragraphs(title))
    series = [(_points(each, "cat") or _points(each, "xVal"), each) for each in elements(root, "ser")]
    tables = []
    for categories, group in groupby(series, key=lambda each: each[0]):
        columns = [
            (_name(each), _points(each, "val") or _points(each, "yVal") | _points(each, "bubbleSize")) for _, each in group
        ]
        places = sorted({place for points in (categories, *(points for _, points in columns)) for place in points})
        rows = [[each.get(place, "") for each in (categories, *(points for _, points in columns))] for place in places]
        tables.append([["Category", *(name for name, _ in columns)], *rows])
    return titles, tables


def _name(series: Any) -> str:
    texts = (each.text for part in series if name_of(part) == "tx" for each in elements(part, "v"))
    return next((in_one_line(text) for text in texts if text), "")


def _points(series: Any, kind: str) -> dict[int, str]:
    """Return the texts of a series' categories or values by their places. The outer levels of categories come first."""
    points: dict[int, str] = {}
    for part in (each for each in series if name_of(each) == kind):
        code = next((each.text for each in elements(part, "formatCode")), None) or "General"
        for level in list(elements(part, "lvl")) or [part]:
            for number, point in enumerate(elements(level, "pt")):
                place = int(point.get("idx") or number)
                text = _value(next((each.text or "" for each in elements(point, "v")), ""), code)
                points[place] = f"{text} {points[place]}" if place in points else text
    return points


def _value(text: str, code: str) -> str:
    try:
        return formatted(float(text), code)
    except ValueError:
        return in_one_line(text)


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
