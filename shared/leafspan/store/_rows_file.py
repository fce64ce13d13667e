"""The rows of a folder's indexes and the settings of each index, in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from leafspan.engines import Field, Notes, Record
from leafspan.engines.chroma import RESTORE
from leafspan.engines.local import check_not_too_many, chroma_disk_error
from leafspan.errors import DamagedIndex, IndexMismatch, StorageFailed, StorageReadOnly, WriterBusy
from leafspan.flows import Call, Flow
from leafspan.store._document_table import decoded, encoded
from leafspan.store._manifest import ROW_KEY
from leafspan.store._naming import SPARE, Editions, family
from leafspan.store._stored_rows import Place, RowBlock, StoredRows

ROWS = "leafspan.sqlite3"

_FORMAT = 1
_PATIENCE = 10.0  # seconds to wait for another process to finish a transaction
_FEW = 2_000  # rows to write before the columns are written again
_SHARE = 8  # or 1/8 of the documents, since a process reads all rows that are newer than the columns
_AT_ONCE = 500  # rows of one statement
_SCHEMA = (
    "create table if not exists indexes (number integer primary key autoincrement, tenant text not null, database text "
    "not null, name text not null, leaves text not null, notes text not null, unique (tenant, database, name))",
    "create table if not exists rows (number integer primary key autoincrement, owner integer not null, "
    "document blob not null, version text, leaves integer not null, open integer not null, packed blob)",
    "create index if not exists rows_of_documents on rows (owner, document)",
    "create table if not exists columns (owner integer primary key, upto integer not null, documents integer not null, "
    "content blob not null)",
    f"pragma user_version = {_FORMAT}",
)
_of_parents: list[sqlite3.Connection] = []  # connections that a forked process must not close
_COLUMNS = "document, version, leaves, open, packed is null"
_connections: weakref.WeakSet[_Connection] = weakref.WeakSet()
_held: list[Any] = []  # mutexes, during a fork


class StoredIndex(NamedTuple):
    """An index of a folder: its number in the file, the id of its table of leaves, and its settings and embedder."""

    number: int
    leaves: str
    notes: Notes


class RowsFile:
    """The file. Each change appends rows, and the newest row of a document counts; a row without content deletes.

    A reader that has read up to a row's number reads only newer ones. So that a new process need not read all rows, the
    columns that every query needs are kept with the rows, up to a number. When they are made again, older rows are deleted.

    The file has a rollback journal: with a write-ahead log, nobody could read it in a folder that is read-only. Readers and
    writers wait for each other only during a commit. A commit is on disk before the next step of a writer begins.
    """

    def __init__(self, folder: Path, tenant: str, database: str, *, read_only: bool) -> None:
        self.path = folder / ROWS
        self._database = tenant, database
        self._reading = _Connection(self.path, "ro" if read_only else "rw")
        self._writing = _Connection(self.path, "ro" if read_only else "rwc")
        self.spares: set[str] = set()  # names of the indexes that were spare editions when they were last read

    @property
    def is_there(self) -> bool:
        """Whether there is a file that is not empty."""
        try:
            status = self.path.stat()
        except OSError:
            return False
        return status.st_size > 0 or not stat.S_ISREG(status.st_mode)  # anything else is an error when it is opened

    def check_there(self) -> None:
        """Check that the opened file was not deleted."""
        if self.is_replaced and not self.is_there:
            raise DamagedIndex(f"{str(self.path)!r} is missing: {RESTORE}")

    @property
    def is_replaced(self) -> bool:
        """Whether the opened file was deleted or replaced."""
        return self._reading.is_replaced or self._writing.is_replaced

    def names(self) -> list[str]:
        if not self.is_there:
            return []
        with self._reading.transaction() as database:
            query = "select name from indexes where tenant = ? and database = ? order by name"
            return [name for (name,) in database.execute(query, self._database)]

    def find(self, name: str) -> StoredIndex | None:
        if not self.is_there:
            return None
        with self._reading.transaction() as database:
            return self._find(database, name)

    def make(self, name: str, leaves: str, notes: Notes) -> None:
        """Make an index without rows. It replaces an index of the same name, whose leaves are gone."""
        with self._writing.transaction("begin immediate") as database:
            for statement in _SCHEMA:
                database.execute(statement)
            self._forget(database, name)
            values = (*self._database, name, leaves, json.dumps(dict(notes)))
            database.execute("insert into indexes (tenant, database, name, leaves, notes) values (?, ?, ?, ?, ?)", values)

    def forget(self, name: str, *, keep_notes: bool = False) -> None:
        """Remove an index whose leaves are gone. With ``keep_notes``, only its rows."""
        with self._writing.transaction("begin immediate") as database:
            self._forget(database, name, keep_notes=keep_notes)

    def annotate(self, name: str, notes: Notes) -> None:
        with self._writing.transaction("begin immediate") as database:
            self._annotate(database, name, notes)

    def record_editions(self, base: str, editions: Editions) -> None:
        """Record the editions of an index, and which of them answers questions, at once."""
        with self._writing.transaction("begin immediate") as database:
            for name in {base, *family(editions.current), *editions.silent}:
                if (index := self._find(database, name)) is not None:
                    notes = {key: value for key, value in index.notes.items() if key != SPARE}
                    notes |= editions.notes if name == base else {}
                    self._annotate(database, name, notes | ({SPARE: "yes"} if name in editions.silent else {}))

    def read(self, name: str, earlier: StoredRows | None = None, *, checked: bool = False) -> StoredRows | None:
        """The current rows of an index, or None if there is no such index.

        Only rows that are newer than the earlier ones are read. With ``checked``, every row is read, and damaged rows are
        known.
        """
        if not self.is_there:
            return None
        with self._reading.transaction() as database:
            index = self._find(database, name)
            if index is None or not index.leaves:
                return None
            owner = index.number
            columns = database.execute("select upto from columns where owner = ?", (owner,)).fetchone()
            upto = columns[0] if columns else 0
            if checked or earlier is None or (earlier.owner, earlier.block.upto) != (owner, upto):
                earlier = StoredRows(self._block(database, owner, upto), owner, self.packed)
            # The plus keeps SQLite from looking through all documents of the index for the newer rows.
            query = f"select number, {_COLUMNS} from rows where +owner = ? and number > ? order by number"
            newer = database.execute(query, (owner, earlier.upto)).fetchall()
            (last,) = database.execute("select coalesce(max(number), 0) from rows").fetchone()
        rows = earlier.changed_by(newer)
        rows.upto = max(rows.upto, last)  # rows of the folder's other indexes are not looked at again
        return rows.checked() if checked else rows

    def packed(self, numbers: Collection[int]) -> dict[int, bytes]:
        """The packed rows with these numbers, without those that newer rows have replaced."""
        rows: dict[int, bytes] = {}
        rest = iter(numbers)
        while some := list(islice(rest, _AT_ONCE)):
            with self._reading.transaction() as database:
                query = f"select number, packed from rows where number in ({','.join('?' * len(some))})"
                rows.update(database.execute(query, some))
        return rows

    def get(self, name: str, ids: Collection[str]) -> dict[str, bytes]:
        """The packed current rows of these documents, by id."""
        rows = {}
        with self._reading.transaction() as database:
            index = self._find(database, name)
            query = "select packed from rows where owner = ? and document = ? order by number desc limit 1"
            for id_ in ids if index else ():
                assert index is not None
                row = database.execute(query, (index.number, encoded(id_))).fetchone()
                if row is not None and row[0] is not None:
                    rows[id_] = bytes(row[0])
        return rows

    def write(self, name: str, rows: Mapping[str, str | None]) -> None:
        """Write packed rows by document, all or none; None deletes a row."""
        with self._writing.transaction("begin immediate") as database:
            index = self._find(database, name)
            if index is None:
                raise DamagedIndex(f"the index {name!r} is no longer in {str(self.path)!r}: {RESTORE}")
            values = [(index.number, encoded(id_), *_columns_of(packed)) for id_, packed in rows.items()]
            query = "insert into rows (owner, document, version, leaves, open, packed) values (?, ?, ?, ?, ?, ?)"
            database.executemany(query, values)
            # Nothing of a deleted document may stay, also not for readers that have begun before.
            gone = [(index.number, encoded(id_)) for id_, packed in rows.items() if packed is None]
            database.executemany("delete from rows where owner = ? and document = ? and packed is not null", gone)
            (last,) = database.execute("select coalesce(max(number), 0) from rows").fetchone()
            columns = database.execute("select upto, documents from columns where owner = ?", (index.number,)).fetchone()
            upto, documents = columns or (0, 0)
            if last - upto > max(_FEW, documents // _SHARE):
                self._compact(database, index.number, upto, last)

    def close(self) -> None:
        """Close the file. It is opened again at its next use."""
        self._reading.close()
        self._writing.close()

    def check(self) -> str | None:
        """What SQLite's check of all pages finds wrong, or None."""
        if not self.is_there:
            return None
        try:
            with self._reading.transaction() as database:
                (result,) = database.execute("pragma integrity_check(1)").fetchone()
                return None if result == "ok" else f"{ROWS}: {result}"
        except DamagedIndex as error:
            return str(error)

    def _find(self, database: sqlite3.Connection, name: str) -> StoredIndex | None:
        query = "select number, leaves, notes from indexes where tenant = ? and database = ? and name = ?"
        row = database.execute(query, (*self._database, name)).fetchone()
        if row is None:
            return None
        try:
            notes = json.loads(row[2])
        except ValueError:
            notes = None
        if not isinstance(notes, dict):
            raise DamagedIndex(f"the settings of the index {name!r} in {str(self.path)!r} are damaged: {RESTORE}")
        (self.spares.add if SPARE in notes else self.spares.discard)(name)
        return StoredIndex(row[0], row[1], notes)

    def _annotate(self, database: sqlite3.Connection, name: str, notes: Notes) -> None:
        query = "update indexes set notes = ? where tenant = ? and database = ? and name = ?"
        database.execute(query, (json.dumps(dict(notes)), *self._database, name))

    def _forget(self, database: sqlite3.Connection, name: str, *, keep_notes: bool = False) -> None:
        if (index := self._find(database, name)) is not None:
            for table, key in (("rows", "owner"), ("columns", "owner"), ("indexes", "number"))[: 2 if keep_notes else 3]:
                database.execute(f"delete from {table} where {key} = ?", (index.number,))
            database.execute("update indexes set leaves = '' where number = ?", (index.number,))

    def _block(self, database: sqlite3.Connection, owner: int, upto: int) -> RowBlock:
        """The rows up to this number, from the columns, or from the rows themselves if the columns are damaged."""
        block = None
        if database.execute("select 1 from columns where owner = ?", (owner,)).fetchone():
            with database.blobopen("columns", "content", owner, readonly=True) as content:  # faster than a select
                block = RowBlock.read(content.read(), upto)
        if block is None:
            current = self._current(database, owner, upto) if upto else []
            block = RowBlock.read(RowBlock.pack(current), upto)
            assert block is not None
        return block

    def _current(self, database: sqlite3.Connection, owner: int, upto: int) -> list[tuple[str, Place]]:
        query = f"select max(number), {_COLUMNS} from rows where owner = ? and number <= ? group by document"
        rows = sorted(database.execute(query, (owner, upto)))
        return [(decoded(document), Place(number, *rest)) for number, document, *rest, is_gone in rows if not is_gone]

    def _compact(self, database: sqlite3.Connection, owner: int, since: int, upto: int) -> None:
        """Write the columns again, and delete the rows that newer rows have replaced."""
        current = self._current(database, owner, upto)
        newest = "select max(number) from rows where +owner = :owner and number > :since group by document"
        changed = "select document from rows where +owner = :owner and number > :since"
        old = f"document in ({changed}) and number not in ({newest})"
        values = {"owner": owner, "since": since}
        database.execute(f"delete from rows where owner = :owner and {old}", values)
        database.execute("delete from rows where +owner = :owner and number > :since and packed is null", values)
        columns = (owner, upto, len(current), RowBlock.pack(current))
        database.execute("insert or replace into columns values (?, ?, ?, ?)", columns)


