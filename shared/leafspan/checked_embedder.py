"""The embedder of an index, held to be the one that the index was made with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from leafspan.embedding import PROBE, Embedder, EmbedderIdentity, check_vectors
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch
from leafspan.store import Store


class CheckedEmbedder:
    """Embeds for an index; at the first embedding it looks whether the index was made with this embedder."""

    def __init__(self, store: Store, embedder: Embedder, timeout: float) -> None:
        self._store = store
        self._embedder = embedder
        self._timeout = timeout
        self._identity: EmbedderIdentity | None = None
        self._recorded: EmbedderIdentity | None = None
        self._checked = threading.Event()

    def documents(self, texts: Sequence[str]) -> Flow[Any]:
        """Vectors for texts to be stored.

        Raises:
            IndexMismatch: if the index was made with another embedder.
            InvalidArgument: if what the embedder gives is no matrix of numbers.
        """
        yield from self._check(record=True)
        vectors = yield self._embedder.embed_documents(texts)
        return self._checked_vectors(vectors, len(texts))

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """Vectors for questions; raises as ``documents`` does."""
        yield from self._check(record=False)
        vectors = yield self._embedder.embed_queries(texts)
        return self._checked_vectors(vectors, len(texts))

    def identity(self) -> Flow[EmbedderIdentity | None]:
        """The embedder that the index was made with, None before its first document."""
        if self._identity is None and self._recorded is None:
            self._recorded = yield from self._store.embedder()
        return self._identity or self._recorded

    def _checked_vectors(self, vectors: Any, count: int) -> Any:
        dimension = self._identity.dimension if self._identity else None
        return check_vectors(vectors, count, name=self._embedder.name, dimension=dimension)

    def _check(self, *, record: bool) -> Flow[None]:
        if self._checked.is_set():
            return
        probe = check_vectors((yield self._embedder.embed_documents([PROBE])), 1, name=self._embedder.name)[0]
        identity = yield from self._store.embedder()
        if identity is None and record:
            identity = yield from self._record(EmbedderIdentity.of(self._embedder.name, probe))
        if identity is None:
            return
        if not identity.is_same(probe):
            raise IndexMismatch(
                f"the index was made with the embedder {identity.name} ({identity.dimension} dimensions), it cannot go "
                f"on with {self._embedder.name} ({len(probe)} dimensions), whose vectors differ; pass embedder= to open"
            )
        self._identity = identity
        self._checked.set()

    def _record(self, mine: EmbedderIdentity) -> Flow[EmbedderIdentity]:
        """The identity that counts from now on: another writer may have been first."""
        writer = yield from self._store.start_writing(self._timeout, [])
        try:
            identity = yield from self._store.embedder()
            if identity is None:
                identity = mine
                yield from self._store.record_embedder(identity)
            return identity
        finally:
            writer.stop()
