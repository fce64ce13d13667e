"""Texts whose markup is parsed, up to a length: a parser can need a thousand bytes of memory for a character."""

from __future__ import annotations

from leafspan.files._record import Record
from leafspan.splitting import PLAIN

_MOST_PARSED = 2_000_000  # characters


def parsed_record(text: str, title: str | None, markup: str) -> Record:
    """The document of a text in a markup. Of one that is too long, the text is read, and not its headings."""
    if len(text) <= _MOST_PARSED:
        return Record(text, title, {}, markup=markup)
    left_out = [f"its headings are left out: it has more than {_MOST_PARSED:,} characters"]
    return Record(text, title, {}, left_out=left_out, markup=PLAIN)