class RowsInFile:
    """The rows of one index in the file, with the methods of an engine's table that holds rows."""

    def __init__(self, file: RowsFile, name: str) -> None:
        self._file = file
        self._name = name

    def get(self, ids: Collection[str], fields: Collection[Field]) -> Flow[dict[str, Record]]:
        rows = yield Call(self._file.get, (self._name, ids))
        return {id_: Record(id_, metadata={ROW_KEY: row.decode(errors="replace")}) for id_, row in rows.items()}

    def scan(self, fields: Collection[Field]) -> Flow[dict[str, Record]]:
        rows = yield Call(self._file.read, (self._name,))
        return (yield from self.get(list(rows or ()), fields))

    def put(self, records: Sequence[Record], *, new: bool = False) -> Flow[None]:
        rows = {each.id: (each.metadata or {})[ROW_KEY] for each in records}
        yield Call(self._file.write, (self._name, rows), finish=True)

    def delete(self, ids: Sequence[str]) -> Flow[None]:
        if ids:
            yield Call(self._file.write, (self._name, dict.fromkeys(ids)), finish=True)

    def annotate(self, notes: Notes) -> Flow[None]:
        yield Call(self._file.annotate, (self._name, notes), finish=True)


class _Connection:
    """A connection to the file that threads use in turn. It is opened at its first use, and again in a forked process."""

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        self._mode = mode
        self._open: sqlite3.Connection | None = None
        self._own: os.stat_result | None = None
        self.mutex = Lock()
        _connections.add(self)

    @property
    def is_replaced(self) -> bool:
        """Whether the path no longer leads to the opened file."""
        if self._own is None:
            return False
        try:
            return not os.path.samestat(self._own, os.stat(self._path))
        except OSError:
            return True

    @contextmanager
    def transaction(self, begin: str = "begin") -> Iterator[sqlite3.Connection]:
        """A transaction. It is rolled back if the block raises an error."""
        with self.mutex:
            try:
                database = self._opened()
                database.execute(begin)
                try:
                    yield database
                    database.execute("commit")
                except BaseException:
                    if database.in_transaction:
                        database.execute("rollback")
                    raise
            except sqlite3.Error as error:
                raise self._explained(error, "write" if begin != "begin" else "read") from error

    def close(self) -> None:
        """Close the connection, unless another thread uses it: then it is closed with this object."""
        if self.mutex.acquire(blocking=False):
            try:
                if self._open is not None:
                    self._finalize()
                self._open = self._own = None
            finally:
                self.mutex.release()

    def leave_to_parent(self) -> None:
        """In a forked process: never use or close the parent's connection."""
        self.mutex = Lock()
        self._open = self._own = None

    def _opened(self) -> sqlite3.Connection:
        if self._open is None:
            _check_regular(self._path)
            _check_regular(self._path.with_name(f"{ROWS}-journal"))
            if self._path.is_symlink():
                raise StorageFailed(
                    f"{str(self._path)!r} is a symbolic link; leafspan does not write through links inside an index. "
                    "Replace it with its target"
                )
            address = f"{self._path.absolute().as_uri()}?mode={self._mode}"
            database = sqlite3.connect(
                address, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, uri=True, cached_statements=32
            )
            self._finalize = weakref.finalize(self, _close, database, os.getpid())
            self._own = os.stat(self._path)
            database.execute("pragma journal_mode = truncate" if self._mode == "rwc" else "pragma query_only = on")
            database.execute("pragma synchronous = normal")
            (number,) = database.execute("pragma user_version").fetchone()
            if number not in (0, _FORMAT):
                raise IndexMismatch(
                    f"{str(self._path)!r} has format {number}, and this version of leafspan reads format {_FORMAT}: open "
                    "it with the version that wrote it"
                )
            self._open = database
        return self._open

    def _explained(self, error: sqlite3.Error, doing: str) -> Exception:
        check_not_too_many(error, f"{doing} {str(self._path)!r}")
        words = str(error)
        if "locked" in words or "busy" in words:
            return WriterBusy(
                f"another process is writing {str(self._path)!r}, and has not finished within {_PATIENCE:g} seconds: see "
                "whether it was stopped, and try again"
            )
        if self._mode == "ro" and ("readonly" in words or "unable to open" in words):
            return StorageReadOnly(
                f"cannot read {str(self._path)!r} ({words}): if a writer was killed, open the index once where it can be "
                "written"
            )
        if isinstance(error, sqlite3.OperationalError) and (
            explained := chroma_disk_error(error, doing, self._path.parent, 0)
        ):
            return explained
        return DamagedIndex(f"{str(self._path)!r} cannot be read ({words}): {RESTORE}")


