"""Chroma's SQLite file: what it says of the vector files and the log, and whether it is whole.

leafspan reads its head without SQLite, and its tables while Chroma does not use it.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import weakref
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.engines.local._disk import check_not_too_many, disk_error, open_file, read_at
from leafspan.errors import DamagedIndex

DATABASE = "chroma.sqlite3"
RESTORE = "put the whole folder back from a backup, or delete it and add the documents again"

_MAGIC = b"SQLite format 3\0"
_HEAD = 100
_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SECONDS = 60.0  # for a process that reads a large database


class DatabaseFile:
    """The SQLite file, open for as long as this object lives.

    Closing a file drops all locks that this process has on it, including the locks of Chroma's SQLite
    (sqlite.org/howtocorrupt.html, section 2.2.1). So leafspan opens it once, before Chroma does, and closes it after
    Chroma.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE
        try:
            self._descriptor = open_file(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
            self._own = os.fstat(self._descriptor)
        except OSError as error:
            raise disk_error(error, f"open {str(self.path)!r}") from error
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    @property
    def changes(self) -> int | None:
        """Return the number of transactions that changed the file, modulo 2**32, from SQLite's file header.

        None if SQLite uses a write-ahead log, since it does not count changes in the header then.
        """
        head = read_at(self._descriptor, _HEAD, 0)
        return int.from_bytes(head[24:28], "big") if len(head) == _HEAD and head[18] == 1 else None

    @property
    def is_at_its_path(self) -> bool:
        """Whether the path still leads to this file. False after the file was deleted or replaced."""
        try:
            return os.path.samestat(self._own, os.stat(self.path))
        except OSError:
            return False

    def check(self) -> None:
        """Check that the file is an SQLite file of full length."""
        head = read_at(self._descriptor, _HEAD, 0)
        if head[:16] != _MAGIC:
            raise DamagedIndex(f"{str(self.path)!r} must be an SQLite database, and begins with {head[:16]!r}: {RESTORE}")
        length, page = os.fstat(self._descriptor).st_size, int.from_bytes(head[16:18], "big")
        # Like SQLite, believe the number of pages only if it was written along with the count of changes.
        pages = int.from_bytes(head[28:32], "big") if head[24:28] == head[92:96] else 0
        expected = pages * (65536 if page == 1 else page)
        if length < expected and not _has_journal(self.path):
            raise DamagedIndex(f"{str(self.path)!r} must have {expected:,} bytes, and has {length:,}: {RESTORE}")

    def check_not_older(self, noted: int | None) -> None:
        """Check that the file is not older than the files beside it. Call it while no other process uses the file."""
        count = self.changes
        if noted is not None and count is not None and 0 < (noted - count) % 2**32 < 2**31:  # counts start again at 2**32
            raise DamagedIndex(
                f"{str(self.path)!r} is older than the files beside it: it had changed {noted} times when it was last "
                f"used, now it has {count} times: put the whole folder back from one backup; to go on with the older "
                "database, delete leafspan.changes, and run repair()"
            )


def entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise disk_error(error, f"look into {str(folder)!r}") from error


def is_vector_folder(path: Path) -> bool:
    """Whether a path is named like a folder in which Chroma keeps vectors."""
    return _SEGMENT.fullmatch(path.name) is not None


def check_there(folder: Path) -> bool:
    """Whether a folder has a database."""
    path = folder / DATABASE
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no file"
            raise DamagedIndex(f"{str(path)!r} must be an SQLite database, and is {kind}: {RESTORE}")
        if status.st_size:
            return True
    except FileNotFoundError:
        pass
    except OSError as error:
        raise disk_error(error, f"read {str(path)!r}") from error
    if remains := _remains(folder):
        state = "is empty" if path.exists() else "is missing"
        raise DamagedIndex(f"{str(path)!r} {state}, though the folder has {remains} of an index: {RESTORE}")
    return False


def _remains(folder: Path) -> str:
    """Return what a folder still has of an index, or an empty text."""
    if not folder.is_dir():
        return ""
    if any((folder / name).is_dir() and entries(folder / name) for name in ("leafspan.vectors", "leafspan.segments")):
        return "copies"
    if any(is_vector_folder(each) and each.is_dir() for each in entries(folder)):
        return "vectors"
    try:
        numbers = (folder / "leafspan.changes").read_bytes()
    except OSError:
        return ""
    return "the count of changes" if any(numbers[24:32]) else ""  # the fourth number is the database's own count


def _has_journal(path: Path) -> bool:
    """Whether SQLite was interrupted, and will repair the file when it opens it."""
    journals = (path.with_name(path.name + suffix) for suffix in ("-journal", "-wal"))
    return any(journal.exists() and journal.stat().st_size for journal in journals)


class StoredVectors(NamedTuple):
    """A collection's vectors, as the database describes them."""

    collection: str
    own: bool  # whether the collection belongs to a leafspan index
    last: int | None  # number of the last change that Chroma wrote to vector files; None before it wrote any


def stored_vectors(folder: Path) -> dict[str, StoredVectors] | None:
    """Return the vectors of all collections by the name of their files' folder, or None if the database is busy."""
    rows = _ask(folder, _SEGMENTS)
    if rows is None:
        return None
    # A process may have been killed after making only the leaves, so any collection named like leaves may be an index's.
    return {id_: StoredVectors(name, bool(own) or name.endswith(".leaves"), last or None) for id_, name, last, own in rows}


def refused_records(folder: Path, *, drop: bool) -> dict[str, int]:
    """Return the number of writes in Chroma's log that its tables have refused, by the index's collection. Mostly empty.

    Chroma writes a record to its log first, then copies everything new from the log to its tables. A write that the tables
    refuse stays in the log before all later writes, so no later write of the collection can succeed. Tables never refuse
    deletions. Chroma also leaves deletions in the log of a collection that has never had a record.
    """
    numbers = dict(_ask(folder, f"select collections.name, count(*) {_REFUSED} group by collections.name") or ())
    if numbers and drop:
        _ask(folder, f"{_DROP} where seq_id in (select embeddings_queue.seq_id {_NOT_TAKEN})")
    return numbers


def check_pages(folder: Path) -> str | None:
    """Return what SQLite's check of all pages finds wrong, or None if the database is whole or busy."""
    try:
        rows = _ask(folder, "pragma integrity_check(1)")
    except DamagedIndex as error:
        return str(error)
    return str(rows[0][0]) if rows and rows[0][0] != "ok" else None


_SEGMENTS = """
    select segments.id, collections.name, max_seq_id.seq_id, collections.name in (
        select substr(manifests.name, 1, length(manifests.name) - length('.manifest')) || suffixes.column1
        from collections manifests
        join collection_metadata on collection_metadata.collection_id = manifests.id
        join (values ('.leaves'), ('.manifest'), ('.texts')) suffixes
        where collection_metadata.key = 'leafspan' and manifests.name glob '*.manifest'
    )
    from segments
    join collections on collections.id = segments.collection
    left join max_seq_id on max_seq_id.segment_id = segments.id
    where segments.scope = 'VECTOR'
"""
_NOT_TAKEN = """
    from segments
    join collections on collections.id = segments.collection
    left join max_seq_id on max_seq_id.segment_id = segments.id
    join embeddings_queue on embeddings_queue.seq_id > coalesce(max_seq_id.seq_id, 0)
        and embeddings_queue.topic like '%/' || segments.collection
    where segments.scope = 'METADATA' and (
        collections.name like '%.leaves' or collections.name like '%.manifest' or collections.name like '%.texts'
    )
"""
_REFUSED = f"{_NOT_TAKEN} and embeddings_queue.operation <> 3"  # 3 is a deletion
# These rows are not deleted: Chroma would reuse their numbers, and a client would take the new rows for old ones.
_DROP = """
    update embeddings_queue set operation = 3, id = 'leafspan:refused', vector = null, encoding = null, metadata = '{}'
"""


def _ask(folder: Path, query: str) -> list[Any] | None:
    """Return a query's rows, or None if the database cannot be read now."""
    path = folder / DATABASE
    try:
        if not _is_open_here(path):
            with closing(sqlite3.connect(_address(path), uri=True)) as connection, connection:  # one transaction
                return connection.execute(query).fetchall()
        answer = _ask_elsewhere(path, query)
    except sqlite3.DatabaseError as error:
        check_not_too_many(error, f"read {str(path)!r}")
        if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
            return None  # busy or locked: no sign of damage
        answer = {"damage": str(error)}
    if answer is not None and "damage" in answer:
        raise DamagedIndex(f"{str(path)!r} cannot be read as Chroma's database ({answer['damage']}): {RESTORE}")
    return None if answer is None else answer["rows"]


def _address(path: Path) -> str:
    """Return the database's URI: writable if possible, since only a writer can roll back a killed writer's transaction."""
    return f"{path.as_uri()}?mode={'rw' if os.access(path, os.W_OK) else 'ro'}"


def _ask_elsewhere(path: Path, query: str) -> dict[str, Any] | None:
    """Ask in another process, since closing the database here would drop the locks of Chroma's own SQLite."""
    if not sys.executable:
        return None
    command = [sys.executable, "-I", "-S", "-c", _ELSEWHERE, _address(path), query]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True, stdin=subprocess.DEVNULL)
        return dict(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        check_not_too_many(error, f"read {str(path)!r}")
        return None


_ELSEWHERE = """
import json, sqlite3, sys
try:
    with sqlite3.connect(sys.argv[1], uri=True) as connection:
        rows = connection.execute(sys.argv[2]).fetchall()
    print(json.dumps({"rows": rows}))
except sqlite3.DatabaseError as error:
    busy = isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error)
    print("" if busy else json.dumps({"damage": str(error)}))
"""


def _is_open_here(path: Path) -> bool:
    """Whether this process has a file open more than once: leafspan itself has it open once."""
    try:
        status, number = os.stat(path), 0
        for name in os.listdir("/dev/fd"):
            with suppress(OSError, ValueError):
                number += os.path.samestat(os.fstat(int(name)), status)
    except OSError:
        return True  # unknown
    return number > 1
