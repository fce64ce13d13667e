"""The store's record of the embedder that an index was made with."""

from __future__ import annotations

from leafspan.embedding import EmbedderIdentity
from leafspan.flows import Flow
from leafspan.store._store import Store


class EmbedderRecord:
    """Reads and records the identity of the embedder that an index was made with."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self) -> Flow[EmbedderIdentity | None]:
        """The recorded embedder, or None before the first embedding."""
        return self._store.embedder()

    def write_first(self, identity: EmbedderIdentity, timeout: float) -> Flow[EmbedderIdentity]:
        """Record this embedder unless one is recorded, and return the recorded one."""
        writer = yield from self._store.start_writing(timeout, [])
        try:
            recorded = yield from self._store.embedder()
            if recorded is None:
                yield from self._store.record_embedder(identity)
            return recorded or identity
        finally:
            writer.stop()
