"""JSON, YAML and similar formats: the unchanged text, a document a line, or the cells of a notebook."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.checks import reason_of, shown, storable_fields
from leafspan.files._opening import Unreadable, decode, lines_of, open_file, read_bytes
from leafspan.files._record import Assembly, BadRecord, Record
from leafspan.files._source import Files
from leafspan.files._text import first_heading, without_pictures
from leafspan.splitting import PLAIN

_LONGEST_LINE = 1_000  # characters; JSON with longer lines is rewritten with one value a line


def read_plain(path: Path, files: Files) -> Iterator[Record]:
    yield Record(decode(read_bytes(path), files.encoding or "utf-8"), None, {}, markup=PLAIN)


def read_json(path: Path, files: Files) -> Iterator[Record]:
    """Read JSON. If it has a few long lines, it is rewritten with one value a line, so that leaves are whole values."""
    text = decode(read_bytes(path), files.encoding or "utf-8")
    if max(map(len, text.splitlines()), default=0) <= _LONGEST_LINE:
        yield Record(text, None, {}, markup=PLAIN)
        return
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON: {error}") from None
    yield Record(text + "\n", None, {}, markup=PLAIN, parts=())


_MOST_LEVELS = 100
_MOST_DIGITS = 300


def read_json_lines(path: Path, files: Files) -> Iterator[Record | BadRecord]:
    """Read documents line by line, so the file may have any size. Blank lines are ignored."""
    ids = set()
    encoding = files.encoding or "utf-8"
    with open_file(path) as file:
        for number, line in enumerate(lines_of(file, encoding), start=1):
            try:
                text = (decode(line, encoding) if isinstance(line, bytes) else line).strip()
                if not text:
                    continue
                record = _record_of_line(json.loads(text, parse_int=_whole), number, files)
                if record.id in ids:
                    raise Unreadable(f"id {record.id!r} was there before")
            except (Unreadable, ValueError, RecursionError) as error:
                yield BadRecord(f"line {number}: {reason_of(error)}")
                continue
            if record.id is not None:
                ids.add(record.id)
            yield record


def _record_of_line(fields: Any, number: int, files: Files) -> Record:
    if not isinstance(fields, dict):
        raise Unreadable(f"it must be a JSON object, got {type(fields).__name__}")
    text = fields.get(files.text_field)
    if not isinstance(text, str):
        raise Unreadable(f"it has no text in the field {files.text_field!r}; name the field with text_field")
    id_ = None if files.id_field is None else _id(fields.get(files.id_field), files.id_field)
    title = None if files.title_field is None else fields.get(files.title_field)
    used = {files.text_field, files.id_field, files.title_field}
    values: dict[str, object] = {}
    reasons: dict[str, str] = {}
    for name, value in _flat({name: value for name, value in fields.items() if name not in used}):
        if isinstance(value, dict):
            reasons[name] = f"it has more than {_MOST_LEVELS} objects within each other"
        elif name in values:
            reasons[name] = "there are two fields of this name"
        else:
            values[name] = value
    if title is not None and not isinstance(title, str):
        reasons[str(files.title_field)], title = f"a title must be a text, got {shown(title)}", None
    metadata, unstorable = storable_fields(values)
    left_out = [
        f"line {number}: the field {name!r} is left out: {reason}" for name, reason in (reasons | unstorable).items()
    ]
    return Record(text, title, metadata, f"line={number}", id_, left_out)


def _id(id_: object, field: str) -> str:
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        raise Unreadable(f"its id, the field {field!r}, must be a string or a whole number, got {shown(id_)}")
    return str(id_)


def _flat(fields: Mapping[str, Any], above: str = "", level: int = 1) -> Iterator[tuple[str, object]]:
    """Yield an object's values by name, dotted for nested ones."""
    for name, value in fields.items():
        if isinstance(value, dict) and level < _MOST_LEVELS:
            yield from _flat(value, f"{above}{name}.", level + 1)
        else:
            yield f"{above}{name}", value


def _whole(digits: str) -> int | float:
    """Read a number without a fraction. Python refuses more than 4,300 digits, and metadata have at most 64 bits."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


_BACKTICKS = re.compile(r"`{3,}")


def read_notebook(path: Path, files: Files) -> Iterator[Record]:
    """Read a notebook, whose parts are its cells. Its title is the heading at its start."""
    try:
        book = json.loads(decode(read_bytes(path), "utf-8"))
        cells = book["cells"] if "cells" in book else [cell for sheet in book["worksheets"] for cell in sheet["cells"]]
        language = book.get("metadata", {}).get("language_info", {}).get("name", "")
        texts = [_text(cell, language, outputs=files.outputs) for cell in cells]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unreadable(f"it is no notebook: {error}") from None
    assembly = Assembly()
    for number, text in enumerate(map(without_pictures, texts), start=1):
        assembly.add(text + "\n" if text else "", "cell", number)
    yield assembly.record(first_heading(assembly.text))


def _text(cell: Any, language: str, *, outputs: bool) -> str:
    source = _joined(cell.get("source", cell.get("input", ""))).rstrip("\n")
    if cell["cell_type"] != "code":
        return f"{source}\n" if source.strip() else ""
    parts = [_fenced(source, language)] if source.strip() else []
    for output in cell.get("outputs", []) if outputs else []:
        text = _joined(output.get("text") or output.get("data", {}).get("text/plain", "")).strip("\n")
        parts += [_fenced(text, "")] if text.strip() else []
    return "\n".join(parts)


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in _BACKTICKS.findall(text)), 0)
    return f"{fence}{language}\n{text}\n{fence}\n"


def _joined(text: object) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, list) and all(isinstance(each, str) for each in text):
        return "".join(text)
    raise Unreadable("the text of a cell must be a text or a list of texts")
