"""JSON lines: each line of a file is a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.checks import reason_of, shown
from leafspan.files._decoding import decode, wide_lines
from leafspan.files._opening import MOST_BYTES, Unreadable, open_file
from leafspan.files._record import BadRecord, Record
from leafspan.files._source import Files


def read_json_lines(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """See Reader. Lines are read one by one, so the file may be of any size. A blank line is none."""
    ids = set()
    encoding = files.encoding or "utf-8"
    with open_file(path) as file:
        lines: Iterator[bytes | str] = wide_lines(file, encoding, MOST_BYTES) or _lines(file)
        for number, line in enumerate(lines, start=1):
            try:
                text = (decode(line, encoding) if isinstance(line, bytes) else line).strip()
                if not text:
                    continue
                record = _record(json.loads(text), number, files)
                if record.id in ids:
                    raise Unreadable(f"id {record.id!r} was there before")
            except (Unreadable, ValueError, RecursionError) as error:
                yield BadRecord(f"line {number}: {reason_of(error)}")
                continue
            if record.id is not None:
                ids.add(record.id)
            yield record


def _lines(file: Any) -> Iterator[bytes]:
    while line := file.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            raise Unreadable(f"it has a line of more than {MOST_BYTES:,} bytes")
        yield line


def _record(fields: Any, number: int, files: Files) -> Record:
    if not isinstance(fields, dict):
        raise Unreadable(f"it must be a JSON object, got {type(fields).__name__}")
    text = fields.get(files.text_field)
    if not isinstance(text, str):
        raise Unreadable(f"it has no text in the field {files.text_field!r}; name the field with text_field")
    title = fields.get(files.title_field) if files.title_field is not None else None
    if title is not None and not isinstance(title, str):
        raise Unreadable(f"its title must be a string, got {shown(title)}")
    used = {files.text_field, files.id_field, files.title_field}
    metadata = dict(_flat({name: value for name, value in fields.items() if name not in used}))
    if files.id_field is None:
        return Record(text, title, metadata, part=f"line={number}")
    id_ = fields.get(files.id_field)
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        raise Unreadable(f"its id, the field {files.id_field!r}, must be a string or a whole number, got {shown(id_)}")
    return Record(text, title, metadata, id=str(id_))


def _flat(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """The values of an object by their names; those of nested objects by names that are joined by dots."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
