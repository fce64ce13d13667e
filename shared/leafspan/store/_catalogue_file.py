"""A file with the catalogues of a folder's indexes, so that a process can read them without opening the database."""

from __future__ import annotations

import json
import os
import threading
import uuid
import warnings
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from leafspan.engines.local import NO_FOLLOW, OpenFile, check_not_too_many, open_file
from leafspan.store._catalogue_records import CHANGE, NAMES, WHOLE, ChangedRows, Head, KnownIndex, Record, whole_index
from leafspan.store._row_block import DamagedCatalogue, RowSource

_SMALL = 1 << 18  # bytes of changes for which an index is not written whole again
_SHARE = 8  # an index is written whole again when its changes exceed 1/8 of its size, since readers read each change


class CatalogueFile:
    """A file of records. Each change of an index appends one record.

    Each record names the change counts before and after it, so the records form a chain. The file can be lost, torn,
    damaged or out of date at any time, and two processes may write it at once. Readers use the unbroken part of the chain,
    and only if it reaches the folder's current change count. So nobody needs a lock.

    Any thread may call any method. Only the holder of the writer's lock may ``append`` changes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, _Place] = {}  # by name of the index
        self._mutex = threading.Lock()
        self._has_warned = False

    def read(self, name: str, count: int) -> KnownIndex | None:
        """The index at this change count, or None if the file does not have it."""
        with self._mutex:
            place = self._follow(name, count)
            return None if place is None else place.known

    def anew(self) -> CatalogueFile:
        """Return a new object for the same file that has not read anything yet."""
        return CatalogueFile(self._path)

    def lacks(self, name: str, count: int) -> bool:
        """Whether the file says that no index of this name existed at this change count."""
        with self._mutex:
            place = self._follow(name, count)
            return place is not None and name not in place.names

    def append(self, name: str, counts: tuple[int, int], known: KnownIndex, changed: Collection[str]) -> None:
        """Append a change of an index, if the file has the index as it was before the change.

        Raises:
            OSError: if the file cannot be written.
        """
        with self._mutex, suppress(DamagedCatalogue):
            place = self._follow(name, counts[0], writing=True)
            if place is None or place.known is None or known.has_damage_in(changed):
                return  # the chain ends here, so readers read the manifest
            if known.embedder is None:  # the writer may not know it; an index never changes its embedder
                known = known._replace(embedder=place.known.embedder)
            record = Record.change(name, counts, known, place.known, changed)
            if not place.is_at_end or place.changed > max(place.whole // _SHARE, _SMALL):
                # As before the change, whose record follows: readers look for that state until the change is counted.
                place = self._rewrite(name, counts[0], place.known, place.names)
            self._write(place, record)

    def keep(self, name: str, count: int, known: KnownIndex, names: Iterable[str]) -> None:
        """Write an index that was just read from the manifest.

        Raises:
            OSError: if the file cannot be written.
        """
        with self._mutex:
            if known.has_damage:
                return  # each process must meet the damage itself
            place = self._follow(name, count, writing=True)
            if place is not None and place.known is not None:
                return  # another process wrote it first, and may know a newer state
            if place is not None and place.is_at_end:
                self._write(place, Record.whole(name, count, known))
            else:
                self._rewrite(name, count, known, names)

    def forget(self) -> None:
        """Remove the file, since somebody else may have changed the database."""
        with self._mutex, suppress(OSError):
            self._places.clear()
            self._path.unlink(missing_ok=True)

    def begin_anew(self) -> None:
        """Reset mutex and places in a forked process, since a thread of the parent may have been using them."""
        self._mutex = threading.Lock()
        self._places = {}

    def _follow(self, name: str, count: int, *, writing: bool = False) -> _Place | None:
        """The place in the file for an index at this change count, or None if the chain does not reach it."""
        place = self._places.get(name)
        if place is not None and place.is_damaged:
            return None
        if place is not None and place.is_begun and place.count == count and place.is_at_end and not writing:
            return place
        try:
            descriptor = open_file(self._path, os.O_RDONLY | NO_FOLLOW)
        except IsADirectoryError:
            self._tell_of_folder()
            return None
        except OSError as error:
            check_not_too_many(error, f"read {str(self._path)!r}")
            return None
        with open(descriptor, "rb") as file:
            if place is not None and place.is_of(file) and place.go_on(file, name, count):
                return place
            # Another process has replaced the file, or this process has lost its place in it.
            self._places[name] = place = _Place.at_begin(file)
            return place if place.go_on(file, name, count) else None

    def _tell_of_folder(self) -> None:
        """Remove an empty folder at the file's path, or warn once that a folder is there."""
        with suppress(OSError):
            self._path.rmdir()
            return
        if not self._has_warned:
            self._has_warned = True
            what = f"{str(self._path)!r} must be a file, and is a folder"
            warnings.warn(
                f"{what}: the database is read in its place, which takes longer; remove it", RuntimeWarning, stacklevel=2
            )

    def _write(self, place: _Place, record: Record) -> None:
        """Append a record, unless another process has appended one since the file was read."""
        with open(open_file(self._path, os.O_RDWR | os.O_APPEND | NO_FOLLOW), "rb") as file:
            if place.is_of(file) and os.fstat(file.fileno()).st_size == place.position:
                content = record.pack()
                if os.write(file.fileno(), content) == len(content):
                    place.go_on(file, record.name, record.after)

    def _rewrite(self, name: str, count: int, known: KnownIndex, names: Iterable[str]) -> _Place:
        """Write a new file with all indexes at this change count, and return the place at its end."""
        names = {*names, name}
        records = [Record.of_names(names, count)]
        for other in sorted(names - {name}):
            place = self._follow(other, count)
            if place is not None and place.known is not None:
                with suppress(DamagedCatalogue):  # readers of this index then read the manifest
                    records.append(Record.whole(other, count, place.known))
        records.append(Record.whole(name, count, known))
        self._path.parent.mkdir(exist_ok=True, mode=0o700)
        unfinished = self._path.with_name(f"{self._path.name}.{uuid.uuid4().hex}.writing")
        try:
            with unfinished.open("x+b") as file:
                for record in records:
                    file.write(record.pack())
                file.flush()
                place = _Place.at_begin(file)
                place.go_on(file, name, count)
            os.replace(unfinished, self._path)
        finally:
            unfinished.unlink(missing_ok=True)
        self._places = {name: place}
        return place


