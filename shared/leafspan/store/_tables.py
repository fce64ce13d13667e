"""Tables that are opened when they are needed: tables of an embedded Chroma, and of the texts kept beside an index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from collections.abc import Collection as Collected
from typing import Any, NamedTuple, Protocol, TypeVar

from leafspan.engines import Field, FlowTable, Near, Record
from leafspan.engines.chroma import Collection, Opened
from leafspan.flows import Flow

T = TypeVar("T")

_OWNER = "of"


class TableLease(NamedTuple):
    """A table that must be released after use."""

    table: FlowTable
    release: Callable[[], None]


class Texts:
    """Texts by key, in their own table. Readers of the index do not notice a change of a text.

    Each text has an owner, such as the document that it was made from. It is stored as soon as it is made, since making it
    was expensive.
    """

    def __init__(self, lease: Callable[[bool], Flow[TableLease | None]]) -> None:
        self._lease = lease

    def get(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The texts with these keys, by key. Unknown keys are left out."""
        records = (yield from self._read(lambda table: table.get(keys, ["text"]))) or {}
        # A lost text is left out, so that it is made again.
        return {key: record.text for key, record in records.items() if isinstance(record.text, str)}

    def keys(self) -> Flow[set[str]]:
        """All keys."""
        return set((yield from self._read(lambda table: table.scan([]))) or ())

    def owners(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The owners of the texts with these keys, by key. Unknown keys are left out."""
        records = (yield from self._read(lambda table: table.get(keys, ["metadata"]))) or {}
        return {key: str((record.metadata or {}).get(_OWNER, "")) for key, record in records.items()}

    def of(self, owners: Collected[str]) -> Flow[set[str]]:
        """The keys of these owners' texts."""
        return (yield from self._read(lambda table: table.find(_OWNER, owners))) or set()

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Store a text. It is on disk or on the server when this returns."""
        yield from self.put_all({key: (text, owner)})

    def put_all(self, texts: Mapping[str, tuple[str, str]]) -> Flow[None]:
        """Store texts with their owners, by key: see ``put``."""
        records = [Record(key, text, {_OWNER: owner}) for key, (text, owner) in texts.items()]
        yield from self._write(lambda table: table.put(records))

    def delete(self, keys: Collected[str]) -> Flow[None]:
        """Delete the texts with these keys. Unknown keys are ignored."""
        if keys:
            yield from self._write(lambda table: table.delete(sorted(keys)))

    def _read(self, read: Callable[[FlowTable], Flow[T]]) -> Flow[T | None]:
        lease = yield from self._lease(False)
        if lease is None:
            return None
        try:
            return (yield from read(lease.table))
        finally:
            lease.release()

    def _write(self, write: Callable[[FlowTable], Flow[None]]) -> Flow[None]:
        lease = yield from self._lease(True)
        assert lease is not None
        try:
            yield from write(lease.table)
        finally:
            lease.release()


class ReadableTable(Protocol):
    """The methods of a table that readers use: see ``FlowTable``."""

    @property
    def searches_among(self) -> bool:
        """Whether ``nearest`` takes ``among``."""
        ...

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        """The nearest records of each vector."""
        ...

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """The records with these ids."""
        ...

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        """All records."""
        ...


class LazyClient:
    """Chroma for one reader and all its users. The first use enters it, and the last user leaves it."""

    def __init__(self, enter: Callable[[], Flow[Opened]]) -> None:
        self._enter = enter
        self._opened: Opened | None = None
        self._users = 1
        self._mutex = threading.Lock()

    def opened(self) -> Flow[Opened]:
        """Return the open client."""
        if (earlier := self._opened) is not None:
            return earlier
        opened = yield from self._enter()
        with self._mutex:
            if self._opened is None and self._users > 0:
                self._opened = opened
                return opened
        opened.leave()  # another thread was faster, or all users have left
        return self._opened or opened

    def stay(self) -> None:
        """Add a user."""
        with self._mutex:
            self._users += 1

    def leave(self) -> None:
        """Remove a user."""
        with self._mutex:
            self._users -= 1
            opened = self._opened if self._users == 0 else None
        if opened is not None:
            opened.leave()


class LazyCollection:
    """A collection that is opened at its first use, with the methods of ``Collection``."""

    searches_among = False

    def __init__(self, find: Callable[[], Flow[Collection]]) -> None:
        self._find = find

    def nearest(
        self, vectors: Any, count: int, fields: Collected[Field] = (), *, among: Collected[str] | None = None
    ) -> Flow[list[list[Near]]]:
        return (yield from (yield from self._find()).nearest(vectors, count, fields))

    def get(self, ids: Collected[str], fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return (yield from (yield from self._find()).get(ids, fields)) if ids else {}

    def scan(self, fields: Collected[Field]) -> Flow[dict[str, Record]]:
        return (yield from (yield from self._find()).scan(fields))
