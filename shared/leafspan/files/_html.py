"""HTML: a page's text as Markdown, so that its headings stay headings; and books (EPUB), whose chapters are pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from leafspan.errors import MissingExtra
from leafspan.files._hidden import remove_hidden
from leafspan.files._office import elements
from leafspan.files._opening import (
    NO_TEXT,
    Unreadable,
    declared_in_html,
    decode,
    decode_declared,
    in_one_line,
    library,
    open_archive,
    parsing,
    read_bytes,
)
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._table import Cell, table
from leafspan.text import without_invisible

_LEFT_OUT = ("script", "style", "noscript", "template", "iframe", "object", "head", "title")
_MARKS = ["a", "img", "b", "strong", "em", "i", "u", "del", "s", "sub", "sup"]  # keep their text, but not their marks
_BLANK_LINES = re.compile(r"\n{3,}")
_WORD = re.compile(r"\w+")

# Elements whose end tags may be omitted: each start tag with the elements that it ends, and those that enclose them.
_P_ENDS_BEFORE = re.findall(
    r"\w+",
    "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol "
    "p pre section table ul",
)
_CELL, _GROUP = ("td", "th"), ("thead", "tbody", "tfoot")
_ORDER = {"thead": 0, "tfoot": 2}  # in which browsers show the rows of a table
_ENDED_BY: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(_P_ENDS_BEFORE, (("p",), ("button", "caption", "object", "table", *_CELL))),
    "li": (("li",), ("ul", "ol", "menu", "table")),
    **dict.fromkeys(("dt", "dd"), (("dt", "dd"), ("dl", "table"))),
    **dict.fromkeys(_CELL, (_CELL, ("tr", "table"))),
    "tr": (("tr", "caption", "colgroup"), ("table",)),
    **dict.fromkeys((*_GROUP, "caption", "colgroup"), (("tr", *_GROUP, "caption", "colgroup"), ("table",))),
    "option": (("option",), ("select", "datalist")),
    "optgroup": (("optgroup", "option"), ("select",)),
}
_IN_HEAD = frozenset({"base", "head", "html", "link", "meta", "noscript", "script", "style", "template", "title"})

# Links to a heading itself that site generators add, recognised by class or text.
_ANCHOR = re.compile(
    r"(?:header|heading|hash|anchor|perma)-?(?:link|anchor)|anchor(?:js-link)?|mw-editsection", re.IGNORECASE
)
_ANCHOR_SIGNS = frozenset("¶⁋§#🔗⚓")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "caption", "figcaption", "legend", "summary")

_WRITTEN = ("", "text", "email", "number", "date", "tel", "url", "search")  # fields that show their value
_HEADING = re.compile("h[1-6]")
_LAID_OUT = ("table", "ul", "ol", "pre")  # what cells have if a table of one column or row only lays out a page
_MOST_COLUMNS = 1000  # that a cell covers, as the HTML standard says
_MOST_ROWS = 65534

_BLOCKS = ("address", "aside", "details", "fieldset", "figure", "footer", "form", "header", "main", "nav", "summary")
_FRAME_ROLES = frozenset({"banner", "complementary", "contentinfo", "navigation", "search"})
_SIDEBAR = re.compile(r"\b(?:side-?bar|toc|table-of-contents|related|nav|menu)\b|sidebar", re.IGNORECASE)


def read_html(path: Path, files: Files) -> Iterator[Record]:
    """Read a page. Its title is the page's title, or else its first heading.

    If a page marks its main content, navigation, sidebars and footers are left out.
    """
    data = read_bytes(path)
    declared = None if files.encoding else declared_in_html(data)
    text, title = markdown_of(decode_declared(data, [declared]) if declared else decode(data, files.encoding or "utf-8"))
    yield Record(text, title, {}, parts=())


def markdown_of(html: str) -> tuple[str, str | None]:
    """Return a page's main content as Markdown, and its title."""
    markdownify = library("markdownify", "HTML needs markdownify", "html")
    with parsing("it is no HTML that can be read"):
        page = _parsed(html)
        title = _words(page.title).replace("¶", "").strip()
        remove_hidden(page)
        for drawing in page("svg"):
            drawing.replace_with(" ".join(filter(None, map(_words, drawing("text")))))
        for field in page("input", value=True):
            if field.get("type", "text").lower() in _WRITTEN:
                field.replace_with(f" {field['value']} ")
        for element in page(_LEFT_OUT):
            element.decompose()
        _remove_anchors(page)
        title = title or _words(page.find("h1"))
        content = _content(page)
        for element in page(_BLOCKS):
            element.name = "div"  # the library treats them as parts of a line
        _unwrap_layout(page)
        converter = _converter(markdownify.MarkdownConverter)(
            heading_style="ATX", strip=_MARKS, escape_asterisks=False, escape_underscores=False
        )
        text = "\n\n".join(converter.convert_soup(element) for element in content)
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip() + "\n", title or None


