"""What an index needs of its store: who may read, and who may write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from leafspan.embedding import EmbedderIdentity
from leafspan.engine import Flow
from leafspan.store.reading import Reader
from leafspan.store.writing import Writer


class Store(Protocol):
    """What an index needs of its store."""

    batch: int
    settings: Mapping[str, Any]

    @property
    def interrupted(self) -> bool:
        """True where a writer may have been killed, or is at work."""
        ...

    def reader(self, stale: set[tuple[str, str]]) -> Flow[Reader]:
        """A reader that sees everything written so far."""
        ...

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """The one writer, its lock held, for these documents or for all.

        Raises:
            WriterBusy: if another one does not finish within ``timeout`` seconds.
        """
        ...

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, None before the first embedding."""
        ...

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """Remember the embedder; only while writing."""
        ...

    @property
    def client(self) -> Any:
        """The Chroma client in use."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
