"""An embedded Chroma in a folder, as each process sees it.

What chromadb 1.5.9 keeps in SQLite (texts, metadata, the log of writes) all processes share at once. Each has vectors of its
own in memory: those that were in files and log when it loaded them, and what it has written itself since. So it does not find
what others have added, finds what others have deleted without a text, and fails where it is asked for a vector that it lacks
(test_embedded.py compares). After every ``threshold`` records it writes its vectors into files, in place and file by file, and
then shortens the log.

The files are real ones, so that what leafspan does with them is done. Whoever loads files that are torn would crash.
"""

from __future__ import annotations

import os
import pickle
import struct
import uuid
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from chromadb.errors import InternalError, NotFoundError

from leafspan.store._rows_file import RowsFile
from tests.simulation.records import LINKS, Record, Records, Vector, are_refused
from tests.simulation.server import Watch
from tests.simulation.world import READS, WRITES, World

VECTORS = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin")
IDS = "index_metadata.pickle"
_HEADER = struct.Struct("<iQQQQ")  # format, offset, capacity, number of vectors, bytes of each; as in Chroma's header.bin
_DATABASE = bytearray(b"SQLite format 3\0\x10\0\x01\x01".ljust(92, b"\0") + b"\xff" * 8)  # the head of an SQLite file
_CHANGES = slice(24, 28)  # where SQLite counts the changes of its file


class Table:
    """What SQLite has of a collection.

    Attributes:
        log: The writes that are not known to be in the files, as (number, id, vector); a vector of None deletes.
        written: Number of the last write that is in the files.
        refused: Number of writes that the log has, and that the other tables refuse.
    """

    def __init__(self, name: str, number: int, metadata: Mapping[str, Any] | None, threshold: int) -> None:
        self.name = name
        self.id = uuid.UUID(int=number)
        self.segment = str(uuid.UUID(int=0xFFFF0000 + number))
        self.metadata = None if metadata is None else dict(metadata)
        self.threshold = threshold
        self.records = Records()
        self.log: list[tuple[int, str, Vector | None]] = []
        self.number = 0
        self.written = 0
        self.refused = 0

    def append(self, id_: str, vector: Vector | None) -> None:
        """Put a write into the log."""
        self.number += 1
        self.log.append((self.number, id_, vector))


class Disk:
    """The folder.

    Args:
        world: The world.
        path: The folder.
        batch: Most records of one write.
        watch: What looks at each write.
    """

    def __init__(self, world: World, path: Path, batch: int, watch: Watch) -> None:
        self.world = world
        self.numbers = count(1)  # of tables
        self.path = path
        self.batch = batch
        self.watch = watch
        self.tables: dict[str, Table] = {}
        self._changes = 0

    def changed(self) -> None:
        """Count a change of the database in its file, as SQLite does."""
        self._changes += 1
        head = bytearray(_DATABASE)
        head[_CHANGES] = self._changes.to_bytes(4, "big")
        with open(self.path / "chroma.sqlite3", "r+b" if self._changes > 1 else "wb") as file:
            file.write(head)

    def refused(self, *, drop: bool) -> dict[str, int]:
        """The number of writes that the tables refuse, by collection; and drop them from the log."""
        found = {table.name: table.refused for table in self.tables.values() if table.refused}
        if found and drop:
            for table in self.tables.values():
                table.refused = 0
            self.world.counts["refused writes dropped"] += 1
            self.changed()
        return found

    def vectors_stored(self) -> dict[str, tuple[str, bool]]:
        """The name of each collection, and whether its vectors were ever written to files, by its folder."""
        return {table.segment: (table.name, table.written > 0) for table in self.tables.values()}


