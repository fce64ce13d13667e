"""Notebooks: their cells in order; code is between fences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leafspan.files._decoding import decode
from leafspan.files._opening import Unreadable, read_bytes
from leafspan.files._parts import Assembly
from leafspan.files._record import Record
from leafspan.files._source import Files
from leafspan.files._text import first_heading, without_pictures

_BACKTICKS = re.compile(r"`{3,}")


def read_notebook(path: Path, files: Files) -> Iterator[Record]:
    """See Reader. Its parts are its cells. Its title is the heading at its start."""
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
    yield Record(assembly.text, first_heading(assembly.text), {}, parts=assembly.parts)


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
