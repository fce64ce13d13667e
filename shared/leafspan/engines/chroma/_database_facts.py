"""Reads facts about vector files and the log from Chroma's database, while Chroma does not use it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafspan.engines.chroma._database_file import DATABASE, RESTORE
from leafspan.engines.local._open_files import check_not_too_many
from leafspan.errors import DamagedIndex

_SECONDS = 60.0  # for a process that reads a large database


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """A collection's vectors, as the database describes them.

    Attributes:
        collection: Name of the collection.
        own: Whether the collection belongs to a leafspan index.
        last: Number of the last change that Chroma wrote to vector files, or None if Chroma never wrote any.
    """

    collection: str
    own: bool
    last: int | None


def stored_vectors(folder: Path) -> dict[str, StoredVectors] | None:
    """Return the vectors of all collections by the name of their files' folder, or None if the database is busy.

    Raises:
        DamagedIndex: if the database cannot be read.
    """
    rows = _ask(folder, _SEGMENTS)
    if rows is None:
        return None
    # A process may have been killed after making only the leaves, so any collection named like leaves may be an index's.
    return {id_: StoredVectors(name, bool(own) or name.endswith(".leaves"), last or None) for id_, name, last, own in rows}


def last_written(folder: Path) -> dict[str, int | None]:
    """Return the number of the last change in the vector files, by their folder's name; empty if unknown."""
    return dict(_ask(folder, _LAST) or ())


def count_missing(folder: Path, segment: str, there: Collection[str]) -> int | None:
    """Return how many of a collection's records have their vectors neither in its files nor in Chroma's log."""
    stored, logged = _ask(folder, _RECORDS, segment), _ask(folder, _LOG, segment, segment)
    if stored is None or logged is None:
        return None
    return len({id_ for (id_,) in stored} - set(there) - {id_ for (id_,) in logged})


def refused_records(folder: Path, *, drop: bool) -> dict[str, int]:
    """Return the number of writes in Chroma's log that its tables have refused, by the index's collection. Mostly empty.

    Chroma writes a record to its log first, then copies everything new from the log to its tables. A write that the tables
    refuse stays in the log before all later writes, so no later write of the collection can succeed. Tables never refuse
    deletions. Chroma also leaves deletions in the log of a collection that has never had a record.
    """
    found = dict(_ask(folder, f"select collections.name, count(*) {_REFUSED} group by collections.name") or ())
    if found and drop:
        _ask(folder, f"{_DROP} where seq_id in (select embeddings_queue.seq_id {_NOT_TAKEN})")
    return found


def check_pages(folder: Path) -> str | None:
    """Return what SQLite's check of all pages finds wrong, or None if the database is whole or busy."""
    try:
        found = _ask(folder, "pragma integrity_check(1)")
    except DamagedIndex as error:
        return str(error)
    return str(found[0][0]) if found and found[0][0] != "ok" else None


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
_LAST = "select segment_id, seq_id from max_seq_id"
_RECORDS = """
    select embedding_id from embeddings where segment_id = (
        select records.id from segments vectors join segments records on records.collection = vectors.collection
        where vectors.id = ? and records.scope = 'METADATA'
    )
"""
_LOG = """
    select id from embeddings_queue where vector is not null
    and topic like '%/' || (select collection from segments where id = ?)
    and seq_id > coalesce((select seq_id from max_seq_id where segment_id = ?), 0)
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


def _ask(folder: Path, query: str, *values: str) -> list[Any] | None:
    """Return a query's rows, or None if the database cannot be read now."""
    path = folder / DATABASE
    try:
        if not _is_open_here(path):
            return _rows(str(path), query, values)
        answer = _ask_elsewhere(str(path), query, values)
    except sqlite3.DatabaseError as error:
        check_not_too_many(error, f"read {str(path)!r}")
        if isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error):
            return None  # busy or locked: no sign of damage
        answer = {"damage": str(error)}
    if answer is not None and "damage" in answer:
        raise DamagedIndex(f"{str(path)!r} cannot be read as Chroma's database ({answer['damage']}): {RESTORE}")
    return None if answer is None else answer["rows"]


def _rows(path: str, query: str, values: tuple[str, ...]) -> list[Any]:
    connection = sqlite3.connect(_address(path), uri=True)
    try:
        with connection:  # one transaction
            return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def _address(path: str) -> str:
    """Return the database's URI: writable if possible, since only a writer can roll back a killed writer's transaction."""
    return f"{Path(path).as_uri()}?mode={'rw' if os.access(path, os.W_OK) else 'ro'}"


def _ask_elsewhere(path: str, query: str, values: tuple[str, ...]) -> dict[str, Any] | None:
    """Ask in another process, since closing the database here would drop the locks of Chroma's own SQLite."""
    if not sys.executable:
        return None
    command = [sys.executable, "-I", "-S", "-c", _ELSEWHERE, json.dumps([_address(path), query, values])]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True, stdin=subprocess.DEVNULL)
        return dict(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        check_not_too_many(error, f"read {path!r}")
        return None


_ELSEWHERE = """
import json, sqlite3, sys
address, query, values = json.loads(sys.argv[1])
try:
    with sqlite3.connect(address, uri=True) as connection:
        rows = connection.execute(query, values).fetchall()
    print(json.dumps({"rows": rows}))
except sqlite3.DatabaseError as error:
    busy = isinstance(error, sqlite3.OperationalError) and "no such table" not in str(error)
    print("" if busy else json.dumps({"damage": str(error)}))
"""


def _is_open_here(path: Path) -> bool:
    """Whether this process has a file open more than once: leafspan itself has it open once."""
    try:
        wanted, found = os.stat(path), 0
        for name in os.listdir("/dev/fd"):
            try:
                found += os.path.samestat(os.fstat(int(name)), wanted)
            except (OSError, ValueError):
                continue
    except OSError:
        return True  # unknown
    return found > 1
