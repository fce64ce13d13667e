"""Finds the file of each document, even if the index was moved and spells file names differently now."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from leafspan.documents import content_hash
from leafspan.files import FileDocument, FileNames, FileReading, Files, file_status, is_recognized, packed
from leafspan.flows import Call, Flow
from leafspan.segments import new_file
from leafspan.splitting import MARKDOWN
from leafspan.store import PARTS_KEY, Reader, Row, Scope, Store, read_consistently
from leafspan.values import Document

FILE_KEY = "file"  # the key of the file's name in a row's further values
_SPELLING_KEY = "spelled"  # of the file name's spelling in the document's id, if that differs from the file's name
_LINES_KEY, _MARKUP_KEY = "lines_before", "markup"


def file_values(document: FileDocument) -> dict[str, Any]:
    """Return what a document's row stores about its file."""
    values: dict[str, Any] = {FILE_KEY: document.file}
    values |= {_SPELLING_KEY: document.spelling} if document.spelling else {}
    values |= {_LINES_KEY: document.lines_before} if document.lines_before else {}
    values |= {_MARKUP_KEY: document.markup} if document.markup != MARKDOWN else {}
    return values | ({PARTS_KEY: packed(document.parts)} if document.parts is not None else {})


def hash_of(document: Document) -> str:
    """Return the hash of a document's content, which includes its place in its file."""
    return content_hash(document, content_in_file(file_values(document)) if isinstance(document, FileDocument) else None)


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

    def with_stored_ids(self, documents: Sequence[Document]) -> Flow[list[Document]]:
        """Return the documents. A file that the index has under another spelling gets its id in the index."""
        files = [each for each in documents if isinstance(each, FileDocument)]
        if not files:
            return list(documents)
        ids = [each.id for each in files]
        rows = yield from read_consistently(self._store, partial(Reader.rows, ids=ids), self._scope)
        new = {each.path: each.file for each in files if each.id not in rows}
        if new and self._rows is None:
            self._rows = _by_last_part((yield from read_consistently(self._store, Reader.rows, self._scope)))
        spellings = yield Call(self._other_spellings, (new,))
        return [_respelled(each, spellings) for each in documents]

    def _other_spellings(self, new: Mapping[Path, str]) -> dict[str, str]:
        """Return the index's spelling of new file names, by path."""
        names = FileNames(self._store.home)
        spellings = {}
        for path, file in new.items():
            for row in (self._rows or {}).get(path.name, ()):
                spelling = str(row.extra.get(_SPELLING_KEY) or row.extra.get(FILE_KEY))  # the start of the documents' ids
                if file_path(row, names) == path and spelling != file:
                    spellings[file] = spelling
        return spellings


def _by_last_part(rows: Mapping[str, Row]) -> dict[str, list[Row]]:
    by_part = defaultdict(list)
    for row in rows.values():
        if row.version is not None and (name := file_name(row)) is not None:
            by_part[PurePosixPath(name).name].append(row)
    return by_part


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


_NAME = "files"  # without a suffix of files that are read: a folder of documents may hold it
_FORMAT = 3  # raise it when a reader returns something else for the same file
_MOST_DOCUMENTS = 10_000  # of one file: remembering more takes about as long as reading the file
_COARSEST = 2_000_000_000  # nanoseconds between the time stamps of the coarsest file systems


