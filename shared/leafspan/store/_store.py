"""What an index uses of its store: reading that starts again, the record of the embedder, and the texts beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from collections.abc import Collection as Collected
from typing import TypeAlias, TypeVar

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import Record, StaleRead
from leafspan.errors import ConcurrentUpdate, LeafspanError, StorageReadOnly
from leafspan.flows import Call, Flow
from leafspan.store._damage import DamageFound, ReadHistory
from leafspan.store._engine_store import EngineStore
from leafspan.store._folder_store import FolderStore
from leafspan.store._reader import Reader
from leafspan.store._scope import Scope

T = TypeVar("T")
_ATTEMPTS = 10
_PAUSE = 0.02  # seconds
_OWNER = "of"  # metadata key of a text


Store: TypeAlias = FolderStore | EngineStore  # where an index's documents are stored: in a folder, or in an engine


def read_consistently(
    store: Store, read: Callable[[Reader], Flow[T]], scope: Scope | None = None, *, leave_out: bool = False
) -> Flow[T]:
    """Run ``read``, and run it again, up to ten times, whenever a document that it read was replaced in between.

    It also runs again whenever it meets a damaged document that must be left out.
    """
    history = ReadHistory()
    attempts, again = 0, False
    last: Exception | None = None
    while attempts < _ATTEMPTS:
        reader = yield from store.reader(history, scope=scope, again=again)
        try:
            return (yield from read(reader.leaving_out() if leave_out else reader))
        except (StaleRead, StorageReadOnly) as error:
            # If the index is opened to be read, others may have removed the segments of documents that they have replaced.
            if isinstance(error, StorageReadOnly) and not reader.is_stale:
                raise
            # A damaged document raises DamageFound only once, so these repetitions end.
            attempts += not isinstance(error, DamageFound)
            again = True
            last = error.with_traceback(None)  # which would keep the reader alive
        if isinstance(last, LeafspanError):  # the engine keeps failing until the writer has counted its change
            yield Call(time.sleep, (_PAUSE * attempts,), native=asyncio.sleep)
    raise ConcurrentUpdate(
        f"documents were replaced or deleted during each of {_ATTEMPTS} attempts to read them: try again when there are "
        "fewer writes; repair() says whether leaves are missing"
    ) from last


def record_embedder(store: Store, identity: EmbedderIdentity, *, timeout: float) -> Flow[EmbedderIdentity]:
    """Record this embedder unless one is recorded, and return the recorded one."""
    with (yield from store.start_writing(timeout, [])):
        recorded = yield from store.embedder()
        if recorded is None:
            yield from store.record_embedder(identity)
        return recorded or identity


class Texts:
    """Texts by key, in their own table. Readers of the index do not notice a change of a text.

    Each text has an owner, such as the document that it was made from. It is stored as soon as it is made, since making it
    was expensive.
    """

    def __init__(self, store: Store, timeout: float) -> None:
        self._store = store
        self._timeout = timeout  # seconds to wait for other writers

    def get(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The texts with these keys, by key. Unknown keys are left out."""
        records = (yield from self._store.read_texts(lambda table: table.get(keys, ["text"]))) or {}
        # A lost text is left out, so that it is made again.
        return {key: record.text for key, record in records.items() if isinstance(record.text, str)}

    def keys(self) -> Flow[set[str]]:
        return set((yield from self._store.read_texts(lambda table: table.scan([]))) or ())

    def owners(self, keys: Collected[str]) -> Flow[dict[str, str]]:
        """The owners of the texts with these keys, by key. Unknown keys are left out."""
        records = (yield from self._store.read_texts(lambda table: table.get(keys, ["metadata"]))) or {}
        return {key: str((record.metadata or {}).get(_OWNER, "")) for key, record in records.items()}

    def of(self, owners: Collected[str]) -> Flow[set[str]]:
        """The keys of these owners' texts."""
        return (yield from self._store.read_texts(lambda table: table.find(_OWNER, owners))) or set()

    def put_all(self, texts: Mapping[str, tuple[str, str]]) -> Flow[None]:
        """Store texts with their owners, by key. They are on disk or on the server when this returns."""
        records = [Record(key, text, {_OWNER: owner}) for key, (text, owner) in texts.items()]
        yield from self._store.write_texts(lambda table: table.put(records), self._timeout)

    def delete(self, keys: Collected[str]) -> Flow[None]:
        """Delete the texts with these keys. Unknown keys are ignored."""
        if keys:
            yield from self._store.write_texts(lambda table: table.delete(sorted(keys)), self._timeout)
