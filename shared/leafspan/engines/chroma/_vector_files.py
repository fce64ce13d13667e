"""The files in which Chroma keeps the vectors of one collection, and leafspan's checksums of them."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from leafspan.engines.local._descriptors import open_file
from leafspan.engines.local._open_files import check_not_too_many

VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
IDS = "index_metadata.pickle"
"""The file of the ids, which Chroma writes last."""

_FORMAT = 2
_BLOCK = 1 << 20
_COMING = ".coming"
_HEADER = struct.Struct("<iQQQQ")  # format, offset, capacity, number of vectors, bytes of a vector with its links

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
Checksums: TypeAlias = Mapping[str, tuple[int, int]]


class VectorFiles:
    """The vector files of one collection, and a record of them.

    The record has the size and checksum of each file, and the number of the last change in them. A writer makes it after
    using the files. So the files match the record, unless a writer was killed since.
    """

    def __init__(self, place: Path, records: Path) -> None:
        self.place = place
        self._recorded = records / f"{place.name}.json"
        self.set_aside_place = records / f"{place.name}.damaged"

    @property
    def stamp(self) -> Stamp | None:
        """Return time, size and inode of each file, which change whenever Chroma writes them. None if a file is missing."""
        try:
            found = [os.stat(self.place / name) for name in (*VECTORS, IDS)]
        except OSError:
            return None
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)

    @property
    def ids_stamp(self) -> tuple[int, int] | None:
        """Return time and size of the file that Chroma writes last, or None if it does not exist."""
        return _time_and_size(self.place / IDS)

    @property
    def has_record(self) -> bool:
        """Whether there is a record, of these files or of others."""
        return self._recorded.exists()

    @property
    def is_recorded(self) -> bool:
        """Whether the last-written file has the recorded time and size."""
        ids = self.ids_stamp
        return ids is None or list(ids) == self._record.get("ids")

    def is_before(self, last: int | None) -> bool:
        """Whether the record was made before a change. False if the record's number is not known."""
        own = self._record.get("last")
        return last is not None and isinstance(own, int) and own < last

    @property
    def _record(self) -> Mapping[str, Any]:
        """The recorded values, or an empty mapping if the record cannot be read."""
        try:
            record = json.loads(self._recorded.read_bytes())
        except (OSError, ValueError) as error:
            check_not_too_many(error, f"read {str(self._recorded)!r}")
            return {}
        return record if isinstance(record, dict) else {}

    def recorded(self) -> Checksums | None:
        """The recorded size and checksum of each file, or None if unknown."""
        try:
            record = self._record
            files = {name: (int(size), int(checksum)) for name, (size, checksum) in record["files"].items()}
            return files if record["format"] == _FORMAT and files.keys() == {*VECTORS, IDS} else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def damaged(self, recorded: Checksums) -> list[str]:
        """Return the names of the files that differ from the record."""
        return _differing(self.place, recorded)

    def looks_complete(self) -> bool:
        """Whether the files themselves show that their last write was completed."""
        return _looks_complete(self.place)

    def record(self, last: int | None = None) -> None:
        """Record the files as they are. The new record replaces the old one only when it is complete.

        Raises:
            OSError: if the files cannot be read, or the record cannot be written.
        """
        ids = self.ids_stamp
        files = {name: _checksum(self.place / name) for name in (*VECTORS, IDS)}
        self._recorded.parent.mkdir(exist_ok=True, mode=0o700)
        coming = self._recorded.with_suffix(_COMING)
        coming.unlink(missing_ok=True)  # not through a link
        try:
            coming.write_text(json.dumps({"format": _FORMAT, "files": files, "ids": ids, "last": last}))
            coming.replace(self._recorded)
        finally:
            coming.unlink(missing_ok=True)

    def set_aside(self) -> None:
        """Move the files to where Chroma does not find them, so that Chroma starts new ones."""
        if self.place.exists():
            shutil.rmtree(self.set_aside_place, ignore_errors=True)
            self.set_aside_place.parent.mkdir(exist_ok=True, mode=0o700)
            self.place.rename(self.set_aside_place)
        self.forget_record()

    def forget_record(self) -> None:
        """Delete the record of the files."""
        self._recorded.unlink(missing_ok=True)

    def ids(self) -> set[str]:
        """Return the ids of the records whose vectors are in the files, or an empty set if they cannot be read."""
        try:
            with open(self.place / IDS, "rb", opener=open_file) as file:
                return set(_PlainUnpickler(file).load()["id_to_label"])
        except Exception as error:  # a damaged pickle can raise anything
            check_not_too_many(error, f"read {str(self.place / IDS)!r}")
            return set()


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, strings and numbers. It refuses anything else in a pickle, and runs no code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"ids do not need {module}.{name}")


def _time_and_size(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size)


def _differing(place: Path, recorded: Checksums) -> list[str]:
    differing = []
    for name, expected in recorded.items():
        try:
            path = place / name
            # A file of another size need not be read.
            same = os.stat(path).st_size == expected[0] and _checksum(path) == expected
        except OSError as error:
            check_not_too_many(error, f"read {str(place / name)!r}")
            same = False
        if not same:
            differing.append(name)
    return differing


def _checksum(path: Path) -> tuple[int, int]:
    checksum = size = 0
    with open(path, "rb", buffering=0, opener=open_file) as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
            size += len(block)
    return size, checksum


def _looks_complete(place: Path) -> bool:
    """Whether the ids were written last and can be read, and the files have the length that the header says."""
    try:
        ids = os.stat(place / IDS)
        if any(os.stat(place / name).st_mtime_ns > ids.st_mtime_ns for name in VECTORS):
            return False
        with open(place / IDS, "rb", opener=open_file) as file:
            labels = _PlainUnpickler(file).load()["id_to_label"]
        _, _, _, vectors, size = _HEADER.unpack((place / VECTORS[0]).read_bytes()[: _HEADER.size])
        sizes = [os.stat(place / name).st_size for name in VECTORS[1:]]
        # Chroma overwrites files in place, so they can be longer than their content.
        return bool(
            len(labels) <= vectors and sizes[0] >= vectors * size and sizes[1] >= vectors * 4 and sizes[2] >= vectors * 4
        )
    except Exception as error:  # a torn pickle can raise anything
        check_not_too_many(error, f"read the vectors in {str(place)!r}")
        return False
