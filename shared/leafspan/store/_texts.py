"""Texts by key that are kept beside an index. Each is stored as soon as it is made, since making it was expensive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Collection as Collected
from typing import NamedTuple, TypeVar

from leafspan.engines import FlowTable, Record
from leafspan.flows import Flow

T = TypeVar("T")

_OWNER = "of"


class TableLease(NamedTuple):
    """A table that must be released after use."""

    table: FlowTable
    release: Callable[[], None]


class Texts:
    """Texts by key, in their own table. Readers of the index do not notice a change of a text.

    Each text has an owner, such as the document that it was made from.
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
