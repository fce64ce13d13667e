"""What a file reader returns: the file's documents, and its unreadable parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from leafspan.files._parts import Parts
from leafspan.files._source import Files
from leafspan.splitting import MARKDOWN, PLAIN, Layout

_MOST_PARSED = 2_000_000  # characters: a parser can need a thousand bytes of memory for each


class Record(NamedTuple):
    """A document of a file."""

    text: str
    title: str | None  # its title. None for the file's name
    metadata: Mapping[str, object]  # its metadata, as stored, beside the file's name
    part: str = ""  # the part of the file, such as ``page=3``. Empty for the whole file
    id: str | None = None  # its id, if the file gives it one. None for the file's name and the part
    left_out: Sequence[str] = ()  # what was left out, and why
    lines_before: int = 0  # number of lines of the file before the text
    markup: str = MARKDOWN  # the text's markup format
    parts: Sequence[Parts] | None = None  # None if the text has the lines of the file
    layout: Layout | None = None  # the text's structure, if it is known


def parsed_record(text: str, title: str | None, markup: str) -> Record:
    """Return the document of a text in a markup format. Headings of a very long text are not read."""
    if len(text) <= _MOST_PARSED:
        return Record(text, title, {}, markup=markup)
    left_out = [f"its headings are left out: it has more than {_MOST_PARSED:,} characters"]
    return Record(text, title, {}, left_out=left_out, markup=PLAIN)


class BadRecord(NamedTuple):
    """A part of a file that is not a document, and why."""

    reason: str


class Reader(Protocol):
    """A function that reads files of one kind."""

    def __call__(self, path: Path, files: Files) -> Iterator[Record | BadRecord]:
        """Yield a file's documents."""
        ...
