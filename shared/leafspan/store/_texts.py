"""Texts by key beside an index, each of which is written at once: what took long to make, and is not to be lost."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection as Collected
from typing import Any, NamedTuple

from leafspan.engine import Flow
from leafspan.store._collection import Collection

Records = dict[str, dict[str, Any]]

_OWNER = "of"


class CollectionLease(NamedTuple):
    """A collection, and what to call when one is done with it."""

    collection: Collection
    give_back: Callable[[], None]


class Texts:
    """Texts by key, in a Chroma collection of their own. Writing one does not make readers of the index look again.

    Each has an owner, in whose name it is kept. ``lend``: gives the collection for reading, None where there is none; or
    for writing, made where there is none.
    """

    def __init__(self, lend: Callable[[bool], Flow[CollectionLease | None]]) -> None:
        self._lend = lend

    def get(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The texts of those keys that are there."""
        records = yield from self._read(lambda collection: collection.get(list(keys), ["documents"]))
        return {key: str(record["document"]) for key, record in records.items()}

    def keys(self) -> Flow[set[str]]:
        """All keys."""
        return set((yield from self._read(lambda collection: collection.scan([]))))

    def owners(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The owners of those keys that are there."""
        records = yield from self._read(lambda collection: collection.get(list(keys), ["metadatas"]))
        return {key: str(record["metadata"][_OWNER]) for key, record in records.items()}

    def of(self, owners: Collected[str]) -> Flow[set[str]]:
        """The keys of what is kept for these owners."""
        return set((yield from self._read(lambda collection: collection.find(_OWNER, list(owners)))))

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """Keep a text; it is there when this is done, whatever happens next."""
        # Every record needs a vector, and these have nothing to be near to.
        columns: dict[str, Any] = {"embeddings": [[0.0]], "documents": [text], "metadatas": [{_OWNER: owner}]}
        yield from self._write(lambda collection: collection.upsert([key], **columns))

    def delete(self, keys: Collected[str]) -> Flow[None]:
        """Forget these."""
        if keys:
            yield from self._write(lambda collection: collection.delete(sorted(keys)))

    def _read(self, read: Callable[[Collection], Flow[Records]]) -> Flow[Records]:
        lent = yield from self._lend(False)
        if lent is None:
            return {}
        try:
            return (yield from read(lent.collection))
        finally:
            lent.give_back()

    def _write(self, write: Callable[[Collection], Flow[None]]) -> Flow[None]:
        lent = yield from self._lend(True)
        assert lent is not None
        try:
            yield from write(lent.collection)
        finally:
            lent.give_back()
