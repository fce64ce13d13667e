"""JSON lines: each line of a file is a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.checks import reason_of, shown, storable_fields
from leafspan.files._decoding import decode, wide_lines
from leafspan.files._opening import MOST_BYTES, Unreadable, open_file
from leafspan.files._record import BadRecord, Record
from leafspan.files._source import Files

_MOST_LEVELS = 100
_MOST_DIGITS = 300


def read_json_lines(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """See Reader. Lines are read one by one, so the file may have any size. Blank lines are ignored."""
    ids = set()
    encoding = files.encoding or "utf-8"
    with open_file(path) as file:
        lines: Iterator[bytes | str] = wide_lines(file, encoding, MOST_BYTES) or _lines(file)
        for number, line in enumerate(lines, start=1):
            try:
                text = (decode(line, encoding) if isinstance(line, bytes) else line).strip()
                if not text:
                    continue
                record = _record(json.loads(text, parse_int=_whole), number, files)
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
    id_ = None if files.id_field is None else _id(fields.get(files.id_field), files.id_field)
    title = None if files.title_field is None else fields.get(files.title_field)
    used = {files.text_field, files.id_field, files.title_field}
    values, odd = _flat({name: value for name, value in fields.items() if name not in used})
    if title is not None and not isinstance(title, str):
        odd[str(files.title_field)], title = f"a title must be a text, got {shown(title)}", None
    metadata, unstorable = storable_fields(values)
    reasons = [f"line {number}: the field {name!r} is left out: {reason}" for name, reason in (odd | unstorable).items()]
    return Record(text, title, metadata, f"line={number}", id_, reasons)


def _id(id_: object, field: str) -> str:
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        raise Unreadable(f"its id, the field {field!r}, must be a string or a whole number, got {shown(id_)}")
    return str(id_)


def _flat(fields: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, str]]:
    """Return an object's values by name (dotted for nested ones), and the reasons why others were left out."""
    flat: dict[str, object] = {}
    odd: dict[str, str] = {}
    waiting = [iter(fields.items())]
    above = [""]
    while waiting:
        if (field := next(waiting[-1], None)) is None:
            waiting.pop()
            above.pop()
            continue
        name, value = f"{above[-1]}{field[0]}", field[1]
        if isinstance(value, dict) and len(waiting) < _MOST_LEVELS:
            waiting.append(iter(value.items()))
            above.append(f"{name}.")
        elif isinstance(value, dict):
            odd[name] = f"it has more than {_MOST_LEVELS} objects within each other"
        elif name in flat:
            odd[name] = "there are two fields of this name"
        else:
            flat[name] = value
    return flat, odd


def _whole(digits: str) -> int | float:
    """Read a number without a fraction. Python refuses more than 4,300 digits, and metadata have at most 64 bits."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)
