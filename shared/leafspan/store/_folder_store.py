"""The store of an index in a folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowTable, StaleRead
from leafspan.engines.chroma import Chroma, Collection, CollectionGone, FileDamage, Opened, check_pages, how_to_make
from leafspan.engines.local import FileLock, deadline_after, wait_for_lock
from leafspan.errors import LeafspanError
from leafspan.flows import Call, Flow, Progress
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._damage import DamageRule, Met
from leafspan.store._folder import Change, Folder, Found
from leafspan.store._late_collection import LateChroma, LateCollection
from leafspan.store._manifest import unpack_rows
from leafspan.store._naming import leaves_name, manifest_name, read_embedder, settings_with, texts_name
from leafspan.store._ownership import index_names
from leafspan.store._reader import CopiedRecords, Reader
from leafspan.store._texts import TableLease, Texts
from leafspan.store._verified_rows import VerifiedRows, differences_of
from leafspan.store._writer import Follower, Writer


class FolderStore:
    """The store of an index in a folder. The manifest is in memory, and read again when the change counter changes."""

    def __init__(
        self,
        folder: Folder,
        name: str,
        settings: Mapping[str, Any],
        id_: str,
        timeout: float,
        embedder: str | None = None,
        *,
        damage: DamageRule,
    ) -> None:
        self._folder: Folder | None = folder
        self._name = name
        self._timeout = timeout
        self.id = id_
        self.described = f"{name!r} in the folder {str(folder.path)!r}"
        self.cache_folder: Path | None = folder.path / "leafspan.segments" / id_
        self.cache_read_only = folder.read_only
        self.home: Path | None = folder.path.resolve().parent
        self._leaves_name = leaves_name(name)
        self._manifest_name = manifest_name(name)
        self._texts_name = texts_name(name)
        self._embedder = embedder
        self._checked_at: int | None = None  # changes of others at which the collections still existed
        self.settings = settings
        self.batch = _BATCH
        self.damage = damage
        self.follower: Follower | None = None
        self.copied: CopiedRecords | None = None
        self.segments_table: Callable[[bool], Flow[FlowTable | None]] | None = None

    embedded = True
    product = "Chroma"

    @property
    def interrupted(self) -> bool:
        """See ``Store``."""
        return self._open_folder().changes.writing

    def reader(self, met: Met, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """See ``Store``. ``again`` has no effect: the change counter says whether the catalogue is up to date."""
        folder = self._open_folder()
        folder.check()
        if folder.changes_of_others not in (None, self._checked_at):
            yield from self._check_there(folder)
        count, catalogue = yield from self._catalogue(folder)
        chroma = LateChroma(self._opened_reader)

        def collection(name: str) -> Flow[Collection]:
            opened = yield from chroma.opened()
            found = opened.collections.get(name) or (yield Call(opened.collection, (name, deadline_after(self._timeout))))
            return found.lacking(self._what_lost) if name in folder.files.to_rebuild else found

        return Reader(
            LateCollection(partial(collection, self._leaves_name)),
            LateCollection(partial(collection, self._manifest_name)),
            known=catalogue,
            load=_never_called,
            has_changed=lambda: folder.changes.count != count,
            stay=chroma.stay,
            leave=chroma.leave,
            met=met,
            scope=scope,
            rule=self.damage,
            copied=self.copied,
        )

    def _catalogue(self, folder: Folder, *, of_chroma: bool = False) -> Flow[tuple[int, Catalogue]]:
        """The current catalogue and its change count."""
        count = folder.changes.count  # first, so that everything read below is at least as new
        found = folder.catalogues.get(self._manifest_name)  # read once: another thread may replace it at any time
        if (
            found is not None
            and found.change == count
            and (found.is_of_chroma or not of_chroma)
            and not found.catalogue.is_damaged
        ):
            return count, found.catalogue
        known = None if of_chroma else (yield from known_without_chroma(folder, self._name, self._timeout))
        if known is not None:
            count, index = known
            self._embedder = self._embedder or index.embedder
            folder.catalogues[self._manifest_name] = Found(count, index.catalogue, is_of_chroma=False)
            return count, index.catalogue
        # Read the catalogue before Chroma is opened again: an open client does not see vectors that other processes add, so
        # it could miss leaves of a version that has become current since.
        catalogue = yield from self._read_catalogue(folder)
        folder.catalogues[self._manifest_name] = Found(count, catalogue, is_of_chroma=True)
        return count, catalogue

    def _check_there(self, folder: Folder) -> Flow[None]:
        """Check that the opened collections still exist, since others have changed the database.

        Raises:
            CollectionGone: if the collections were deleted or replaced.
        """
        count = folder.changes_of_others
        opened = folder.manifest_reader()
        if opened is None:
            return  # another thread is opening it: the next reader checks
        try:
            leaves = yield Chroma(opened.client).call("get_collection", self._leaves_name, embedding_function=None)
            yield Chroma(opened.client).call("get_collection", self._manifest_name, embedding_function=None)
        finally:
            opened.leave()
        if str(leaves.id) != self.id:
            raise CollectionGone(f"{self.described} was deleted and made again meanwhile: open it again")
        self._checked_at = count

    def _read_catalogue(self, folder: Folder) -> Flow[Catalogue]:
        """Read the current catalogue from Chroma, and keep it for other readers."""
        count = folder.changes.count
        known, names = yield from self.read_of_chroma(folder)
        folder.has_read(self._name)
        yield Call(folder.keep, (self._name, count, known, names))
        return known.catalogue

    def read_of_chroma(self, folder: Folder) -> Flow[tuple[KnownIndex, Sequence[str]]]:
        """Read the index from Chroma, and the names of all indexes of the folder."""
        opened = folder.manifest_reader()
        if opened is None:
            opened = yield Call(folder.reopened_reader, (deadline_after(self._timeout),))
        try:
            manifest = yield Call(opened.collection, (self._manifest_name, deadline_after(self._timeout)))
            catalogue = Catalogue(unpack_rows((yield from manifest.scan(["metadata"]))))
            folder.has_read(self._name)
            names = index_names((yield from Chroma(opened.client).tables()))
            embedder = (yield from self._stored_metadata(opened)).get("embedder")
            return KnownIndex(self.id, self.settings, embedder, catalogue), names
        finally:
            opened.leave()

    def _stored_metadata(self, opened: Opened) -> Flow[Mapping[str, Any]]:
        """The metadata of the manifest's collection."""
        handle = yield Chroma(opened.client).call("get_collection", self._manifest_name, embedding_function=None)
        return handle.metadata or {}

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """See ``Store``."""
        folder = self._open_folder()
        lock = folder.writer_lock()

        def stop(whole: bool) -> None:
            folder.stop_writing(lock, whole=whole)

        try:
            deadline = deadline_after(timeout)
            yield from self._wait_for(lock, partial(folder.try_writing, lock, deadline), timeout)
            _, catalogue = yield from self._catalogue(folder, of_chroma=True)
            rows = dict(catalogue.rows)
            opened = yield Call(folder.opened, (deadline,))
            leaves = yield self._to_write(opened, self._leaves_name)
            manifest = yield self._to_write(opened, self._manifest_name)
        except BaseException:
            stop(False)
            raise

        def advance(changed: Set[str], *, settled: bool) -> Flow[None]:
            # A new catalogue each time, since readers keep using the old one.
            catalogue = Catalogue(dict(rows))
            change = Change(self._name, KnownIndex(self.id, self.settings, self._embedder, catalogue), changed)
            count = folder.advance(lock, deadline_after(self._timeout), change)
            folder.catalogues[self._manifest_name] = Found(count, catalogue, is_of_chroma=True)
            yield from ()

        def latest() -> Flow[Catalogue]:
            yield from ()
            return folder.catalogues[self._manifest_name].catalogue

        writer = Writer(
            leaves,
            manifest,
            rows=rows,
            advance=advance,
            stop=stop,
            follower=self.follower,
            catalogue=latest,
            notes_changes=True,
        )
        if folder.files.to_rebuild.get(self._leaves_name, 0) is None and self.copied is not None:
            try:
                lacking = yield from self._rebuild_vectors(leaves, catalogue, self.copied)
                yield from writer.recover()  # half-deleted documents may lack vectors, too
                yield Call(folder.files.rebuilt, (self._leaves_name, deadline_after(self._timeout), lacking))
            except BaseException:
                stop(False)
                raise
        return writer

    def _rebuild_vectors(self, leaves: Collection, catalogue: Catalogue, copied: CopiedRecords) -> Flow[int]:
        """Write all vectors of the segments to Chroma. Return the number of leaves whose vectors are still missing."""
        ids = [id_ for row in catalogue.rows.values() if row.version is not None for id_ in row.leaf_ids]
        show = None if len(ids) >= _MIN_FOR_PROGRESS else False
        progress = Progress(len(ids), show=show, what="Writing vectors again", unit=" leaves")
        lacking = 0
        try:
            for start in range(0, len(ids), _AT_ONCE):
                missing = yield from leaves.without_vectors(ids[start : start + _AT_ONCE])
                missing = set((yield from leaves.get(missing, [])))  # writing others would make records
                try:
                    records, _ = yield from copied(catalogue, missing, ["vector"])
                except StaleRead:  # a file of the copy is damaged
                    records = {}
                yield from leaves.put_vectors({id_: record.vector for id_, record in records.items()})
                lacking += len(missing) - len(records)
                progress.advance(_AT_ONCE)
        finally:
            progress.close()
        return lacking

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """See ``Store``."""
        folder, known = self._open_folder(), None
        if self._embedder is None and folder.read_only:  # then Chroma cannot be opened
            known = yield from known_without_chroma(folder, self._name, self._timeout)
        if known is not None:
            self._embedder = known[1].embedder
        elif self._embedder is None:
            opened = yield from self._opened_reader()
            try:
                self._embedder = (yield from self._stored_metadata(opened)).get("embedder")
            finally:
                opened.leave()
        return read_embedder({} if self._embedder is None else {"embedder": self._embedder})

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """See ``Store``."""
        opened = yield Call(self._open_folder().opened, (deadline_after(self._timeout),))
        manifest = yield self._to_write(opened, self._manifest_name)
        metadata = settings_with(self.settings, identity)
        yield from manifest.annotate(metadata)
        self._embedder = metadata["embedder"]

    @property
    def has_lost(self) -> bool:
        """See ``Store``."""
        return bool(self._open_folder().files.to_rebuild)

    def lost_vectors(self) -> int | None:
        """See ``Store``."""
        to_rebuild = self._open_folder().files.to_rebuild
        return to_rebuild[self._leaves_name] or 0 if self._leaves_name in to_rebuild else None

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See ``Store``."""
        return (yield from self._with_leaves(lambda leaves: leaves.without_vectors(ids)))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        """See ``Store``."""
        return (yield from self._with_leaves(lambda leaves: leaves.not_found(ids)))

    def check_database(self) -> Flow[str | None]:
        """See ``Store``."""
        return (yield Call(check_pages, (self._open_folder().path,)))  # type: ignore[no-any-return]

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        """See ``Store``."""
        folder = self._open_folder()
        if folder.read_only:
            return {}
        how = {"repair": repair, "in_use": folder.is_open}
        found: FileDamage = yield Call(folder.files.damage, (deadline_after(timeout),), how, finish=True)
        if found.in_use and repair:
            writer = yield from self.start_writing(timeout, None)  # nobody else writes with the client that is closed
            try:
                folder.let_go(deadline_after(timeout))
            finally:
                writer.stop()
        return {
            **{
                name: f"{count} writes are in Chroma's log that its tables refuse, so that nothing else can be written"
                for name, count in found.refused.items()
            },
            **{
                name: f"Chroma's vectors were damaged while they were in use ({files})"
                for name, files in found.in_use.items()
            },
        }

    def verified_rows(self, *, repair: bool) -> Flow[VerifiedRows]:
        """See ``Store``."""
        folder = self._open_folder()
        # A change between counting and reading would look like a difference: read again then.
        for _ in range(_ATTEMPTS):
            count = folder.changes.count
            known, names = yield from self.read_of_chroma(folder)
            kept = yield Call(folder.kept, (self._name, count))
            if folder.changes.count == count or folder.changes.writing:
                break
        if folder.changes.count != count or folder.changes.writing:
            kept = None  # a writer is at work or was killed, so nobody uses the file
        differences = {} if kept is None else differences_of(kept, known)
        if differences and repair:
            folder.catalogues[self._manifest_name] = Found(count, known.catalogue, is_of_chroma=True)
            yield Call(folder.keep, (self._name, count, known, names), {"anew": True})
        return VerifiedRows(known.catalogue.rows, differences)

    def vectors_found(self, catalogue: Catalogue) -> Flow[None]:
        """See ``Store``."""
        if any(row.is_half_done for row in catalogue.rows.values()):
            return  # half-deleted documents may lack vectors, too
        folder = self._open_folder()
        if self._leaves_name in folder.files.to_rebuild:
            yield Call(folder.files.rebuilt, (self._leaves_name, deadline_after(self._timeout)))

    def _with_leaves(self, use: Callable[[Collection], Flow[set[str]]]) -> Flow[set[str]]:
        """Run a flow with the collection of the leaves, even if it is known to have lost vectors."""
        opened = yield from self._opened_reader()
        try:
            return (yield from use((yield Call(opened.collection, (self._leaves_name, deadline_after(self._timeout))))))
        finally:
            opened.leave()

    def texts(self, timeout: float) -> Texts:
        """See ``Store``."""

        def lease(write: bool) -> Flow[TableLease | None]:
            self._open_folder().check_writable()  # only a process that writes texts reads them
            return self._lease_to_write(timeout) if write else self._lease_to_read()

        return Texts(lease)

    def _lease_to_read(self) -> Flow[TableLease | None]:
        """The open collection of the texts, or None if it does not exist."""
        opened = yield from self._opened_reader()
        collection = yield Call(_find, (opened, self._texts_name, deadline_after(self._timeout)))
        if collection is None:
            opened.leave()
            return None
        return TableLease(collection, opened.leave)

    def _lease_to_write(self, timeout: float) -> Flow[TableLease]:
        """Return the collection of the texts, locked until it is released. It is made if it does not exist."""
        folder = self._open_folder()
        # The lock is enough: readers need not notice this change, and the mark of a killed writer must stay.
        lock = folder.writer_lock()
        try:
            yield from self._wait_for(lock, lock.try_acquire, timeout)
            opened = yield from self._opened_reader()
            opened.leave()
            use = opened.use(self._timeout)
            if self._texts_name not in opened.collections:
                make, how = opened.client.get_or_create_collection, how_to_make(self._texts_name, {}, searched=False)
                yield Call(use.call, (make, self._texts_name), how, finish=True)
            collection = yield Call(opened.collection, (self._texts_name, deadline_after(self._timeout)))
        except BaseException:
            lock.release()
            raise
        return TableLease(collection.written_by(use), lock.release)

    def _to_write(self, opened: Opened, name: str) -> Call:
        """The call that returns a collection for writing."""
        return Call(opened.writable, (name, deadline_after(self._timeout), self._timeout))

    def _wait_for(self, lock: FileLock, try_acquire: Callable[[], bool], timeout: float) -> Flow[None]:
        """Wait for the writer's lock."""
        yield from wait_for_lock(try_acquire, timeout, repr(str(lock.path.parent)), holder=lock.holder)

    def _opened_reader(self) -> Flow[Opened]:
        """Enter the open client as a reader."""
        folder = self._open_folder()
        folder.check()
        opened: Opened = folder.reader() or (yield Call(folder.reopened_reader, (deadline_after(self._timeout),)))
        return opened

    @property
    def client(self) -> Any:
        """See ``Store``."""
        return self._open_folder().shown_client(deadline_after(self._timeout))

    def close(self) -> None:
        """See ``Store``."""
        self._folder = self.follower = self.copied = None  # the folder's files are closed with its last user

    @property
    def _what_lost(self) -> str:
        """Why vectors cannot be searched."""
        return (
            f"Chroma's vectors of {self._leaves_name!r} in {str(self._open_folder().path)!r} were damaged, and have not "
            "all been made again: run repair() where the folder can be written, with the embedder that made the index"
        )

    def _open_folder(self) -> Folder:
        if self._folder is None:
            raise LeafspanError("this index is closed; open it again")
        return self._folder


def known_without_chroma(folder: Folder, name: str, timeout: float) -> Flow[tuple[int, KnownIndex] | None]:
    """The index as known without Chroma: see ``Folder.known``.

    If this process cannot open Chroma, wait for a writer at work: after a kill, the next writer is about to note the state.
    """
    deadline = deadline_after(timeout)
    while (known := (yield Call(folder.known, (name,)))) is None and folder.read_only and folder.changes.is_in_use:
        if time.monotonic() >= deadline:
            break
        yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)
    return known  # type: ignore[no-any-return]


_POLL_SECONDS = 0.02
_ATTEMPTS = 5  # to read rows while nobody writes
_AT_ONCE = 500  # leaves per step when lost vectors are looked for and written again
_MIN_FOR_PROGRESS = 2_000  # number of leaves from which a progress bar is shown
_BATCH = 5_000  # a little less than Chroma takes at once; a collection divides it if Chroma takes less


def _find(opened: Opened, name: str, deadline: float) -> Collection | None:
    try:
        return opened.collection(name, deadline)
    except CollectionGone:
        return None


def _never_called() -> Flow[Catalogue]:
    raise AssertionError("the catalogue of a folder is always known")
