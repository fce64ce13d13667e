"""Markdown, reStructuredText and plain text: the text of the document is that of the file, character by character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from leafspan.files._decoding import decode
from leafspan.files._front_matter import front_matter_fields
from leafspan.files._opening import read_bytes
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.splitting import find_headings, front_matter

# Up to the first blank line after a line that is not: a heading at the start is in it, and parsing all takes longer.
_FIRST_BLOCK = re.compile(r"\s*(?:[^\r\n]*\S[^\r\n]*(?:\r\n?|\n|\Z))*")

# The title among the fields of front matter. Here and below no blanks are given back (++, *+), since a line may have many.
_FIELD_TITLE = re.compile(r"^title:[ \t]++([^\r\n]++)", re.MULTILINE)

# A title that is underlined, and perhaps overlined, by one repeated character.
_RST_TITLE = re.compile(r"\s*+(?:([^\w\s])\1++[ \t]*+\r?\n)?[ \t]*+(\S[^\r\n]*+)\r?\n([^\w\s])\3++[ \t]*+(?:\r?\n|\Z)")


def read_markdown(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is that in its front matter, or a top heading at its start; the other fields are metadata."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    front = front_matter(text)
    fields = front_matter_fields(front) if front else {}
    if front and (title := _FIELD_TITLE.search(front)):
        yield Record(text, _without_quotes(title[1].rstrip()), fields)
        return
    body = text[len(front) :]
    block = _FIRST_BLOCK.match(body)
    headings = find_headings(block[0]) if block else []
    begins = headings and headings[0].depth == 1 and not body[: headings[0].start].strip()
    yield Record(text, headings[0].text if begins else None, fields)


def read_rst(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its title is a heading at its start."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    title = _RST_TITLE.match(text)
    yield Record(text, title[2].rstrip() if title else None, {})


def _without_quotes(title: str) -> str:
    quoted = len(title) > 2 and title[0] == title[-1] and title[0] in "\"'"
    return title[1:-1] if quoted else title
