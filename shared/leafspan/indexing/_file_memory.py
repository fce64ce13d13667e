"""What a sync remembers of files, so that the next sync need not read unchanged files.

leafspan treats a file as unchanged if its size, times and inode are the same as at the last sync, and the index has its
documents. Where time stamps are coarse, a file can change twice within one. So leafspan does not remember a file that
changed less than two seconds before it was read: the next sync reads it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leafspan.documents import content_hash
from leafspan.files import FileDocument, Files
from leafspan.indexing._known_files import FILE_KEY, content_in_file, file_values
from leafspan.segments import new_file
from leafspan.store import Row, Store
from leafspan.values import Document

_NAME = "files"  # without a suffix of files that are read: a folder of documents may hold it
_FORMAT = 2  # raise it when a reader returns something else for the same file
_MOST_DOCUMENTS = 10_000  # of one file: remembering more takes about as long as reading the file
_COARSEST = 2_000_000_000  # nanoseconds between the time stamps of the coarsest file systems


class FileMemory:
    """What a sync remembers of one index's files. It may be lost at any time, like other derived files."""

    def __init__(self, store: Store, rows: Mapping[str, Row]) -> None:
        folder = store.cache_folder
        self._path = None if folder is None else folder / _NAME
        self._read_only = store.cache_read_only
        self._rows = rows
        self._known = _read(self._path)
        self._new: dict[str, list[Any]] = {}  # file properties before reading
        self._documents: dict[str, list[list[str]]] = defaultdict(list)  # ids and hashes of the documents that were read

    def unchanged(self, path: Path, name: str, files: Files) -> list[str] | None:
        """Return the ids of an unchanged file's documents, or None if the file must be read."""
        recipe = _recipe(path, files)
        if recipe is None or self._path is None:
            return None
        try:
            now, seen = time.time_ns(), os.stat(path)
        except OSError:
            return None
        status = [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, recipe]
        known = self._known.get(str(path))
        if not files.checksum and known and known[:-1] == status and all(self._has(name, *each) for each in known[-1]):
            return [id_ for id_, _ in known[-1]]
        if max(seen.st_mtime_ns, seen.st_ctime_ns) + _COARSEST < now:
            self._new[str(path)] = status
        return None

    def _has(self, name: str, id_: str, hash_: str) -> bool:
        row = self._rows.get(id_)
        return (
            row is not None
            and row.version is not None
            and row.hash == hash_
            and not row.leftovers
            and row.extra.get(FILE_KEY) == name
        )

    def watching(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, and remember them."""
        for document in documents:
            if isinstance(document, FileDocument) and str(document.path) in self._new:
                hash_ = content_hash(document, content_in_file(file_values(document)))
                self._documents[str(document.path)].append([document.id, hash_])
            yield document

    def keep(self, unread: Iterable[Path]) -> None:
        """Remember the files that were read completely. If the disk refuses, the next sync reads the files again."""
        without = {*map(str, unread)}
        new = {
            path: [*status, self._documents[path]]
            for path, status in self._new.items()
            if path not in without and 0 < len(self._documents[path]) <= _MOST_DOCUMENTS
        }
        if self._path is None or self._read_only or not new:
            return
        kept = {path: each for path, each in self._known.items() if any(id_ in self._rows for id_, _ in each[-1])}
        with suppress(OSError), new_file(self._path) as file:
            file.write(json.dumps({"format": _FORMAT, "files": kept | new}).encode())


def _recipe(path: Path, files: Files) -> str | None:
    """Describe briefly how a file is read, or return None for a user's function, which may have changed."""
    if path.suffix.lower() in files.readers:
        return None
    options = [_FORMAT, _version(), files.encoding, files.text_field, files.id_field, files.title_field, files.outputs]
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
        return {str(name): each for name, each in stored["files"].items() if len(each) == 6 and _are_hashes(each[-1])}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def _are_hashes(documents: Any) -> bool:
    return isinstance(documents, list) and all(
        isinstance(each, list) and len(each) == 2 and all(isinstance(part, str) for part in each) for each in documents
    )
