"""Word documents: their text as Markdown, with headings, lists and tables. No macro is run, and no picture is read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.files._html import markdown_of
from leafspan.files._office import (
    chart,
    diagram,
    elements,
    equation,
    name_of,
    paragraphs,
    reference,
    relations,
    title_in_properties,
    value_of,
)
from leafspan.files._opening import NO_TEXT, Unreadable, library, open_archive, parsing
from leafspan.files._record import Record
from leafspan.files._source import Files

_OFF = ("0", "false", "off", "none")
_PLAIN_TABLES = (None, "TableNormal", "TableGrid")  # styles without coloured cells
_UNWRAPPED = ("fldSimple", "dir", "bdo", "smartTag", "customXml")  # the library ignores some of them, with their text
_SMALLEST = 2  # half points
_DEEPEST = 6


def read_docx(path: Path, files: Files) -> Iterator[Record]:
    """Read a document. Its title has the style of titles, or is in its properties, or is its first heading."""
    mammoth = library("mammoth", "Word needs mammoth", "docx")
    archive = open_archive(path)
    with parsing("it is no document that mammoth can read"):
        document = _Document(archive)
        html = mammoth.convert_to_html(document.rewritten(), include_embedded_style_map=False).value
    text, heading = markdown_of(html)
    if not text.strip():
        raise Unreadable(NO_TEXT)
    title = document.title or title_in_properties(archive) or heading
    yield Record(text, title, {}, left_out=document.left_out, parts=())


class _Document:
    """A document, rewritten for mammoth.

    Text boxes, diagrams and charts become paragraphs and tables below the paragraph that has them; page headers and footers
    become the first and last paragraphs; equations become text; hidden text is removed.
    """

    def __init__(self, archive: ZipFile) -> None:
        self.title: str | None = None
        self.left_out: list[str] = []
        self._archive = archive
        main = dict(relations(archive, "").values()).get("officeDocument", "word/document.xml")
        self._main, self._relations = main, relations(archive, main)
        self._parts = dict(self._relations.values())
        self._root = ElementTree.fromstring(archive.read(main))
        self._w = self._root.tag.rpartition("}")[0] + "}"  # the namespace, which has two versions
        styles = ElementTree.fromstring(archive.read(self._parts["styles"])) if "styles" in self._parts else ()
        self._styles = {each.get(self._w + "styleId"): each for each in styles if name_of(each) == "style"}

    def rewritten(self) -> io.BytesIO:
        """Return the document's archive, without pictures."""
        body = next(elements(self._root, "body"))
        sections = list(elements(body, "sectPr"))
        self._rewrite(body, self._relations, shaded=next(elements(self._root, "background"), None) is not None)
        body[:0] = self._margins(sections, "headerReference")
        body.extend(self._margins(sections, "footerReference"))
        rewritten = {self._main: ElementTree.tostring(self._root)}
        for kind in ("footnotes", "endnotes"):
            if (name := self._parts.get(kind)) in self._archive.namelist():
                notes = ElementTree.fromstring(self._archive.read(name or ""))
                self._rewrite(notes, relations(self._archive, name or ""), shaded=False)
                rewritten[name or ""] = ElementTree.tostring(notes)
        data = io.BytesIO()
        with ZipFile(data, "w") as written:
            for name in self._archive.namelist():
                if name.endswith((".xml", ".rels")):
                    written.writestr(name, rewritten.get(name) or self._archive.read(name))
        data.seek(0)
        return data

    def _margins(self, sections: list[Any], kind: str) -> Iterator[Any]:
        """Yield the paragraphs of the headers, or the footers, that pages show, each once and as plain text."""
        texts = set()
        settings = self._archive.read(self._parts["settings"]) if "settings" in self._parts else b""
        for section in sections:
            for each in section:
                which = each.get(self._w + "type")
                is_shown = which == "default" or (
                    value_of(section, "titlePg") not in (None, *_OFF)
                    if which == "first"
                    else b"evenAndOddHeaders" in settings
                )
                name = self._relations.get(reference(each, "id"), ("", ""))[1]
                if name_of(each) == kind and is_shown and name:
                    root = ElementTree.fromstring(self._archive.read(name))
                    self._rewrite(root, relations(self._archive, name), shaded=True, plain=True)
                    for part in root:
                        text = "".join(part.itertext()).strip()
                        if any(map(str.isalpha, text)) and text not in texts:
                            texts.add(text)
                            yield part

    def _rewrite(
        self, parent: Any, related: Any, *, shaded: bool, plain: bool = False, boxes: list[Any] | None = None
    ) -> None:
        """Rewrite what is in an element. What belongs below its paragraph is added to ``boxes``."""
        within = name_of(parent)
        children: list[Any] = []
        waiting = list(reversed(parent))
        while waiting:
            element = waiting.pop()
            kind = name_of(element)
            if kind == "AlternateContent":
                choices = sorted(element, key=lambda each: name_of(each) != "Choice")
                waiting += reversed(choices[0] if choices else [])
            elif kind in _UNWRAPPED or (kind == "hyperlink" and plain):
                waiting += reversed(element)
            elif kind == "sdt" and within in ("tbl", "tr"):
                waiting += reversed([each for content in element if name_of(content) == "sdtContent" for each in content])
            elif within in ("tbl", "tr") and kind not in ("tblPr", "tblGrid", "tblPrEx", "trPr", "tr", "tc"):
                continue  # such as a bookmark, which makes the library forget merged cells
            elif kind == "altChunk":
                self.left_out.append("an embedded file is left out")
            elif kind in ("oMath", "oMathPara"):
                children.append(
                    self._run(" ".join(map(equation, [element] if kind == "oMath" else elements(element, "oMath"))))
                )
            elif kind in ("drawing", "pict", "object"):
                (children if boxes is None else boxes).extend(self._drawn(element, related, plain=plain))
            elif not self._is_hidden(element, kind, shaded):
                below: list[Any] | None = [] if kind == "p" else boxes
                is_shaded = shaded or self._is_shaded(element, kind)
                self._rewrite(element, related, shaded=is_shaded, plain=plain, boxes=below)
                if kind == "p":
                    self._mark(element, plain=plain)
                elif kind == "tr":
                    self._fill(element)
                children += [element, *(below or ())] if kind == "p" else [element]
        parent[:] = children

    def _drawn(self, drawing: Any, related: Any, *, plain: bool) -> Iterator[Any]:
        """Yield what a drawing shows, as paragraphs and tables."""
        wrapper = ElementTree.Element("x")
        for each in list(_outermost(drawing)):
            if name_of(each) == "txbxContent":
                wrapper[:] = list(each)
                self._rewrite(wrapper, related, shaded=True, plain=plain)
                yield from wrapper
                continue
            name = related.get(reference(each, "id" if name_of(each) == "chart" else "dm"), ("", ""))[1]
            if name not in self._archive.namelist():
                continue
            root = ElementTree.fromstring(self._archive.read(name))
            if name_of(each) == "chart":
                title, tables = chart(root)
                yield self._paragraph(title)
                for rows in tables:
                    yield self._element("tbl", *(self._element("tr", *map(self._cell, row)) for row in rows))
            else:
                yield from (self._paragraph(text) for _, text in diagram(root))

    def _mark(self, paragraph: Any, *, plain: bool) -> None:
        """Give headings the style that the library knows, and find the document's title."""
        properties = next((each for each in paragraph if name_of(each) == "pPr"), None)
        if properties is None:
            return
        style = next((each for each in properties if name_of(each) == "pStyle"), None)
        depth = None if plain else self._depth(value_of(properties, "outlineLvl"), style)
        if style is not None and plain:
            properties.remove(style)
        if depth is None:
            return
        if style is None:
            style = self._element("pStyle")
            properties.append(style)
        style.set(self._w + "val", f"Heading{max(1, depth)}")
        if depth == 0 and self.title is None:
            self.title = " ".join(paragraphs(self._element("x", paragraph))) or None

    def _depth(self, level: str | None, style: Any) -> int | None:
        """Return the depth of a heading, 0 for a title, or None for another paragraph."""
        if level is not None:
            return _depth_of(level)
        for each in self._chain(None if style is None else style.get(self._w + "val")):
            name = (value_of(each, "name") or "").lower()
            if name == "title":
                return 0
            if name.startswith("heading ") and name[8:].isdecimal():
                return min(int(name[8:]), _DEEPEST)
            if (level := value_of(each, "pPr", "outlineLvl")) is not None:
                return _depth_of(level)
        return None

    def _chain(self, style: str | None) -> Iterator[Any]:
        """Yield a style and those that it is based on."""
        done = set()
        while style in self._styles and style not in done:
            done.add(style)
            yield self._styles[style]
            style = value_of(self._styles[style], "basedOn")

    def _is_hidden(self, element: Any, kind: str, shaded: bool) -> bool:
        """Whether it is a hidden row, or text that is hidden, tiny, or white on white."""
        if kind == "tr":
            return value_of(element, "trPr", "hidden") not in (None, *_OFF)
        if kind == "p":
            styles = [(each, "rPr") for each in self._chain(value_of(element, "pPr", "pStyle"))]
        elif kind == "r":
            styles = [(element, "rPr"), *((each, "rPr") for each in self._chain(value_of(element, "rPr", "rStyle")))]
        else:
            return False
        vanish, color, size = (
            next((value for each, part in styles if (value := value_of(each, part, name)) is not None), None)
            for name in ("vanish", "color", "sz")
        )
        if vanish not in (None, *_OFF) or ((size or "").isdecimal() and int(size or "") <= _SMALLEST):
            return True
        if kind == "p" or (color or "").upper() != "FFFFFF" or shaded:
            return False
        return all(value_of(element, "rPr", name) is None for name in ("shd", "highlight"))

    def _is_shaded(self, element: Any, kind: str) -> bool:
        """Whether its background may not be white."""
        if kind == "tbl":
            return value_of(element, "tblPr", "tblStyle") not in _PLAIN_TABLES
        if kind == "tc":
            return self._has_shade(element, "tcPr")
        if kind == "p":
            chain = self._chain(value_of(element, "pPr", "pStyle"))
            return self._has_shade(element, "pPr") or any(self._has_shade(each, "pPr") for each in chain)
        return False

    def _has_shade(self, element: Any, properties: str) -> bool:
        shades = (each for part in element if name_of(part) == properties for each in part if name_of(each) == "shd")
        fills = (each.get(self._w + "fill", "auto").upper() for each in shades)
        return any(fill not in ("AUTO", "FFFFFF") for fill in fills)

    def _fill(self, row: Any) -> None:
        """Add the cell of the columns before a row's first cell."""
        before = value_of(row, "trPr", "gridBefore") or ""
        if before.isdecimal() and int(before):
            span = self._element("gridSpan")
            span.set(self._w + "val", before)
            cell = self._element("tc", self._element("tcPr", span), self._element("p"))
            row.insert(next((n for n, each in enumerate(row) if name_of(each) == "tc"), len(row)), cell)

    def _element(self, name: str, *children: Any) -> Any:
        element = ElementTree.Element(self._w + name)
        element.extend(children)
        return element

    def _run(self, text: str) -> Any:
        run = self._element("r", self._element("t"))
        run[0].text = text
        run[0].set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
        return run

    def _paragraph(self, text: str) -> Any:
        return self._element("p", self._run(text))

    def _cell(self, text: str) -> Any:
        return self._element("tc", self._paragraph(text))


def _outermost(drawing: Any) -> Iterator[Any]:
    """Yield a drawing's text boxes, charts and diagrams, but not those in other text boxes."""
    waiting = [drawing]
    while waiting:
        element = waiting.pop()
        if name_of(element) == "AlternateContent":
            element = next((each for each in element if name_of(each) == "Choice"), element)
        if name_of(element) in ("txbxContent", "chart", "relIds"):
            yield element
        else:
            waiting += reversed(element)


def _depth_of(level: str) -> int | None:
    return min(int(level) + 1, _DEEPEST) if level.isdecimal() and int(level) < 9 else None
