"""The files in which Chroma keeps the vectors of one collection, and leafspan's note of them."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from leafspan.engines.local._disk import check_not_too_many, open_file

VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
IDS = "index_metadata.pickle"  # the file of the ids, which Chroma writes last

_BLOCK = 1 << 20
_HEADER = struct.Struct("<iQQQQ")  # format, offset, capacity, number of vectors, bytes of a vector with its links
Checksums: TypeAlias = dict[str, list[int]]  # size and CRC-32 of each file


class Note(NamedTuple):
    """What leafspan knows of the vectors of one collection."""

    collection: str
    files: Checksums | None = None  # as leafspan last left them; None: all vectors have to be written again
    ids: list[int] | None = None  # time and size of the file that Chroma writes last
    last: int | None = None  # number of the last change in the files
    lacking: int | None = None  # records whose vectors have to be embedded again; None: not counted yet


class VectorFiles:
    def __init__(self, place: Path, notes: Path) -> None:
        self.place = place
        self._note = notes / f"{place.name}.json"

    @property
    def note(self) -> Note | None:
        """The note, or None if it is missing or damaged."""
        try:
            checksum, *values = json.loads(self._note.read_bytes())
            return Note(*values) if checksum == _checksum_of(values) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            check_not_too_many(error, f"read {str(self._note)!r}")
            return None

    @note.setter
    def note(self, note: Note | None) -> None:
        if note is None:
            self._note.unlink(missing_ok=True)
            return
        self._note.parent.mkdir(exist_ok=True, mode=0o700)
        coming = self._note.with_suffix(".coming")
        coming.unlink(missing_ok=True)  # not through a link
        try:
            coming.write_text(json.dumps([_checksum_of(note), *note]))
            coming.replace(self._note)  # whole or not at all
        finally:
            coming.unlink(missing_ok=True)

    @property
    def ids(self) -> list[int] | None:
        """The time and size of the file that Chroma writes last, or None before Chroma has completed a write."""
        return _time_and_size(self.place / IDS)

    @property
    def stamp(self) -> list[list[int] | None]:
        """The time and size of each file, which change whenever Chroma writes the file."""
        return [_time_and_size(self.place / name) for name in (*VECTORS, IDS)]

    def is_as_noted(self, note: Note | None) -> bool:
        """Whether the file that Chroma writes last is the noted one, or needs no note."""
        return (note is not None and note.files is None) or self.ids == (note.ids if note else None)

    def checksums(self) -> Checksums:
        return {name: _checksum(self.place / name) for name in (*VECTORS, IDS) if (self.place / name).exists()}

    def damaged(self, expected: Checksums) -> list[str]:
        if not expected and self.ids is None:
            return []
        return [name for name in (*VECTORS, IDS) if not self._has(name, expected.get(name))]

    def _has(self, name: str, checksum: list[int] | None) -> bool:
        path = self.place / name
        try:
            return (_checksum(path) if path.exists() else None) == checksum
        except OSError as error:
            check_not_too_many(error, f"read {str(path)!r}")
            return False

    def look_complete(self) -> bool:
        """Whether Chroma wrote the ids last, and the files have the length that the header says."""
        try:
            ids = os.stat(self.place / IDS)
            if any(os.stat(self.place / name).st_mtime_ns > ids.st_mtime_ns for name in VECTORS):
                return False
            with open(self.place / IDS, "rb", opener=open_file) as file:
                labels = _PlainUnpickler(file).load()["id_to_label"]
            _, _, _, vectors, size = _HEADER.unpack((self.place / VECTORS[0]).read_bytes()[: _HEADER.size])
            # Chroma overwrites files in place, so they can be longer than their content.
            needed = dict(zip(VECTORS[1:], (vectors * size, vectors * 4, vectors * 4), strict=True))
            are_long = all(os.stat(self.place / name).st_size >= least for name, least in needed.items())
            return are_long and len(labels) <= vectors
        except Exception as error:  # a torn pickle can raise anything
            check_not_too_many(error, f"read the vectors in {str(self.place)!r}")
            return False

    def remove(self) -> None:
        """Delete the files, so that Chroma starts new ones."""
        if self.place.exists():
            shutil.rmtree(self.place)


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, strings and numbers. It refuses anything else in a pickle, and runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"ids do not need {module}.{name}")


def _time_and_size(path: Path) -> list[int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size]


def _checksum_of(values: Sequence[Any]) -> int:
    return zlib.crc32(json.dumps(list(values)).encode())


def _checksum(path: Path) -> list[int]:
    checksum = size = 0
    with open(path, "rb", buffering=0, opener=open_file) as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
            size += len(block)
    return [size, checksum]