class VectorsInMemory:
    """The vectors of a collection as one client has them."""

    def __init__(self, disk: Disk, table: Table) -> None:
        self._disk = disk
        self._table = table
        self.by_id = self._load()
        self._unwritten = len(table.log)

    def write(self, id_: str, vector: Vector | None) -> None:
        """Change a vector in memory; None deletes it."""
        if vector is None:
            self.by_id.pop(id_, None)
        else:
            self.by_id[id_] = vector
        self._unwritten += 1

    def persist(self) -> None:
        """Write the files if there is enough to write: one after the other, in place, and in two halves each."""
        table, world = self._table, self._disk.world
        if self._unwritten < table.threshold:
            return
        world.counts["files written"] += 1
        folder = self._disk.path / table.segment
        folder.mkdir(exist_ok=True)
        number = table.number
        for name in (*VECTORS, IDS):
            content = self._content(name, number)
            torn = world.step * 7919 % len(content)  # at any byte
            for written in (content[:torn], content):
                (folder / name).write_bytes(written)
                os.utime(folder / name, ns=(world.tick() * 1_000_000,) * 2)
                world.point(f"within {folder.name[-4:]}/{name}")
        self._disk.changed()
        table.written = number
        table.log = [each for each in table.log if each[0] > number]
        self._unwritten = 0
        world.note(f"wrote the files of {table.name}")

    def _content(self, name: str, number: int) -> bytes:
        """What is written into a file, with the number of the write that it belongs to."""
        count = len(self.by_id)
        if name == IDS:
            return pickle.dumps({"id_to_label": {id_: place for place, id_ in enumerate(self.by_id)}, "number": number})
        if name == VECTORS[0]:
            return _HEADER.pack(1, 0, count, count, 1) + pickle.dumps((number, {}))
        return pickle.dumps((number, dict(self.by_id) if name == VECTORS[1] else bytes(4 * count)))

    def _load(self) -> dict[str, Vector]:
        """The vectors in the files, and then those in the log."""
        table, world = self._table, self._disk.world
        folder = self._disk.path / table.segment
        vectors: dict[str, Vector] = {}
        if (folder / IDS).exists():  # or else nothing was ever written as a whole, and all is in the log
            numbers = set()
            for name in (*VECTORS, IDS):
                number, content = _read(folder / name)
                numbers.add(number)
                if name == VECTORS[1]:
                    vectors = content
                world.point(f"loading {table.name}", READS)
            if len(numbers) > 1 or -1 in numbers:
                world.problem(f"Chroma loads torn files of {table.name}, and would crash: {sorted(numbers)}")
                raise InternalError("torn files (simulated)")
            if min(numbers) < table.written:
                world.problem(f"Chroma loads files of {table.name} that are older than its log")
        vectors = dict(vectors)
        for _, id_, vector in table.log:
            if vector is None:
                vectors.pop(id_, None)
            else:
                vectors[id_] = vector
        return vectors


def _read(path: Path) -> tuple[int, Any]:
    """The number of the write that a file belongs to, and what is in it; -1 if it is torn or missing."""
    try:
        content = path.read_bytes()
        found = pickle.loads(content[_HEADER.size :] if path.name == VECTORS[0] else content)
        return (found["number"], None) if path.name == IDS else found
    except (OSError, EOFError, ValueError, pickle.UnpicklingError, IndexError, KeyError):
        return -1, {}


class EmbeddedClient:
    """A client, as ``chromadb.PersistentClient`` makes. It shares its vectors with nobody."""

    tenant = "default_tenant"
    database = "default_database"

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.vectors: dict[str, VectorsInMemory] = {}
        self.closed = False
        if not (disk.path / "chroma.sqlite3").exists():
            disk.changed()
        disk.world.point("open Chroma", READS)

    def close(self) -> None:
        self.closed = True

    def get_settings(self) -> Any:
        return SimpleNamespace(
            is_persistent=True, chroma_api_impl="chromadb.api.rust.RustBindingsAPI", persist_directory=str(self.disk.path)
        )

    def get_max_batch_size(self) -> int:
        return self.disk.batch

    def get_collection(self, name: str, embedding_function: Any = None) -> EmbeddedHandle:
        self.disk.world.point(f"get_collection {name}", READS)
        self._check_open()
        if name not in self.disk.tables:
            raise NotFoundError(f"Collection [{name}] does not exist")
        return EmbeddedHandle(self, self.disk.tables[name])

    def get_or_create_collection(
        self, name: str, embedding_function: Any = None, configuration: Any = None, metadata: Any = None
    ) -> EmbeddedHandle:
        self.disk.world.point(f"get_or_create_collection {name}")
        self._check_open()
        if name not in self.disk.tables:
            threshold = ((configuration or {}).get("hnsw") or {}).get("sync_threshold", 1_000)
            self.disk.world.tick()
            self.disk.tables[name] = Table(name, next(self.disk.numbers), metadata, threshold)
            self.disk.changed()
        return EmbeddedHandle(self, self.disk.tables[name])

    def delete_collection(self, name: str) -> None:
        self.disk.world.point(f"delete_collection {name}")
        self._check_open()
        self.disk.world.tick()
        del self.disk.tables[name]
        self.disk.changed()

    def list_collections(self) -> list[EmbeddedHandle]:
        self.disk.world.point("list_collections", READS)
        return [EmbeddedHandle(self, table) for table in self.disk.tables.values()]

    def loaded(self, table: Table) -> VectorsInMemory:
        """The vectors of a collection, which are loaded at its first use."""
        self._check_open()
        if table.name not in self.vectors:
            self.vectors[table.name] = VectorsInMemory(self.disk, table)
        return self.vectors[table.name]

    def _check_open(self) -> None:
        if self.closed:
            self.disk.world.problem("a closed client is used")


