"""The files in which Chroma keeps the vectors of one collection, and leafspan's copy of them with checksums."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from leafspan.engines.local._open_files import check_not_too_many

VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
IDS = "index_metadata.pickle"
"""The file of the ids, which Chroma writes last."""

_RECORD = "checksums.json"
_FORMAT = 1
_BLOCK = 1 << 20
_COMING, _GOING = ".coming", ".going"
_HEADER = struct.Struct("<iQQQQ")  # format, offset, capacity, number of vectors, bytes of each vector with its links

Stamp: TypeAlias = tuple[tuple[int, int, int], ...]
Checksums: TypeAlias = Mapping[str, tuple[int, int]]


class VectorFiles:
    """The vector files of one collection, and their copy.

    The copy has a record of size and checksum of each file, and of the last change that is in them. It is made of the files
    when a writer has used them, so the files must be as the record says, unless a writer was killed since.
    """

    def __init__(self, place: Path, copies: Path) -> None:
        self.place = place
        self.copy = copies / place.name
        self.set_aside_place = copies / f"{place.name}.damaged"

    @property
    def stamp(self) -> Stamp | None:
        """Time, size and inode of each file, which change whenever Chroma writes them. None if one is missing."""
        try:
            found = [os.stat(self.place / name) for name in (*VECTORS, IDS)]
        except OSError:
            return None
        return tuple((each.st_mtime_ns, each.st_size, each.st_ino) for each in found)

    @property
    def ids_stamp(self) -> tuple[int, int] | None:
        """Time and size of the file that Chroma writes last; None if there is none."""
        return _time_and_size(self.place / IDS)

    @property
    def has_copy(self) -> bool:
        """Whether there is a copy."""
        return (self.copy / IDS).exists()

    @property
    def is_copied(self) -> bool:
        """Whether the copy was made of the files as they are, by the time of the file that Chroma writes last."""
        ids = self.ids_stamp
        return ids is None or ids == _time_and_size(self.copy / IDS)

    def is_before(self, last: int | None) -> bool:
        """Whether the copy was made before a change: never where its number is not known."""
        own = self._last
        return last is not None and own is not None and own < last

    @property
    def _last(self) -> int | None:
        """Number of the last change that is in the copy; None if that is not known."""
        last = self._record.get("last")
        return last if isinstance(last, int) else None

    @property
    def _record(self) -> Mapping[str, Any]:
        """What is recorded of the copy. Empty if that cannot be read."""
        try:
            record = json.loads((self.copy / _RECORD).read_bytes())
        except (OSError, ValueError) as error:
            check_not_too_many(error, f"read {str(self.copy / _RECORD)!r}")
            return {}
        return record if isinstance(record, dict) else {}

    def recorded(self) -> Checksums | None:
        """Size and checksum of each file, as they were when they were copied; None if that is not known."""
        with suppress(OSError):  # in a read-only folder nothing can be finished
            self._finish_swap()
        try:
            record = self._record
            files = {name: (int(size), int(checksum)) for name, (size, checksum) in record["files"].items()}
            return files if record["format"] == _FORMAT and files.keys() == {*VECTORS, IDS} else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def damaged(self, recorded: Checksums) -> list[str]:
        """The names of the files that are not as they were recorded."""
        return _differing(self.place, recorded)

    def copy_is(self, recorded: Checksums) -> bool:
        """Whether the copy is as it was recorded."""
        return not self.damaged_copies(recorded)

    def damaged_copies(self, recorded: Checksums) -> list[str]:
        """The names of the files whose copies are not as they were recorded."""
        return _differing(self.copy, recorded)

    def looks_complete(self) -> bool:
        """Whether the last write of the files was completed, as far as they show it themselves."""
        return _looks_complete(self.place)

    def copy_looks_complete(self) -> bool:
        """The same of a copy without a record, which an earlier version of leafspan has made."""
        return _looks_complete(self.copy)

    def back_up(self, last: int | None = None) -> None:
        """Make a new copy of the files, with its record. It takes the place of the old one when it is complete.

        Raises:
            OSError: if that cannot be written.
        """
        coming = self.copy.with_name(self.copy.name + _COMING)
        shutil.rmtree(coming, ignore_errors=True)
        coming.mkdir(parents=True, mode=0o700)
        try:
            files = {name: _copy(self.place / name, coming / name) for name in (*VECTORS, IDS)}
            (coming / _RECORD).write_text(json.dumps({"format": _FORMAT, "files": files, "last": last}))
        except OSError:
            shutil.rmtree(coming, ignore_errors=True)  # where the disk is full, half a copy is of no use
            raise
        self._finish_swap()

    def put_back(self) -> None:
        """Put the copy in the place of the files. Others may be there, such as files that Chroma will write.

        Raises:
            OSError: if that cannot be written.
        """
        self.place.mkdir(exist_ok=True)
        for name in (*VECTORS, IDS):
            # Not over the old file, which may be a link, and which another process may be loading.
            coming = self.place / f"{name}{_COMING}"
            coming.unlink(missing_ok=True)
            _copy(self.copy / name, coming)
            coming.replace(self.place / name)

    def set_aside(self) -> None:
        """Move the files to where Chroma does not find them, so that it begins with new ones."""
        if self.place.exists():
            shutil.rmtree(self.set_aside_place, ignore_errors=True)
            self.set_aside_place.parent.mkdir(exist_ok=True, mode=0o700)
            self.place.rename(self.set_aside_place)
        shutil.rmtree(self.copy, ignore_errors=True)

    def forget_record(self) -> None:
        """Note that the copy may not be that of the files any more."""
        (self.copy / _RECORD).unlink(missing_ok=True)

    def forget_copy(self) -> None:
        """Remove the copy: the collection is gone."""
        shutil.rmtree(self.copy, ignore_errors=True)

    def ids(self) -> set[str]:
        """The ids of the records whose vectors are in the files; none if that file cannot be read."""
        try:
            with (self.place / IDS).open("rb") as file:
                return set(_PlainUnpickler(file).load()["id_to_label"])
        except Exception as error:  # a damaged pickle can raise anything
            check_not_too_many(error, f"read {str(self.place / IDS)!r}")
            return set()

    def _finish_swap(self) -> None:
        """Let a complete new copy take the place of the old one, also if a process was killed while it did so."""
        coming, going = (self.copy.with_name(self.copy.name + ending) for ending in (_COMING, _GOING))
        if (coming / _RECORD).exists() and (coming / _RECORD).stat().st_size:
            with suppress(FileNotFoundError):
                shutil.rmtree(going, ignore_errors=True)
                self.copy.rename(going)
            coming.rename(self.copy)
        if going.exists():
            shutil.rmtree(going, ignore_errors=True)


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, strings and numbers. A pickle that asks for anything else is refused, and runs nothing."""

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
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
            size += len(block)
    return size, checksum


