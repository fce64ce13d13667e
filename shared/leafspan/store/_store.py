"""What an index needs of its store: who may read, and who may write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from leafspan.embedding import EmbedderIdentity
from leafspan.engine import Flow
from leafspan.store._catalogue import Visibility
from leafspan.store._reader import Reader
from leafspan.store._texts import Texts
from leafspan.store._writer import Writer


class Store(Protocol):
    """What an index needs of its store.

    ``embedded``: true for an index in a folder, whose vectors are at hand. ``cache_folder``: where files may be kept that
    can be made anew of what is stored; None for an index in memory.
    """

    batch: int
    settings: Mapping[str, Any]
    embedded: bool
    cache_folder: Path | None

    @property
    def interrupted(self) -> bool:
        """True where a writer may have been killed, or is at work."""
        ...

    def reader(self, stale: set[tuple[str, str]], *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """A reader that sees everything written so far, as far as it is in ``scope``.

        ``again``: what an earlier one saw had gone, so nothing that is remembered may be trusted.
        """
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

    def texts(self, timeout: float) -> Texts:
        """Texts that are kept beside the index; who writes waits for other writers for so many seconds at most."""
        ...

    @property
    def client(self) -> Any:
        """The Chroma client in use."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