def _parsed(html: str) -> Any:
    """Parse the page, and add omitted end tags."""
    from bs4 import BeautifulSoup

    class Page(BeautifulSoup):
        def handle_starttag(self, name: str, *arguments: Any, **options: Any) -> Any:
            if name not in _IN_HEAD and self.open_tag_counter.get("head"):
                self.handle_endtag("head")
            ended, within = _ENDED_BY.get(name, ((), ()))
            if any(map(self.open_tag_counter.get, ended)):
                for tag in self.tagStack[::-1]:
                    if tag.name in within:
                        break
                    if tag.name in ended:
                        self.handle_endtag(tag.name)
            return super().handle_starttag(name, *arguments, **options)

    return Page(html, "html.parser")


@cache
def _converter(library: Any) -> Any:
    """Return the library's class with our tables."""

    class Converter(library):  # type: ignore[misc]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self._cells: dict[int, list[tuple[Any, str]]] = {}  # by the id of their row
            self._rows: dict[int, list[tuple[Any, list[tuple[Any, str]]]]] = {}  # by the id of their table

        def convert_td(self, el: Any, text: str, parent_tags: set[str]) -> str:
            if (row := _above(el, "tr")) is None:
                return f"\n\n{text}\n\n"
            self._cells.setdefault(id(row), []).append((el, text))
            return ""

        convert_th = convert_td

        def convert_tr(self, el: Any, text: str, parent_tags: set[str]) -> str:
            cells = self._cells.pop(id(el), [])
            if (within := _above(el, "table")) is None:
                return " ".join([text, *(each for _, each in cells)]) + "\n"
            self._rows.setdefault(id(within), []).append((el, cells))
            return text

        def convert_table(self, el: Any, text: str, parent_tags: set[str]) -> str:
            """Return the caption and the table, or a table in a cell as one line."""
            rows = self._rows.pop(id(el), [])
            if {"td", "th"} & parent_tags:
                return " ".join([text, "; ".join(", ".join(each.strip() for _, each in cells) for _, cells in rows)])
            return f"\n\n{text.strip()}\n\n{_table(rows)}\n\n"

    return Converter


def _table(rows: list[tuple[Any, list[tuple[Any, str]]]]) -> str:
    """Return rows of cells as Markdown, in the order in which browsers show them."""
    groups = [_above(row, *_GROUP) for row, _ in rows]
    places = [_ORDER.get(group.name, 1) if group is not None else 1 for group in groups]
    left, before = 0, object()
    grid: list[list[Cell]] = []
    for (_, cells), group in zip(reversed(rows), reversed(groups), strict=True):
        left, before = left + 1 if group is before else 1, group  # no cell reaches beyond its group of rows
        grid.append([Cell(text, min(_span(cell, "rowspan"), left), _span(cell, "colspan")) for cell, text in cells])
    grid.reverse()
    order = sorted(range(len(rows)), key=places.__getitem__)
    is_head = [places[each] == 0 or all(cell.name == "th" for cell, _ in rows[each][1]) for each in order]
    header = next((number for number, head in enumerate(is_head) if not head), 1)
    return table([grid[each] for each in order], header=header)


def _above(element: Any, *names: str) -> Any:
    """Return the nearest of these elements above it, or None. The library's own function takes ten times as long."""
    while (element := element.parent) is not None and element.name not in names:
        pass
    return element


def _span(cell: Any, key: str) -> int:
    text = str(cell.get(key, "")).strip()
    most = _MOST_ROWS if key == "rowspan" else _MOST_COLUMNS
    return min(int(text[:6]) or (most if key == "rowspan" else 1), most) if text.isascii() and text.isdigit() else 1


def _unwrap_layout(page: Any) -> None:
    """Turn tables that only lay out a page into blocks."""
    for each in page("table"):
        if each.get("role") in ("presentation", "none") or _lays_out(each):
            for element in [part for part in each(["tr", *_CELL, *_GROUP]) if _above(part, "table") is each]:
                element.name = "div"
            each.name = "div"


def _lays_out(each: Any) -> bool:
    if each.find(["caption", "th"]) is not None:
        return False
    if each.find(_HEADING) is not None:
        return True
    rows = [part for part in each("tr") if _above(part, "table") is each]
    cells = [cell for row in rows for cell in row.children if cell.name == "td"]
    if 1 < len(rows) < len(cells):
        return False
    return any(cell.find(_LAID_OUT) or len(cell(["p", "div"], limit=2)) > 1 for cell in cells)