@dataclass(slots=True)
class _Place:
    """How far the file was read for one index, and what it says about that index.

    Attributes:
        file: Device and inode number of the file.
        source: The file to read rows from.
        position: Where the next record starts.
        count: The change count after the last record.
        is_begun: Whether a record was read.
        is_at_end: Whether the last record ends the file.
        known: The index, or None if the file does not have it.
        names: The names of all indexes.
        whole: Size in bytes of the last record with the whole index.
        changed: Size in bytes of its changes since then.
    """

    file: tuple[int, int]
    source: RowSource
    position: int = 0
    count: int = 0
    is_begun: bool = False
    is_at_end: bool = False
    known: KnownIndex | None = None
    names: set[str] = field(default_factory=set)
    whole: int = 0
    changed: int = 0

    @classmethod
    def at_begin(cls, file: BinaryIO) -> _Place:
        """The place at the start of a file."""
        return cls(_identity(file), RowSource(OpenFile(file.fileno())))

    def is_of(self, file: BinaryIO) -> bool:
        """Whether this is a place in the given file."""
        return self.file == _identity(file)

    @property
    def is_damaged(self) -> bool:
        """Whether a damaged row was read."""
        return self.source.is_damaged

    def go_on(self, file: BinaryIO, name: str, count: int) -> bool:
        """Read on to the last record of this change count. Return False if the file has no such record."""
        length = os.fstat(file.fileno()).st_size
        file.seek(self.position)
        changes: list[ChangedRows] = []
        while (head := Head.read(file)) is not None:
            if self.is_begun and (head.before != self.count or self.count == count != head.after):
                break
            start = file.tell()
            end = start + head.length
            if end > length or not self._take(head, file, changes, own=head.name == name):
                break
            file.seek(end)
            self.position, self.count, self.is_begun = end, head.after, True
        if self.known is not None and changes:
            self.known = self.known.changed_by(changes)
        self.is_at_end = self.position == length
        return self.is_begun and self.count == count

    def _take(self, head: Head, file: BinaryIO, changes: list[ChangedRows], *, own: bool) -> bool:
        """Read the body of a record, and append changes to ``changes``. Return False if the body is damaged."""
        if head.kind == WHOLE:
            self.names.add(head.name)
        if not own and head.kind != NAMES:
            return True
        rows = file.tell() + head.checked
        content = file.read(head.checked)
        if crc32(content) != head.checksum:
            return False
        if head.kind == NAMES:
            self.names = set(json.loads(content))
        elif head.kind == WHOLE:
            self.known = whole_index(content, self.source, rows)
            changes.clear()
            self.whole, self.changed = head.length, 0
        elif head.kind == CHANGE and self.known is not None:
            changes.append(ChangedRows.read(content, self.source, rows))
            self.changed += head.length
        return True


def _identity(file: BinaryIO) -> tuple[int, int]:
    own = os.fstat(file.fileno())
    return own.st_dev, own.st_ino