def _copy(source: Path, target: Path) -> tuple[int, int]:
    """Copy a file with its time, and return its size and checksum."""
    checksum = size = 0
    with source.open("rb", buffering=0) as read, target.open("xb", buffering=0) as written:
        while block := read.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
            size += len(block)
            written.write(block)
        times = os.fstat(read.fileno())
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    return size, checksum


def _looks_complete(place: Path) -> bool:
    """Whether the ids were written last and can be read, and the files are as long as the header says."""
    try:
        ids = os.stat(place / IDS)
        if any(os.stat(place / name).st_mtime_ns > ids.st_mtime_ns for name in VECTORS):
            return False
        with (place / IDS).open("rb") as file:
            labels = _PlainUnpickler(file).load()["id_to_label"]
        _, _, _, vectors, size = _HEADER.unpack((place / VECTORS[0]).read_bytes()[: _HEADER.size])
        sizes = [os.stat(place / name).st_size for name in VECTORS[1:]]
        # Chroma overwrites files in place, so that they can be longer than what they hold.
        return bool(
            len(labels) <= vectors and sizes[0] >= vectors * size and sizes[1] >= vectors * 4 and sizes[2] >= vectors * 4
        )
    except Exception as error:  # a torn pickle can raise anything
        check_not_too_many(error, f"read the vectors in {str(place)!r}")
        return False
