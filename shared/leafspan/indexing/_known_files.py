"""Which documents of an index are of which files, also under a spelling of the path that an earlier version used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath

from leafspan.engine import Call, Flow
from leafspan.files import FileDocument, FileNames
from leafspan.store import Reader, Row, Scope, Store, read_consistently
from leafspan.values import Document

FILE_KEY = "file"
"""The key in a row's further values under which the name of the document's file is stored."""


def file_path(row: Row, names: FileNames) -> Path | None:
    """The path of the file that a document was read from; None if it is of no file, or of one that is not known.

    Earlier versions stored no name. Their documents are known by an id that is the ``source``, the path as it was typed: an
    absolute one, or one that is taken to be relative to the same folder as names are.

    Args:
        row: The document's row.
        names: What files are called.
    """
    name = row.extra.get(FILE_KEY) or (row.document_id if _may_be_file(row) else None)
    return None if name is None else names.path(name)


def _may_be_file(row: Row) -> bool:
    """Whether an earlier version may have read the document from a file."""
    return FILE_KEY not in row.extra and bool(row.title) and dict(row.metadata).get("source") == row.document_id


class KnownFiles:
    """The ids that documents of files have in an index.

    Args:
        store: The index.
        scope: The view, None for the whole index.
    """

    def __init__(self, store: Store, scope: Scope | None) -> None:
        self._store = store
        self._scope = scope
        self._rows: Mapping[str, Row] | None = None

    def with_known_ids(self, documents: Sequence[Document]) -> Flow[list[Document]]:
        """The documents; those of files that the index has under another spelling, with the id that they have there."""
        files = [each for each in documents if isinstance(each, FileDocument)]
        if not files:
            return list(documents)
        ids = [each.id for each in files]
        there = yield from read_consistently(self._store, partial(Reader.rows, ids=ids), self._scope)
        new = {each.path: each.file for each in files if each.id not in there}
        if new and self._rows is None:
            self._rows = yield from read_consistently(self._store, Reader.rows, self._scope)
        spellings = yield Call(self._other_spellings, (new,))
        return [_respelled(each, spellings) for each in documents]

    def _other_spellings(self, new: Mapping[Path, str]) -> dict[str, str]:
        """For names of files, by path, that the index may not have, the spelling that it has them under."""
        names = {path.name for path in new}
        found = {}
        for row in (self._rows or {}).values():
            stored = row.extra.get(FILE_KEY) or (row.document_id if _may_be_file(row) else None)
            if row.version is None or stored is None or PurePosixPath(stored).name not in names:
                continue
            path = self._actual_path(stored, is_old=FILE_KEY not in row.extra)
            file = new.get(path) if path else None
            if file is not None and (base := _base(row, stored)) != file:
                found[file] = base
        return found

    def _actual_path(self, stored: str, *, is_old: bool) -> Path | None:
        path = FileNames(self._store.home).path(stored)
        if is_old and (path is None or not path.exists()):
            # As it was typed, in the folder in which the command or the program was run: perhaps in this one.
            return Path(os.path.realpath(stored))
        return path


def _base(row: Row, stored: str) -> str:
    """The beginning that the ids of all documents of a file share."""
    return stored if row.document_id.startswith(f"{stored}#") else row.document_id


def _respelled(document: Document, spellings: Mapping[str, str]) -> Document:
    if not isinstance(document, FileDocument) or document.file not in spellings:
        return document
    old, new = document.file, spellings[document.file]
    metadata = dict(document.metadata)
    if metadata.get("source") == old:
        metadata["source"] = new
    is_named = document.id == old or document.id.startswith(f"{old}#")
    return replace(document, id=new + document.id[len(old) :] if is_named else document.id, metadata=metadata)