class EmbeddedHandle:
    """A client's handle of a collection."""

    def __init__(self, client: EmbeddedClient, table: Table) -> None:
        self._client = client
        self._table = table
        self.name = table.name
        self.id = table.id
        self.metadata = table.metadata
        self.configuration_json = {"hnsw": {"space": "cosine"}}

    def get(
        self, ids: Any = None, where: Any = None, limit: int | None = None, include: Any = ("documents", "metadatas")
    ) -> dict[str, Any]:
        what = f"get {self.name} {'' if ids is None else ' '.join(ids)}"
        action, number = self._before(what, READS)
        vectors = self._client.loaded(self._table).by_id
        answer = self._table.records.get(ids, where, limit, include, vectors.get)
        self._after(action, number, what)
        return answer

    def query(self, query_embeddings: Any, n_results: int, include: Any) -> dict[str, Any]:
        what = f"query {self.name} {n_results}"
        action, number = self._before(what, READS)
        vectors = self._client.loaded(self._table).by_id
        answer = self._table.records.query(query_embeddings, n_results, include, vectors, links=LINKS)
        self._after(action, number, what)
        return answer

    def add(self, **options: Any) -> None:
        self._write("add", options)

    def upsert(self, **options: Any) -> None:
        self._write("upsert", options)

    def delete(self, **options: Any) -> None:
        self._write("delete", options)

    def modify(self, metadata: Mapping[str, Any]) -> None:
        action, number = self._before(f"modify {self.name}")
        self._table.metadata = dict(metadata)
        self._client.disk.changed()
        self._after(action, number, f"modify {self.name}")

    def count(self) -> int:
        return len(self._table.records.by_id)

    def _write(self, method: str, options: dict[str, Any]) -> None:
        what = f"{method} {self.name} {' '.join(options['ids'])}"
        action, number = self._before(what)
        table, disk = self._table, self._client.disk
        vectors = self._client.loaded(table)
        if table.refused:
            raise _refusal()
        disk.world.tick()
        if action == "refuse" or are_refused(options):
            disk.world.counts["refused writes"] += 1
            disk.world.note(f"is in the log, but refused: {what}")
            table.refused += len(options["ids"])
            disk.changed()
            disk.world.happen("kill" if number % 3 == 1 else "switch", number, "where a write is in the log")
            self._failure()
            raise _refusal(simulated=True)
        for id_ in getattr(table.records, method)(options["ids"], options):
            record = table.records.by_id.get(id_)
            vector = None if record is None else record.vector
            table.append(id_, vector)
            vectors.write(id_, vector)
        disk.changed()
        disk.watch(self.name, method, options)
        vectors.persist()
        self._after(action, number, what)

    def _before(self, what: str, place: str = WRITES) -> tuple[str, int]:
        """What is to happen in this call: it may fail before anything is done."""
        world = self._client.disk.world
        world.point(f"before {what}", place)
        action, number = world.action(place)
        if action == "fail":
            world.counts["failures"] += 1
            world.note(f"fails: {what}")
            raise self._failure()
        if place == READS and self._table.refused:
            raise _refusal(simulated=True)  # until somebody writes
        return action, number

    def _after(self, action: str, number: int, what: str) -> None:
        world = self._client.disk.world
        world.note(what)
        if action == "lose":
            world.counts["lost answers"] += 1
            world.note("but fails after that")
            raise self._failure()
        if action:
            world.happen(action, number, f"after {what}")

    def _failure(self) -> Exception:
        """The error of a disk that has failed. Others who work in the process at that moment may get it."""
        world = self._client.disk.world
        if world.current is not None:
            world.current.process.memory["failed"] = world.step
        return _failure()


def watched_writing(disk: Disk, write: Callable[..., None]) -> Callable[..., None]:
    """What writes rows into the file of the folder, with all that can come in between, and watched."""

    def written(file: Any, name: str, rows: Mapping[str, str | None]) -> None:
        handle = EmbeddedHandle(EmbeddedClient.__new__(EmbeddedClient), Table(f"{name}.manifest", 0, None, 0))
        handle._client.disk = disk
        what = f"rows of {name} {' '.join(rows)}"
        action, number = handle._before(what)
        write(file, name, rows)
        disk.world.tick()
        there = {id_: {"row": row} for id_, row in rows.items() if row is not None}
        gone = [id_ for id_, row in rows.items() if row is None]
        if there:
            disk.watch(f"{name}.manifest", "upsert", {"ids": list(there), "metadatas": list(there.values())})
        if gone:
            disk.watch(f"{name}.manifest", "delete", {"ids": gone})
        handle._after(action, number, what)

    return written


def stored_rows(folder: Path, name: str) -> Records:
    """The rows of an index in the file of the folder."""
    file = RowsFile(folder, "default_tenant", "default_database", read_only=True)
    found, rows = Records(), file.read(name)
    for id_, packed in file.get(name, list(rows or ())).items():
        found.by_id[id_] = Record(None, {"row": packed.decode()}, (0.0,))
    file.close()
    return found


def _refusal(*, simulated: bool = False) -> Exception:
    error = InternalError("Error in compaction: Failed to apply logs to the metadata segment")
    error.simulated = simulated  # type: ignore[attr-defined]
    return error


def _failure() -> Exception:
    error = InternalError("disk I/O error (simulated)")
    error.simulated = True  # type: ignore[attr-defined]
    return error
