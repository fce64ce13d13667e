"""HTML: the text of a page as Markdown, so that its headings stay headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafspan.errors import MissingExtra
from leafspan.files._decoding import decode
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._record import Record
from leafspan.files._source import Files

_CHARSET = re.compile(rb"""<meta\s[^>]*charset\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_DECLARED_WITHIN = 1024  # bytes, as the HTML standard says
_LEFT_OUT = ("script", "style", "noscript", "template", "svg", "iframe", "object", "head")
_MARKS = ["a", "img", "b", "strong", "em", "i", "u", "del", "s", "sub", "sup"]  # whose text stays, without a mark
_BLANK_LINES = re.compile(r"\n{3,}")


def read_html(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is the title of the page, or else its first heading."""
    try:
        from bs4 import BeautifulSoup
        from markdownify import MarkdownConverter
    except ImportError as error:
        raise MissingExtra.of("HTML needs markdownify", "html") from error
    data = read_bytes(path)
    declared = _CHARSET.search(data[:_DECLARED_WITHIN])
    html = decode(data, files.encoding or (declared[1].decode() if declared else "utf-8"))
    try:
        page: Any = BeautifulSoup(html, "html.parser")
        title = _words(page.title) or _words(page.find("h1"))
        for element in page(_LEFT_OUT):
            element.decompose()
        text = MarkdownConverter(
            heading_style="ATX", strip=_MARKS, escape_asterisks=False, escape_underscores=False
        ).convert_soup(page)
    except Exception as error:  # such as a RecursionError of elements within elements within ...
        raise Unreadable(f"it is no HTML that can be read: {error}") from None
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    yield Record(_BLANK_LINES.sub("\n\n", lines).strip() + "\n", title or None, {})


def _words(element: Any) -> str:
    return " ".join(element.get_text().split()) if element is not None else ""
