"""The store of an index in a folder."""

from __future__ import annotations

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
from leafspan.store._damage import DamageRule, ReadHistory
from leafspan.store._folder import CatalogueAt, Folder
from leafspan.store._manifest import Row, unpack_rows
from leafspan.store._naming import leaves_name, manifest_name, read_embedder, settings_with, texts_name
from leafspan.store._reader import CopiedRecords, Reader
from leafspan.store._rows_file import RowsInFile
from leafspan.store._stored_rows import StoredRows
from leafspan.store._tables import LazyClient, LazyCollection, TableLease, Texts
from leafspan.store._writer import Follower, Writer
from leafspan.values import LeafId


class FolderStore:
    """The store of an index in a folder. The catalogue is in memory, and read again when the change counter changes.

    The rows are in the folder's own file. If a client of a Chroma server made the index, they are in a collection.
    """

    def __init__(
        self,
        folder: Folder,
        name: str,
        settings: Mapping[str, Any],
        id_: str,
        timeout: float,
        *,
        damage: DamageRule,
        was_served: bool = False,
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
        self._was_served = was_served  # whether the rows are in a collection
        self._rows = RowsInFile(folder.rows, name)
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
        return self._open_folder().changes.writing

    def reader(self, history: ReadHistory, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        # ``again`` has no effect: the change counter says whether the catalogue is up to date
        folder = self._open_folder()
        folder.check()
        if folder.changes_of_others not in (None, self._checked_at):
            yield from self._check_there(folder)
        count, catalogue = yield from self._catalogue(folder)
        chroma = LazyClient(self._opened_reader)

        def collection(name: str) -> Flow[Collection]:
            opened = yield from chroma.opened()
            table = opened.collections.get(name) or (yield Call(opened.collection, (name, deadline_after(self._timeout))))
            return table.lacking(self._what_lost) if name in folder.files.to_rebuild else table

        return Reader(
            LazyCollection(partial(collection, self._leaves_name)),
            LazyCollection(partial(collection, self._manifest_name)) if self._was_served else self._rows,
            everything=catalogue,
            load=_never_called,
            has_changed=lambda: folder.changes.count != count,
            stay=chroma.stay,
            leave=chroma.leave,
            history=history,
            scope=scope,
            rule=self.damage,
            copied=self.copied,
        )

    def _catalogue(self, folder: Folder) -> Flow[tuple[int, Catalogue]]:
        """The current catalogue and its change count."""
        count = folder.changes.count  # first, so that everything read below is at least as new
        shared = folder.catalogues.get(self._name)  # read once: another thread may replace it at any time
        if shared is not None and shared.change == count and not shared.catalogue.is_stale:
            return count, shared.catalogue
        catalogue = yield from self._read_catalogue(folder, None if shared is None else shared.catalogue)
        folder.catalogues[self._name] = CatalogueAt(count, catalogue)
        return count, catalogue

    def _read_catalogue(self, folder: Folder, earlier: Catalogue | None) -> Flow[Catalogue]:
        """Read what has changed, or all if a row could not be read."""
        if self._was_served:
            return Catalogue((yield from self._collected_rows(folder)))
        old_rows = earlier.rows if earlier is not None and isinstance(earlier.rows, StoredRows) else None
        checked = old_rows is not None and old_rows.block.is_damaged
        if old_rows is not None and old_rows.is_stale:
            old_rows = None
        rows = yield Call(folder.rows.read, (self._name, old_rows), {"checked": checked})
        if rows is None:
            raise CollectionGone(f"{self.described} was deleted meanwhile: open it again")
        if earlier is not None and rows is old_rows and not earlier.later_damage:
            return earlier  # with its caches
        return Catalogue(rows)

    def _collected_rows(self, folder: Folder) -> Flow[dict[str, Row]]:
        """The rows in Chroma's collection.

        They are read before Chroma is opened again: an open client does not see vectors that other processes add, so it
        could miss leaves of a version that has become current since.
        """
        opened = folder.late_reader()
        if opened is None:
            opened = yield Call(folder.reopened_reader, (deadline_after(self._timeout),))
        try:
            manifest = yield Call(opened.collection, (self._manifest_name, deadline_after(self._timeout)))
            return unpack_rows((yield from manifest.scan(["metadata"])))
        finally:
            opened.leave()

    def _check_there(self, folder: Folder) -> Flow[None]:
        """Check that the opened collections still exist, since others have changed the database."""
        count = folder.changes_of_others
        opened = folder.late_reader()
        if opened is None:
            return  # another thread is opening it: the next reader checks
        try:
            leaves = yield Chroma(opened.client).call("get_collection", self._leaves_name, embedding_function=None)
        finally:
            opened.leave()
        if str(leaves.id) != self.id:
            raise CollectionGone(f"{self.described} was deleted and made again meanwhile: open it again")
        self._checked_at = count

    def _stored_metadata(self, opened: Opened) -> Flow[Mapping[str, Any]]:
        """The metadata of the manifest's collection."""
        handle = yield Chroma(opened.client).call("get_collection", self._manifest_name, embedding_function=None)
        return handle.metadata or {}

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        folder = self._open_folder()
        lock = folder.writer_lock()

        def stop(whole: bool) -> None:
            folder.stop_writing(lock, whole=whole)

        try:
            deadline = deadline_after(timeout)
            yield from self._wait_for(lock, partial(folder.try_writing, lock, deadline), timeout)
            shared = folder.catalogues.get(self._name)
            catalogue = yield from self._read_catalogue(folder, None if shared is None else shared.catalogue)
            opened = yield Call(folder.opened, (deadline,))
            leaves = yield self._to_write(opened, self._leaves_name)
            manifest = (yield self._to_write(opened, self._manifest_name)) if self._was_served else self._rows
        except BaseException:
            stop(False)
            raise

        def advance(changed: Set[str], *, settled: bool) -> Flow[None]:
            folder.advance(lock, deadline_after(self._timeout))
            yield from ()

        def latest() -> Flow[Catalogue]:
            return (yield from self._catalogue(folder))[1]

        rows = catalogue.rows
        writer = Writer(
            leaves,
            manifest,
            rows=rows.for_writer() if isinstance(rows, StoredRows) else rows,
            advance=advance,
            stop=stop,
            follower=self.follower,
            catalogue=latest,
            notes_changes=self._was_served,
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
        ids = [id_ for row in catalogue.rows.values() if row.version is not None for id_ in row.record_ids]
        show = None if len(ids) >= _MIN_FOR_PROGRESS else False
        progress = Progress(len(ids), show=show, what="Writing vectors again", unit=" leaves")
        lacking = 0
        try:
            for start in range(0, len(ids), _AT_ONCE):
                missing = yield from leaves.without_vectors(ids[start : start + _AT_ONCE])
                missing = set((yield from leaves.get(missing, [])))  # writing others would make records
                try:
                    records, _ = yield from copied(catalogue, map(LeafId.parse, missing), ["vector"])
                except StaleRead:  # a file of the copy is damaged
                    records = {}
                yield from leaves.put_vectors({record.id: record.vector for record in records.values()})
                lacking += len(missing) - len(records)
                progress.advance(_AT_ONCE)
        finally:
            progress.close()
        return lacking

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        folder = self._open_folder()
        if not self._was_served:
            index = yield Call(folder.rows.find, (self._name,))
            return None if index is None else read_embedder(index.notes)
        opened = yield from self._opened_reader()
        try:
            return read_embedder((yield from self._stored_metadata(opened)))
        finally:
            opened.leave()

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        manifest: Collection | RowsInFile = self._rows
        if self._was_served:
            opened = yield Call(self._open_folder().opened, (deadline_after(self._timeout),))
            manifest = yield self._to_write(opened, self._manifest_name)
        yield from manifest.annotate(settings_with(self.settings, identity))

    @property
    def has_lost(self) -> bool:
        return bool(self._open_folder().files.to_rebuild)

    def lost_vectors(self) -> int | None:
        to_rebuild = self._open_folder().files.to_rebuild
        return to_rebuild[self._leaves_name] or 0 if self._leaves_name in to_rebuild else None

    def without_vectors(self, ids: Sequence[str]) -> Flow[set[str]]:
        return (yield from self._with_leaves(lambda leaves: leaves.without_vectors(ids)))

    def not_found(self, ids: Sequence[str]) -> Flow[set[str]]:
        return (yield from self._with_leaves(lambda leaves: leaves.not_found(ids)))

    def check_database(self) -> Flow[str | None]:
        folder = self._open_folder()
        problem: str | None = yield Call(check_pages, (folder.path,))
        return problem or (yield Call(folder.rows.check))

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        folder = self._open_folder()
        if folder.read_only:
            return {}
        how = {"repair": repair, "in_use": folder.is_open}
        damage: FileDamage = yield Call(folder.files.damage, (deadline_after(timeout),), how, finish=True)
        if damage.in_use and repair:
            writer = yield from self.start_writing(timeout, None)  # nobody else writes with the client that is closed
            try:
                folder.let_go(deadline_after(timeout))
            finally:
                writer.stop()
        return {
            **{
                name: f"{count} writes are in Chroma's log that its tables refuse, so that nothing else can be written"
                for name, count in damage.refused.items()
            },
            **{
                name: f"Chroma's vectors were damaged while they were in use ({files})"
                for name, files in damage.in_use.items()
            },
        }

    def rows(self) -> Flow[Mapping[str, Row]]:
        folder = self._open_folder()
        if self._was_served:
            return (yield from self._collected_rows(folder))
        rows = yield Call(folder.rows.read, (self._name, None), {"checked": True})
        return {} if rows is None else dict(rows.for_writer().items())

    def vectors_found(self, catalogue: Catalogue) -> Flow[None]:
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
        return self._open_folder().shown_client(deadline_after(self._timeout))

    def close(self) -> None:
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