def _remove_anchors(page: Any) -> None:
    for link in page("a", href=True):
        text = without_invisible(link.get_text()).strip()
        if "#" in link["href"] and set(text) <= _ANCHOR_SIGNS:
            link.decompose()
    for heading in page(_HEADINGS):
        words = len(_WORD.findall(heading.get_text(" ")))
        for element in heading(_is_anchor):
            within = 0 if element.decomposed else len(_WORD.findall(element.get_text(" ")))
            if not element.decomposed and within < words:
                words -= within
                element.decompose()


def _is_anchor(element: Any) -> bool:
    if any(_ANCHOR.fullmatch(each) for each in element.get_attribute_list("class") if each):
        return True
    return element.get("aria-hidden") == "true" or (element.name == "a" and not _WORD.search(element.get_text()))


def _content(page: Any) -> list[Any]:
    """Return a page's main content without its frame, or the whole page if the main content is not marked."""
    contents = _outermost(page, lambda element: element.name == "main" or element.get("role") == "main")
    if not any(map(_size, contents)):
        contents = _outermost(page, lambda element: element.name == "article")
        framing = sum(map(_size, _outermost(page, _is_frame)))
        if 2 * sum(map(_size, contents)) <= _size(page) - framing:
            return [page]  # articles beside the content, such as cards that link to others
    for content in contents:
        for frame in _outermost(content, _is_frame):
            frame.decompose()
    articles = _outermost(contents[0], lambda element: element.name == "article") if len(contents) == 1 else []
    return articles if len(articles) == 1 and 2 * _size(articles[0]) > _size(contents[0]) else contents


def _is_frame(element: Any) -> bool:
    """Whether it is navigation, a sidebar or a footer, but not a note or the source of a quotation."""
    if element.name == "nav" or element.get("role") in _FRAME_ROLES:
        return True
    if element.name == "footer":
        return element.find_parent(["blockquote", "figure"]) is None
    if element.name != "aside":
        return False
    names = " ".join([*element.get_attribute_list("class"), element.get("id") or ""]) if element.attrs else ""
    in_links = sum(map(_size, element("a")))
    return bool(_SIDEBAR.search(names)) or 2 * in_links > _size(element)


def _outermost(element: Any, is_one: Any) -> list[Any]:
    matches = element(is_one)
    ids = {id(each) for each in matches}
    return [each for each in matches if not any(id(parent) in ids for parent in each.parents)]


def _size(element: Any) -> int:
    """Return the number of characters of its text, without white space."""
    return sum(len(each.strip()) for each in element.strings)


def _words(element: Any) -> str:
    return in_one_line(without_invisible(element.get_text())) if element is not None else ""


def read_epub(path: Path, files: Files) -> Iterator[Record]:
    """Read a book, whose sections are its chapters. A chapter that cannot be read is left out."""
    archive = open_archive(path)
    texts: list[str] = []
    left_out: list[str] = []
    with parsing("it is no book that can be read"):
        chapters, title = _chapters(archive)
    for name, problem in chapters.items():
        try:
            if problem or name not in archive.NameToInfo:
                raise Unreadable(problem or "it is not in the file")
            texts.append(markdown_of(decode(archive.read(name), "utf-8"))[0])
        except MissingExtra:
            raise
        except Exception as error:  # a chapter may be broken in many ways
            left_out.append(f"the chapter {name!r} is left out: {error}")
    text = "\n".join(text for text in texts if text.strip())
    if not text:
        raise Unreadable("; ".join(left_out[:1]) or NO_TEXT)
    yield Record(text, title, {}, left_out=left_out, parts=())


def _chapters(archive: ZipFile) -> tuple[dict[str, str], str | None]:
    """Return the names of the files with the book's chapters, in reading order, each with a problem, and its title."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(each.get("full-path", "") for each in elements(container, "rootfile"))
    book = ElementTree.fromstring(archive.read(package))
    names = {each.get("id", ""): unquote(each.get("href", "")) for each in elements(book, "item")}
    read: dict[str, str] = {}  # each file once: a book of a few kilobytes can name a chapter a million times
    for each in elements(book, "itemref"):
        if each.get("linear") != "no":
            id_ = each.get("idref", "")
            read |= (
                {normpath(join(dirname(package), names[id_])): ""} if id_ in names else {id_: "the book does not list it"}
            )
    title = next((in_one_line(each.text or "") for each in elements(book, "title")), "")
    return read, title or None
