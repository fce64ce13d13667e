"""What a reader of files returns: the documents of a file, and the parts that are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from leafspan.files._parts import Parts
from leafspan.files._source import Files
from leafspan.splitting import MARKDOWN, PLAIN

_MOST_PARSED = 2_000_000  # characters: a parser can need a thousand bytes of memory for each


class Record(NamedTuple):
    """A document of a file.

    Attributes:
        text: Its text.
        title: Its title. None for the name of the file.
        metadata: Its metadata, beside the name of the file, as they are stored.
        part: Which part of the file it is, such as ``page=3``. Empty if it is the whole file.
        id: Its id, if the file gives it one. None for the name of the file and the part.
        left_out: What of it was left out, and why.
        lines_before: Number of lines of the file before the text.
        markup: What the text is written in.
        parts: Where the parts of the file begin in the text. None if the text is the file's own, with its lines.
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


def parsed_record(text: str, title: str | None, markup: str) -> Record:
    """The document of a text in a markup. Of one that is too long, the text is read, and not its headings."""
    if len(text) <= _MOST_PARSED:
        return Record(text, title, {}, markup=markup)
    left_out = [f"its headings are left out: it has more than {_MOST_PARSED:,} characters"]
    return Record(text, title, {}, left_out=left_out, markup=PLAIN)


class BadRecord(NamedTuple):
    """A part of a file that is no document, and why."""

    reason: str


class Reader(Protocol):
    """A function that reads files of one kind."""

    def __call__(self, path: Path, files: Files) -> Iterator[Record | BadRecord]:
        """The documents of a file.

        Raises:
            Unreadable: if the file cannot be read.
            OSError: if the file cannot be read.
            MissingExtra: if a library is not installed.
        """
        ...
