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
    """A document of a file.

    Attributes:
        text: Its text.
        title: Its title. None for the file's name.
        metadata: Its metadata, as stored, beside the file's name.
        part: The part of the file, such as ``page=3``. Empty for the whole file.
        id: Its id, if the file gives it one. None for the file's name and the part.
        left_out: What was left out, and why.
        lines_before: Number of lines of the file before the text.
        markup: The text's markup format.
        parts: Where the file's parts start in the text. None if the text has the file's own lines.
        layout: The text's structure, if it is known.
    """

    text: str
    title: str | None
    metadata: Mapping[str, object]
    part: str = ""
    id: str | None = None
    left_out: Sequence[str] = ()
    lines_before: int = 0
    markup: str = MARKDOWN
    parts: Sequence[Parts] | None = None
    layout: Layout | None = None


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
        """Yield a file's documents.

        Raises:
            Unreadable: if the file cannot be read.
            OSError: if the file cannot be read.
            MissingExtra: if a library is not installed.
        """
        ...
