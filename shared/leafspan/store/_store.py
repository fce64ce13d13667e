"""What an index uses of its store: the store's interface, reading that starts again, and the record of the embedder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowTable, StaleRead
from leafspan.errors import ConcurrentUpdate, LeafspanError
from leafspan.flows import Call, Flow
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._damage import DamageFound, DamageRule, ReadHistory
from leafspan.store._manifest import Row
from leafspan.store._reader import CopiedRecords, Reader
from leafspan.store._scope import Scope
from leafspan.store._tables import Texts
from leafspan.store._writer import Follower, Writer

T = TypeVar("T")
_ATTEMPTS = 10
_PAUSE = 0.02  # seconds


class Store(Protocol):
    """Where an index's documents are stored."""

    batch: int  # largest number of records in one group of documents
    described: str  # the index's name and place in a few words, for messages
    product: str  # such as "Chroma"
    id: str  # unique: the id of the table with its leaves
    settings: Mapping[str, Any]
    embedded: bool  # whether it is in a folder of this machine, so that reading all vectors is fast
    cache_folder: Path | None  # files that leafspan can make again from the stored documents; None in memory
    cache_read_only: bool
    home: Path | None  # parent of the index's folder, with links resolved; None behind a client
    damage: DamageRule
    follower: Follower | None  # derives data from the documents that a writer writes
    copied: CopiedRecords | None  # reads leaves from a copy, which a store in a folder asks first
    # The table with the segments, for clients on other machines. Called with True, it makes the table; called with False,
    # it returns None if the table does not exist. None if segments are files of the index, or in memory.
    segments_table: Callable[[bool], Flow[FlowTable | None]] | None

    @property
    def interrupted(self) -> bool:
        """Whether a writer is at work, or was killed. False if that is unknown."""
        ...

    def reader(self, history: ReadHistory, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """Return a reader of everything that has been written so far."""
        ...

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """Return the writer. It holds the lock until its ``stop`` is called."""
        ...

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, or None before the first embedding."""
        ...

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """Record the embedder. Only the writer may call this."""
        ...

    @property
    def has_lost(self) -> bool:
        """Whether this index or another one in its folder has lost vectors that were not written again yet."""
        ...

    def lost_vectors(self) -> int | None:
        """The number of leaves whose vectors must be embedded again, or None if no vector is missing.

        0 if the next writer has to write the vectors of the segments again before anybody can tell.
        """
        ...

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """The stored leaves without a vector. Some of their neighbours in the list may be among them."""
        ...

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """The stored leaves that a search by their own vector does not find. Each leaf must have a vector."""
        ...

    def check_database(self) -> Flow[str | None]:
        """What is wrong with the database's file, or None if it is sound or out of reach."""
        ...

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        """What is wrong with the engine's vector files and its log, by name.

        The files of other indexes in the same folder are checked as well. Behind a server, the files are out of reach.
        """
        ...

    def rows(self) -> Flow[Mapping[str, Row]]:
        """The rows of all documents, by stored id, with damaged ones marked."""
        ...

    def vectors_found(self, catalogue: Catalogue) -> Flow[None]:
        """Record that all leaves of these documents have their vectors again."""
        ...

    def texts(self, timeout: float) -> Texts:
        """The texts that are kept beside the index. Writing one waits at most ``timeout`` seconds for other writers."""
        ...

    @property
    def client(self) -> Any:
        """The client, or the engine, in use."""
        ...

    def close(self) -> None:
        """Close the store's files and connections. An index in a folder cannot be used after that."""
        ...


def read_consistently(
    store: Store, read: Callable[[Reader], Flow[T]], scope: Scope | None = None, *, leave_out: bool = False
) -> Flow[T]:
    """Run ``read``, and run it again, up to ten times, whenever a document that it read was replaced in between.

    It also runs again whenever it meets a damaged document that must be left out.
    """
    history = ReadHistory()
    attempts, again = 0, False
    last: StaleRead | None = None
    while attempts < _ATTEMPTS:
        reader = yield from store.reader(history, scope=scope, again=again)
        try:
            return (yield from read(reader.leaving_out() if leave_out else reader))
        except StaleRead as error:
            # A damaged document raises DamageFound only once, so these repetitions end.
            attempts += not isinstance(error, DamageFound)
            again = True
            last = error.with_traceback(None)  # which would keep the reader alive
        finally:
            reader.leave()
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
