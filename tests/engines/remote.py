"""An engine in memory that behaves like one on another machine: clients keep files in their own cache folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from leafspan.engines import Record
from tests.engines.page import page


class RemoteEngine:
    """The engine of docs/write-an-engine.md, which counts what is read and written.

    Attributes:
        read: Characters that were read of each table, by its name.
        written: Records that were written to each table, by its name.
        before: Functions to call before a method of a table: they get the method's and the table's name.
    """

    place = "an engine on another machine"
    batch = 100
    is_local = False

    def __init__(self) -> None:
        self.inner = page()["MemoryEngine"]()
        self.read: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        self.before: list[Callable[[str, str], None]] = []

    def tables(self) -> Any:
        return self.inner.tables()

    def table(self, name: str) -> Any:
        table = self.inner.table(name)
        return None if table is None else _Table(self, table)

    def create(self, name: str, notes: Any, *, searched: bool) -> Any:
        return _Table(self, self.inner.create(name, notes, searched=searched))

    def records(self, name: str) -> dict[str, Record]:
        """All records of a table."""
        return {record.id: record for record in self.inner.table(name).scan(["text", "metadata"])}

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """What is read meanwhile."""
        before, self.read = self.read, Counter()
        try:
            yield self.read
        finally:
            self.read = before


class _Table:
    def __init__(self, engine: RemoteEngine, table: Any) -> None:
        self._engine = engine
        self._table = table
        self.id, self.name, self.notes = table.id, table.name, table.notes

    def get(self, ids: Sequence[str], fields: Collection[Any]) -> Any:
        return self._count(self._do("get", ids, fields))

    def scan(self, fields: Collection[Any]) -> Any:
        return self._count(self._do("scan", fields))

    def find(self, key: str, values: Sequence[str]) -> Any:
        found = self._do("find", key, values)
        self._engine.read[self.name] += sum(map(len, found))
        return found

    def put(self, records: Sequence[Record]) -> None:
        self._engine.written[self.name] += len(records)
        self._do("put", records)

    def delete(self, ids: Sequence[str]) -> None:
        self._do("delete", ids)

    def nearest(self, vectors: Any, count: int, fields: Collection[Any]) -> Any:
        return self._do("nearest", vectors, count, fields)

    def annotate(self, notes: Any) -> None:
        self._do("annotate", notes)

    def _do(self, method: str, *arguments: Any) -> Any:
        for each in self._engine.before:
            each(method, self.name)
        return getattr(self._table, method)(*arguments)

    def _count(self, records: Sequence[Record]) -> Sequence[Record]:
        for id_, text, metadata, _ in records:
            self._engine.read[self.name] += len(id_) + len(text or "") + len(json.dumps(dict(metadata or {})))
        return records
