"""JSON, YAML and similar formats: the unchanged text. No line is a heading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from leafspan.files._decoding import decode
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.splitting import PLAIN

_LONGEST_LINE = 1_000  # characters; JSON with longer lines is rewritten with one value a line


def read_plain(path: Path, files: Files) -> Iterator[Record]:
    """See Reader."""
    yield Record(decode(read_bytes(path), files.encoding or "utf-8"), None, {}, markup=PLAIN)


def read_json(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. JSON in a few long lines is rewritten with one value a line, so that leaves are whole values."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    if max(map(len, text.splitlines()), default=0) <= _LONGEST_LINE:
        yield Record(text, None, {}, markup=PLAIN)
        return
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    yield Record(text + "\n", None, {}, markup=PLAIN, parts=())
