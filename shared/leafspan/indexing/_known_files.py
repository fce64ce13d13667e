"""Finds the file of each document, even if the index was moved and spells file names differently now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from leafspan.files import FileDocument, FileNames, packed
from leafspan.flows import Call, Flow
from leafspan.splitting import MARKDOWN
from leafspan.store import PARTS_KEY, Reader, Row, Scope, Store, read_consistently
from leafspan.values import Document

FILE_KEY = "file"
"""The key of the file's name in a row's further values."""

SPELLING_KEY = "spelled"
"""The key of the file name's spelling in the document's id, if that differs from the file's name."""


_LINES_KEY, _MARKUP_KEY = "lines_before", "markup"


def file_values(document: Document) -> dict[str, Any]:
    """Return what a document's row stores about its file; empty without a file."""
    if not isinstance(document, FileDocument):
        return {}
    values: dict[str, Any] = {FILE_KEY: document.file}
    values |= {SPELLING_KEY: document.spelling} if document.spelling else {}
    values |= {_LINES_KEY: document.lines_before} if document.lines_before else {}
    values |= {_MARKUP_KEY: document.markup} if document.markup != MARKDOWN else {}
    return values | ({PARTS_KEY: packed(document.parts)} if document.parts is not None else {})


def content_in_file(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document's place in its file, which belongs to its content, from its row's further values."""
    return {key: stored[key] for key in (_LINES_KEY, _MARKUP_KEY, PARTS_KEY) if key in stored}


def markup_of(stored: Mapping[str, Any]) -> str:
    """Return a document's markup format, from its row's further values."""
    return str(stored.get(_MARKUP_KEY, MARKDOWN))


def lines_before(stored: Mapping[str, Any]) -> int:
    """Return the number of lines before a document's text in its file, from its row's further values."""
    lines = stored.get(_LINES_KEY, 0)
    return lines if type(lines) is int else 0


def file_path(row: Row, names: FileNames) -> Path | None:
    """Return the path of a document's file, or None if the document has no file or the path is unknown."""
    name = file_name(row)
    return None if name is None else names.path(name)


def file_name(row: Row) -> str | None:
    """Return the name of a document's file, or None if the document has no file."""
    name = row.extra.get(FILE_KEY)
    return None if name is None else str(name)


def other_than_the_file(document: Document, row: Row) -> str | None:
    """Return what the index has under a document's id, if that is of another file; None without a file."""
    if not isinstance(document, FileDocument) or document.spelling:
        return None  # a document with another spelling was found by its file
    file = row.extra.get(FILE_KEY)
    if file == document.file:
        return None
    return "a document that is of no file" if file is None else f"a document of the file {file!r}"


class KnownFiles:
    """The ids that documents of files have in an index."""

    def __init__(self, store: Store, scope: Scope | None) -> None:
        self._store = store
        self._scope = scope
        self._rows: dict[str, list[Row]] | None = None  # documents of files, by the last part of the file's name

    def with_known_ids(self, documents: Sequence[Document]) -> Flow[list[Document]]:
        """Return the documents. A file that the index has under another spelling gets its id in the index."""
        files = [each for each in documents if isinstance(each, FileDocument)]
        if not files:
            return list(documents)
        ids = [each.id for each in files]
        there = yield from read_consistently(self._store, partial(Reader.rows, ids=ids), self._scope)
        new = {each.path: each.file for each in files if each.id not in there}
        if new and self._rows is None:
            self._rows = _by_last_part((yield from read_consistently(self._store, Reader.rows, self._scope)))
        spellings = yield Call(self._other_spellings, (new,))
        return [_respelled(each, spellings) for each in documents]

    def _other_spellings(self, new: Mapping[Path, str]) -> dict[str, str]:
        """Return the index's spelling of new file names, by path."""
        names = FileNames(self._store.home)
        found = {}
        for path, file in new.items():
            for row in (self._rows or {}).get(path.name, ()):
                if file_path(row, names) == path and (spelling := _spelling(row)) != file:
                    found[file] = spelling
        return found


def _by_last_part(rows: Mapping[str, Row]) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in rows.values():
        if row.version is not None and (name := file_name(row)) is not None:
            found[PurePosixPath(name).name].append(row)
    return found


def _spelling(row: Row) -> str:
    """Return the start of the ids of a file's documents."""
    return str(row.extra.get(SPELLING_KEY) or row.extra.get(FILE_KEY))


def _respelled(document: Document, spellings: Mapping[str, str]) -> Document:
    if not isinstance(document, FileDocument) or document.file not in spellings:
        return document
    name, spelling = document.file, spellings[document.file]
    metadata = dict(document.metadata)
    if metadata.get("source") == name:
        metadata["source"] = spelling
    has_name = document.id == name or document.id.startswith(f"{name}#")
    id_ = spelling + document.id[len(name) :] if has_name else document.id
    return replace(document, id=id_, metadata=metadata, spelling=spelling)