class FileMemory:
    """What a sync remembers of one index's files. It may be lost at any time, like other derived files."""

    def __init__(self, store: Store, rows: Mapping[str, Row]) -> None:
        folder = store.cache_folder
        self._path = None if folder is None else folder / _NAME
        self._read_only = store.cache_read_only
        self._rows = rows
        self._earlier = _read(self._path)
        self._new: dict[str, list[Any]] = {}  # file properties before reading
        self._documents: dict[str, list[list[str]]] = defaultdict(list)  # ids and hashes of the documents that were read

    def unchanged(self, path: Path, name: str, files: Files) -> tuple[list[str], list[str]] | None:
        """Return the ids of an unchanged file's documents, and its notes; or None if the file must be read."""
        recipe = _recipe(path, files, ocr=is_recognized(path))
        if recipe is None or self._path is None:
            return None
        now, seen = time.time_ns(), file_status(path)
        if seen is None:
            return None
        status = [*seen, recipe]
        *earlier, notes, documents = self._earlier.get(str(path), [[], []])
        is_same = earlier in (status, [*seen, _recipe(path, files, ocr=True)])  # recognised text stays without the extra
        if not files.checksum and is_same and all(self._has(name, *each) for each in documents):
            return [id_ for id_, _ in documents], notes
        if max(seen[1:3]) + _COARSEST < now:
            self._new[str(path)] = status
        return None

    def _has(self, name: str, id_: str, hash_: str) -> bool:
        row = self._rows.get(id_)
        if row is None or row.version is None or row.leftovers:
            return False
        return row.hash == hash_ and file_name(row) == name

    def watching(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, and remember them."""
        for document in documents:
            if isinstance(document, FileDocument) and str(document.path) in self._new:
                self._documents[str(document.path)].append([document.id, hash_of(document)])
            yield document

    def keep(self, unread: Iterable[Path], notes: Mapping[Path, list[str]]) -> None:
        """Remember the files that were read completely. If the disk refuses, the next sync reads the files again."""
        without = {*map(str, unread)}
        new = {
            path: [*status, notes.get(Path(path), []), self._documents[path]]
            for path, status in self._new.items()
            if path not in without and 0 < len(self._documents[path]) <= _MOST_DOCUMENTS
        }
        if self._path is None or self._read_only or not new:
            return
        kept = {path: each for path, each in self._earlier.items() if any(id_ in self._rows for id_, _ in each[-1])}
        with suppress(OSError), new_file(self._path) as file:
            file.write(json.dumps({"format": _FORMAT, "files": kept | new}).encode())


def _recipe(path: Path, files: Files, *, ocr: bool) -> str | None:
    """Describe briefly how a file is read, or return None for a user's function, which may have changed."""
    if path.suffix.lower() in files.readers:
        return None
    options = [_FORMAT, _version(), files.encoding, files.text_field, files.id_field, files.title_field, files.outputs]
    options += ["ocr"] * ocr  # a file that was read without the extra is read again
    return hashlib.sha256(json.dumps(options).encode()).hexdigest()[:8]


@cache
def _version() -> str:
    return version("leafspan")


def _read(path: Path | None) -> dict[str, list[Any]]:
    """Return what is remembered, as far as it is valid."""
    if path is None:
        return {}
    try:
        stored = json.loads(path.read_bytes())
        if stored["format"] != _FORMAT:
            return {}
        return {str(name): each for name, each in stored["files"].items() if len(each) == 7 and _are_hashes(each[-1])}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _are_hashes(documents: Any) -> bool:
    return isinstance(documents, list) and all(
        isinstance(each, list) and len(each) == 2 and all(isinstance(part, str) for part in each) for each in documents
    )


class Moved:
    """Watches a source's documents that are read from files.

    It compares the hashes in rows, so that it need not read any text of the index. Files keep their names when their
    folder is renamed, so it compares only documents of files with the same name.
    """

    def __init__(self, rows: Mapping[str, Row]) -> None:
        self._rows = rows
        self._by_shape: dict[tuple[str, int], list[Row]] | None = None
        self._pairs: list[tuple[str, str]] = []  # the new id, and the existing one

    def watching(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, and watch them."""
        for document in documents:
            if isinstance(document, FileDocument) and document.id not in self._rows and document.text.strip():
                self._pairs += [
                    (document.id, row.document_id) for row in self._with_its_shape(document) if _same(document, row)
                ]
            yield document

    def pairs(
        self, added: Collection[str], left: Sequence[Row], names: FileNames, reading: FileReading
    ) -> tuple[tuple[str, str], ...]:
        """Return for each new document the stored document with the same text whose file is gone, as a pair of ids."""
        if not self._pairs:
            return ()
        new, old = set(added), {row.document_id: row for row in left}
        return tuple(
            (a, b) for a, b in self._pairs if a in new and b in old and _is_gone(file_path(old[b], names), reading)
        )

    def _with_its_shape(self, document: Document) -> Sequence[Row]:
        if self._by_shape is None:
            self._by_shape = defaultdict(list)
            for row in self._rows.values():
                if row.version is not None and file_name(row) is not None:
                    self._by_shape[_name(row.document_id), row.characters].append(row)
        return self._by_shape.get((_name(document.id), len(document.text)), ())


def moved_warning(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the warning about new documents that have the text of others."""
    (new, old), count = pairs[0], len({new for new, _ in pairs})
    if count == 1:
        what = "1 new document has the same text as a document whose file is"
    else:
        what = f"{count:,} new documents have the same texts as documents whose files are"
    return (
        f"{what} no longer there, such as {new!r} and {old!r}; if a folder was renamed or moved, delete the old "
        "ones: sync the old path with allow_empty=True (--allow-empty), or delete them by their ids"
    )


def _name(id_: str) -> str:
    return PurePosixPath(id_).name


def _same(document: Document, row: Row) -> bool:
    renamed = Document("", document.text, row.title, row.metadata, hidden=row.hidden)
    return content_hash(renamed, content_in_file(row.extra)) == row.hash


def _is_gone(path: Path | None, reading: FileReading) -> bool:
    # os.path.exists returns False for an id that is too long for a path
    return path is None or not (os.path.exists(path) or reading.may_be_unread(path))
