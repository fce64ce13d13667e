"""The store of an index in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.engine import Call, Flow
from leafspan.errors import LeafspanError
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._collection import Collection
from leafspan.store._current_leaves import version_of
from leafspan.store._folder import Folder, Opened, try_acquire
from leafspan.store._manifest import unpack_rows
from leafspan.store._naming import leaves_name, manifest_name, read_embedder, settings_with, texts_name
from leafspan.store._reader import Reader
from leafspan.store._texts import CollectionLease, Texts
from leafspan.store._waiting import wait_for_lock
from leafspan.store._writer import Writer


class FolderStore:
    """The store of an index in a folder. The manifest is kept in memory, and read again when the change counter changes.

    Args:
        folder: The embedded Chroma.
        name: Name of the index.
        settings: What the index was made with.
        id_: Id of the collection of the leaves.
    """

    def __init__(self, folder: Folder, name: str, settings: Mapping[str, Any], id_: str) -> None:
        self._folder: Folder | None = folder
        self._process = os.getpid()
        self.id = id_
        self.cache_folder: Path | None = folder.path / "leafspan.mirror" / id_
        self.home: Path | None = folder.path.resolve().parent
        self._leaves_name = leaves_name(name)
        self._manifest_name = manifest_name(name)
        self._texts_name = texts_name(name)
        self.settings = settings
        self.batch = folder.opened().batch

    embedded = True

    @property
    def interrupted(self) -> bool:
        """See Store."""
        return self._open_folder().changes.writing

    def reader(self, stale: set[tuple[str, str]], *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """See Store. ``again`` makes no difference: the change counter says whether the catalogue is up to date."""
        folder = self._open_folder()
        count = folder.changes.count  # first, so that what is opened and read below can only be newer
        opened = folder.reader()
        if opened is None:
            opened = yield Call(folder.reopened_reader)
        try:
            for name in (self._leaves_name, self._manifest_name):
                if name not in opened.collections:
                    yield Call(opened.collection, (name,))
            manifest = opened.collections[self._manifest_name]
            known = folder.catalogues.get(self._manifest_name)  # read once: another thread may replace it at any time
            if known is None or known[0] != count:
                records = yield from manifest.scan(["metadatas"])
                folder.catalogues[self._manifest_name] = known = (count, Catalogue(unpack_rows(records)))
            return Reader(
                opened.collections[self._leaves_name],
                manifest,
                known=known[1],
                load=_never_called,
                has_changed=lambda: folder.changes.count != count,
                has_lost=partial(self._has_replaced, folder, known[1]),
                stay=opened.enter,
                leave=opened.leave,
                stale=stale,
                scope=scope,
            )
        except BaseException:
            opened.leave()
            raise

    def _has_replaced(self, folder: Folder, known: Catalogue) -> bool:
        """Whether a writer of this process has replaced or deleted a document since a catalogue was made.

        A writer notes it here before it deletes leaves. Other processes delete none that this one finds.
        """
        latest = folder.catalogues[self._manifest_name][1]
        return latest is not known and any(
            row.version is not None and version_of(latest.rows, id_) != row.version for id_, row in known.rows.items()
        )

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """See Store."""
        folder = self._open_folder()
        lock = folder.writer_lock()
        try:
            yield from wait_for_lock(partial(folder.try_writing, lock), timeout, repr(str(folder.path)))
            reader = yield from self.reader(set())
            reader.leave()
            rows = dict((yield from reader.rows()))
            opened = folder.opened()
            leaves = opened.collection(self._leaves_name)
            manifest = opened.collection(self._manifest_name)
        except BaseException:
            folder.stop_writing(lock, whole=False)
            raise

        def advance(*, settled: bool) -> Flow[None]:
            # A new catalogue each time, since readers go on with the one they have.
            folder.catalogues[self._manifest_name] = (folder.advance(), Catalogue(dict(rows)))
            yield from ()

        return Writer(
            leaves,
            manifest,
            rows=rows,
            advance=advance,
            stop=lambda whole: folder.stop_writing(lock, whole=whole),
        )

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """See Store."""
        folder = self._open_folder()
        opened = folder.reader() or (yield Call(folder.reopened_reader))
        try:
            handle = yield Call(opened.client.get_collection, (self._manifest_name,), {"embedding_function": None})
            return read_embedder(handle.metadata)
        finally:
            opened.leave()

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """See Store."""
        manifest = self._open_folder().opened().collection(self._manifest_name)
        yield from manifest.modify(settings_with(self.settings, identity))

    def texts(self, timeout: float) -> Texts:
        """See Store."""

        def lease(write: bool) -> Flow[CollectionLease | None]:
            return self._lease_to_write(timeout) if write else self._lease_to_read()

        return Texts(lease)

    def _lease_to_read(self) -> Flow[CollectionLease | None]:
        """The collection of the texts, open for as long as it is leased; None if there is none."""
        folder = self._open_folder()
        opened = folder.reader() or (yield Call(folder.reopened_reader))
        collection = yield Call(_find, (opened, self._texts_name))
        if collection is None:
            opened.leave()
            return None
        return CollectionLease(collection, opened.leave)

    def _lease_to_write(self, timeout: float) -> Flow[CollectionLease]:
        """The collection of the texts, made if there is none, and locked for as long as it is leased."""
        folder = self._open_folder()
        # Only the lock is needed. Readers need not notice a change, and the mark that a killed writer left must stay.
        lock = folder.writer_lock()
        try:
            yield from wait_for_lock(partial(try_acquire, lock), timeout, repr(str(folder.path)))
            opened = folder.opened()
            if self._texts_name not in opened.collections:
                yield Call(opened.client.get_or_create_collection, (self._texts_name,), _TEXTS, finish=True)
            collection = yield Call(opened.collection, (self._texts_name,))
        except BaseException:
            lock.release()
            raise
        return CollectionLease(collection, lock.release)

    @property
    def client(self) -> Any:
        """See Store."""
        return self._open_folder().opened().client

    def close(self) -> None:
        """See Store."""
        self._folder = None

    def _open_folder(self) -> Folder:
        if self._folder is None:
            raise LeafspanError("this index is closed; open it again")
        if os.getpid() != self._process:  # Chroma would wait for threads that the forked process does not have
            raise LeafspanError("an index in a folder cannot be used in a forked process: open it there")
        return self._folder


# The vectors of texts mean nothing. So they need not be written to files, which two processes would overwrite in place.
_TEXTS: dict[str, Any] = {"embedding_function": None, "configuration": {"hnsw": {"sync_threshold": 1_000_000}}}


def _find(opened: Opened, name: str) -> Collection | None:
    from chromadb.errors import NotFoundError

    try:
        return opened.collection(name)
    except NotFoundError:
        return None


def _never_called() -> Flow[Catalogue]:
    raise AssertionError("the catalogue of a folder is always known")
