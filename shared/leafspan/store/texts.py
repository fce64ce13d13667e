"""Texts by key beside an index, each of which is written at once: what took long to make, and is not to be lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from leafspan.engine import Flow
from leafspan.store.collection import Collection


class Lent(NamedTuple):
    """A collection, and what to call when one is done with it."""

    collection: Collection
    give_back: Callable[[], None]


class Texts:
    """Texts by key, in a Chroma collection of their own. Writing one does not make readers of the index look again.

    ``lend``: gives the collection for reading, None where there is none; or for writing, made where there is none.
    """

    def __init__(self, lend: Callable[[bool], Flow[Lent | None]]) -> None:
        self._lend = lend

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of those keys that are there."""
        if not keys:
            return {}
        lent = yield from self._lend(False)
        if lent is None:
            return {}
        try:
            records = yield from lent.collection.get(keys, ["documents"])
            return {key: str(record["document"]) for key, record in records.items()}
        finally:
            lent.give_back()

    def keys(self) -> Flow[list[str]]:
        """All keys."""
        lent = yield from self._lend(False)
        if lent is None:
            return []
        try:
            return list((yield from lent.collection.scan([])))
        finally:
            lent.give_back()

    def put(self, texts: Mapping[str, str]) -> Flow[None]:
        """Keep these texts; they are there when this is done, whatever happens next."""
        yield from self._write(lambda collection: _put(collection, texts))

    def delete(self, keys: Sequence[str]) -> Flow[None]:
        """Forget these."""
        if keys:
            yield from self._write(lambda collection: collection.delete(keys))

    def _write(self, write: Callable[[Collection], Flow[None]]) -> Flow[None]:
        lent = yield from self._lend(True)
        assert lent is not None
        try:
            yield from write(lent.collection)
        finally:
            lent.give_back()


def _put(collection: Collection, texts: Mapping[str, str]) -> Flow[None]:
    # Every record needs a vector, and these have nothing to be near to.
    yield from collection.upsert(list(texts), embeddings=[[0.0]] * len(texts), documents=list(texts.values()))
