"""The embedder of an index, with a check that the index was made with the same one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from leafspan.embedding._embedders import PROBE, Embedder, EmbedderIdentity, check_vectors
from leafspan.engine import Flow
from leafspan.errors import IndexMismatch


class IdentityRecord(Protocol):
    """The place where an index stores the identity of its embedder."""

    def read(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, None before the first embedding."""
        ...

    def write_first(self, identity: EmbedderIdentity, timeout: float) -> Flow[EmbedderIdentity]:
        """Store this identity, unless another writer was first.

        Args:
            identity: Identity of the embedder.
            timeout: Seconds to wait for another writer.

        Returns:
            The identity that is stored now.
        """
        ...


class CheckedEmbedder:
    """Embeds texts for an index. The first embedding checks that the index was made with this embedder.

    Args:
        record: Where the index stores the identity of its embedder.
        embedder: The embedder.
        timeout: Seconds to wait for another writer when the identity is stored.
    """

    def __init__(self, record: IdentityRecord, embedder: Embedder, timeout: float) -> None:
        self._record = record
        self._embedder = embedder
        self._timeout = timeout
        self._identity: EmbedderIdentity | None = None
        self._recorded: EmbedderIdentity | None = None
        self._checked = threading.Event()

    def documents(self, texts: Sequence[str]) -> Flow[Any]:
        """A vector, as a row, for each text that will be stored.

        Raises:
            IndexMismatch: if the index was made with another embedder.
            InvalidArgument: if the embedder returns anything but a vector of finite numbers for each text.
        """
        yield from self._check(record=True)
        vectors = yield self._embedder.embed_documents(texts)
        return self._checked_vectors(vectors, len(texts))

    def queries(self, texts: Sequence[str]) -> Flow[Any]:
        """A vector, as a row, for each question.

        Raises:
            IndexMismatch: if the index was made with another embedder.
            InvalidArgument: if the embedder returns anything but a vector of finite numbers for each question.
        """
        yield from self._check(record=False)
        vectors = yield self._embedder.embed_queries(texts)
        return self._checked_vectors(vectors, len(texts))

    def confirm(self, *, record: bool) -> Flow[None]:
        """Check that the index was made with this embedder.

        Args:
            record: Whether to store the embedder's identity if there is none yet.

        Raises:
            IndexMismatch: if the index was made with another embedder.
        """
        yield from self._check(record=record)

    def identity(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, None before its first document."""
        if self._identity is None and self._recorded is None:
            self._recorded = yield from self._record.read()
        return self._identity or self._recorded

    def _checked_vectors(self, vectors: Any, count: int) -> Any:
        dimension = self._identity.dimension if self._identity else None
        return check_vectors(vectors, count, name=self._embedder.name, dimension=dimension)

    def _check(self, *, record: bool) -> Flow[None]:
        """Compare the embedder with the stored identity. If there is none yet, store this one if ``record`` is set."""
        if self._checked.is_set():
            return
        probe = check_vectors((yield self._embedder.embed_documents([PROBE])), 1, name=self._embedder.name)[0]
        identity = yield from self._record.read()
        if identity is None and record:
            own = EmbedderIdentity.of(self._embedder.name, probe)
            identity = yield from self._record.write_first(own, self._timeout)
        if identity is None:
            return
        if not identity.is_same(probe):
            raise IndexMismatch(
                f"the index was made with the embedder {identity.name} ({identity.dimension} dimensions), it cannot go "
                f"on with {self._embedder.name} ({len(probe)} dimensions), whose vectors differ: open the index with "
                "embedder= the one it was made with, or make another index"
            )
        self._identity = identity
        self._checked.set()