def _check_regular(path: Path) -> None:
    """Check that a path leads to a file, if to anything: SQLite would wait for the other end of a FIFO."""
    if path.exists() and not path.is_file():
        raise StorageFailed(f"{str(path)!r} must be a file of leafspan: move what is there to another place")


def _columns_of(packed: str | None) -> tuple[str | None, int, bool, bytes | None]:
    """Version, number of leaves, whether a writer is at work, and content of a row."""
    if packed is None:
        return None, 0, False, None
    row = json.loads(packed)
    return row["version"], row["leaves"], bool(row["litter"]) or row["version"] is None, packed.encode()


def _close(database: sqlite3.Connection, process: int) -> None:
    if os.getpid() == process:
        database.close()
    else:
        _of_parents.append(database)


def _stop_for_fork() -> None:
    """No thread may be inside SQLite while the process is forked: the child would wait for it for ever."""
    _held.extend(mutex for mutex in [each.mutex for each in _connections] if mutex.acquire(timeout=_PATIENCE))


def _go_on_after_fork() -> None:
    while _held:
        _held.pop().release()


def _begin_in_child() -> None:
    _held.clear()
    for each in list(_connections):
        each.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_stop_for_fork, after_in_parent=_go_on_after_fork, after_in_child=_begin_in_child)
