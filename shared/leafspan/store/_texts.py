"""Texts by key that are kept beside an index. Each is stored as soon as it is made, since making it was expensive."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Collected
from typing import Any, NamedTuple

from leafspan.flows import Flow
from leafspan.store._collection import Collection

Records = dict[str, dict[str, Any]]

_OWNER = "of"


class CollectionLease(NamedTuple):
    """A collection for as long as it is needed.

    Attributes:
        collection: The collection.
        release: Function to call when it is no longer needed.
    """

    collection: Collection
    release: Callable[[], None]


class Texts:
    """Texts by key, in a Chroma collection of their own. Writing one does not count as a change of the index.

    Each text has an owner, such as the document that it was made of.
    """

    def __init__(self, lease: Callable[[bool], Flow[CollectionLease | None]]) -> None:
        self._lease = lease

    def get(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The texts with these keys, by key. Unknown keys are left out."""
        records = yield from self._read(lambda collection: collection.get(list(keys), ["documents"]))
        # A text that is lost is none: it is made again.
        return {key: record["document"] for key, record in records.items() if isinstance(record["document"], str)}

    def keys(self) -> Flow[set[str]]:
        """All keys."""
        return set((yield from self._read(lambda collection: collection.scan([]))))

    def owners(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The owners of the texts with these keys, by key. Unknown keys are left out."""
        records = yield from self._read(lambda collection: collection.get(list(keys), ["metadatas"]))
        return {key: str((record["metadata"] or {}).get(_OWNER, "")) for key, record in records.items()}

    def of(self, owners: Collected[str]) -> Flow[set[str]]:
        """The keys of the texts that these owners have."""
        return set((yield from self._read(lambda collection: collection.find(_OWNER, list(owners)))))

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Store a text. It is stored when this returns.

        Raises:
            WriterBusy: if another writer does not finish in time.
        """
        # Chroma needs a vector for each record. These mean nothing.
        columns: dict[str, Any] = {"embeddings": [[0.0]], "documents": [text], "metadatas": [{_OWNER: owner}]}
        yield from self._write(lambda collection: collection.upsert([key], **columns))

    def delete(self, keys: Collected[str]) -> Flow[None]:
        """Delete the texts with these keys. Unknown keys are ignored."""
        if keys:
            yield from self._write(lambda collection: collection.delete(sorted(keys)))

    def _read(self, read: Callable[[Collection], Flow[Records]]) -> Flow[Records]:
        lease = yield from self._lease(False)
        if lease is None:
            return {}
        try:
            return (yield from read(lease.collection))
        finally:
            lease.release()

    def _write(self, write: Callable[[Collection], Flow[None]]) -> Flow[None]:
        lease = yield from self._lease(True)
        assert lease is not None
        try:
            yield from write(lease.collection)
        finally:
            lease.release()
