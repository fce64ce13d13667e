"""The interface of a store: readers, writers, and what an index remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowTable
from leafspan.flows import Flow
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._damage import DamageRule, Met
from leafspan.store._reader import CopiedRecords, Reader
from leafspan.store._texts import Texts
from leafspan.store._verified_rows import VerifiedRows
from leafspan.store._writer import Follower, Writer


class Store(Protocol):
    """Where the documents of an index are stored.

    Attributes:
        batch: Most records of one group of documents.
        settings: What the index was made with.
        embedded: Whether the index is in a folder of this machine, so that reading all vectors is fast.
        described: What it is called, and where it lies, in a few words for people.
        id: What tells the index apart from all others: the id of the table of its leaves.
        cache_folder: Folder for files that can be made again from what is stored. None for an index in memory.
        cache_read_only: Whether nothing must be written or removed there.
        home: Folder in which the folder of the index lies, without links. None behind a client.
        damage: What readers do about damaged documents. Default: they are errors.
        follower: What makes what is derived of the documents that a writer writes. Default: nothing is.
        segments_table: Flow of the table in which segments are stored with the index, for clients on other machines. The
            table is made if it is to be written, and is None if it was not made yet. None where segments are files of the
            index, or in memory.
        copied: Flow that reads leaves from a copy, which a store in a folder asks first. Default: none.
    """

    batch: int
    described: str
    id: str
    settings: Mapping[str, Any]
    embedded: bool
    cache_folder: Path | None
    cache_read_only: bool
    home: Path | None
    damage: DamageRule
    follower: Follower | None
    copied: CopiedRecords | None
    segments_table: Callable[[bool], Flow[FlowTable | None]] | None

    @property
    def interrupted(self) -> bool:
        """Whether a writer is at work, or was killed. False if that is not known."""
        ...

    def reader(self, met: Met, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """A reader of everything that has been written so far."""
        ...

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """The writer. It holds the lock until its ``stop`` is called.

        Raises:
            WriterBusy: if another writer does not finish within ``timeout`` seconds.
        """
        ...

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with; None before the first embedding."""
        ...

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """Record the embedder. Only for the writer."""
        ...

    @property
    def has_lost(self) -> bool:
        """Whether vectors of this index, or of another one beside it, were lost, and have not been made anew."""
        ...

    def lost_vectors(self) -> int | None:
        """The number of leaves whose vectors were lost, and have not been made anew; None if all are there."""
        ...

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Those of these stored leaves that have no vector, and some of their neighbours in the list, perhaps."""
        ...

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """Those of these stored leaves that a search by their own vector does not find. All of them must have one."""
        ...

    def check_database(self) -> Flow[str | None]:
        """What is wrong with the database's file; None if nothing, or if it is out of reach."""
        ...

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        """What is wrong with the engine's files of vectors, and with its log, by their names.

        Those of other indexes beside this one are checked as well. Behind a server they are out of reach.
        """
        ...

    def verified_rows(self, *, repair: bool) -> Flow[VerifiedRows]:
        """The rows as they are stored now, compared with those of the catalogue's file."""
        ...

    def vectors_found(self, catalogue: Catalogue) -> None:
        """Note that all leaves of these documents have their vectors again."""
        ...

    def texts(self, timeout: float) -> Texts:
        """The texts that are kept beside the index. Writing one waits at most ``timeout`` seconds for other writers."""
        ...

    @property
    def client(self) -> Any:
        """The client, or the engine, in use."""
        ...

    def close(self) -> None:
        """Release what the store has open. An index in a folder cannot be used any more."""
        ...
