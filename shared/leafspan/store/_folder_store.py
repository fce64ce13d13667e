"""The store of an index in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leafspan.embedding import EmbedderIdentity
from leafspan.engines import StaleRead
from leafspan.engines.chroma import (
    Chroma,
    Collection,
    CollectionGone,
    FileDamage,
    Opened,
    check_pages,
    how_to_make,
    stored_vectors,
)
from leafspan.engines.local import deadline_after
from leafspan.errors import InvalidArgument, LeafspanError
from leafspan.flows import Call, Flow, Progress
from leafspan.store._catalogue import Catalogue, Visibility
from leafspan.store._damage import ReadHistory
from leafspan.store._folder import Folder, FolderCollection, FolderState
from leafspan.store._manifest import Row, unpack_rows
from leafspan.store._naming import (
    EDITION_OF,
    Editions,
    TableNames,
    WantedIndex,
    family,
    read_embedder,
    read_settings,
    settings_with,
    spare_written,
    warn_of_spare,
)
from leafspan.store._reader import Reader
from leafspan.store._rows_file import RowsInFile, StoredIndex
from leafspan.store._stored_rows import StoredRows
from leafspan.store._writer import Copies, Writer
from leafspan.values import LeafId

T = TypeVar("T")


class FolderStore:
    """The store of an index in a folder. The catalogue is in memory, and read again when the change counter changes.

    The rows are in the folder's own file. If a client of a Chroma server made the index, they are in a collection.
    """

    def __init__(self, folder: Folder, index: StoredIndex, wanted: WantedIndex, *, was_served: bool = False) -> None:
        self._folder: Folder | None = folder
        self.name = wanted.name
        self.base = index.notes.get(EDITION_OF, wanted.base)  # the name of the index, and of its first edition
        self._may_write_spare = wanted.spare is not None
        self._was_spare = self.name in folder.rows.spares or self._may_write_spare
        self._timeout = wanted.timeout
        self.id = index.leaves  # unique: the id of the table with its leaves
        self.described = f"{self.base!r} in the folder {str(folder.path)!r}"
        # Files that leafspan can make again from the stored documents.
        self.cache_folder: Path | None = folder.path / _SEGMENTS / self.id
        self.cache_read_only = folder.read_only
        self.home: Path | None = folder.path.resolve().parent  # with links resolved
        self._names = TableNames.of(self.name)
        self._was_served = was_served  # whether the rows are in a collection
        self._rows = RowsInFile(folder.rows, self.name)
        self._checked_at: int | None = None  # changes of others at which the collections still existed
        self.settings = read_settings(index.notes)
        self.batch = _BATCH  # largest number of records in one group of documents
        self.damage = wanted.damage
        self.copies: Copies | None = None  # readers ask them first

    embedded = True  # reading all vectors is fast
    product = "Chroma"
    segments_table = None  # segments are files of the index

    @property
    def leaves(self) -> FolderCollection:
        return FolderCollection(self._open_folder(), self._names.leaves, self._timeout)

    @property
    def _manifest(self) -> FolderCollection | RowsInFile:
        if self._was_served:
            return FolderCollection(self._open_folder(), self._names.manifest, self._timeout)
        return self._rows

    @property
    def interrupted(self) -> bool:
        """Whether a writer is at work, or was killed. False if that is unknown."""
        return self._open_folder().changes.writing

    def reader(self, history: ReadHistory, *, scope: Visibility | None = None, again: bool = False) -> Flow[Reader]:
        """A reader of everything that has been written so far. The change counter says whether the catalogue is too old."""
        folder = self._open_folder()
        folder.check()
        if folder.changes_of_others not in (None, self._checked_at):
            yield from self._check_there(folder)
        state = yield from self._state(folder)
        return Reader(self.leaves, self._manifest, state, history, scope=scope, rule=self.damage, copies=self.copies)

    def _state(self, folder: Folder) -> Flow[FolderState]:
        count = folder.changes.count  # first, so that everything read below is at least as new
        earlier = folder.states.get(self.name)  # read once: another thread may replace it at any time
        if earlier is not None and earlier.count == count and not earlier.catalogue.is_stale:
            return earlier
        catalogue = yield from self._read_catalogue(folder, None if earlier is None else earlier.catalogue)
        folder.states[self.name] = state = FolderState(folder.changes, count, catalogue)
        return state

    def _read_catalogue(self, folder: Folder, earlier: Catalogue | None) -> Flow[Catalogue]:
        """Read what has changed, or all if a row could not be read."""
        if self._was_served:
            return Catalogue((yield from self._collected_rows()))
        old_rows = earlier.rows if earlier is not None and isinstance(earlier.rows, StoredRows) else None
        checked = old_rows is not None and old_rows.block.is_damaged
        if old_rows is not None and old_rows.is_stale:
            old_rows = None
        rows = yield Call(folder.rows.read, (self.name, old_rows), {"checked": checked})
        if rows is None:
            raise CollectionGone(f"{self.described} was deleted meanwhile: open it again")
        if not self._was_spare and self.name in folder.rows.spares:
            self._was_spare = True
            warn_of_spare(self.described)
        if earlier is not None and rows is old_rows and not earlier.later_damage:
            return earlier  # with its caches
        return Catalogue(rows)

    def _collected_rows(self) -> Flow[dict[str, Row]]:
        return unpack_rows((yield from self._manifest.scan(["metadata"])))

    def _check_there(self, folder: Folder) -> Flow[None]:
        """Check that the opened collections still exist, since others have changed the database."""
        count = folder.changes_of_others
        leaves = yield from self._look_for(self._names.leaves)
        if leaves is None or leaves.id != self.id:
            raise CollectionGone(f"{self.described} was deleted and made again meanwhile: open it again")
        self._checked_at = count

    def start_writing(self, timeout: float, ids: Sequence[str] | None) -> Flow[Writer]:
        """The writer. It holds the lock until its ``stop`` is called."""
        folder = self._open_folder()
        lock = folder.writer_lock()

        def stop(whole: bool) -> None:
            folder.stop_writing(lock, whole=whole)

        def advance(changed: Set[str], *, settled: bool) -> Flow[None]:
            folder.advance(lock, deadline_after(self._timeout))
            yield from ()

        def latest() -> Flow[Catalogue]:
            return (yield from self._state(folder)).catalogue

        try:
            deadline = deadline_after(timeout)
            yield from folder.wait_for(lock, partial(folder.try_writing, lock, deadline), timeout)
            catalogue = yield from latest()
            if self.name in folder.rows.spares and not self._may_write_spare:
                raise spare_written(self.name)
            opened = yield Call(folder.opened, (deadline,))
            leaves = yield from self._to_write(opened, self._names.leaves)
            manifest = (yield from self._to_write(opened, self._names.manifest)) if self._was_served else self._rows
            rows = catalogue.rows
            writer = Writer(
                leaves,
                manifest,
                rows=rows.for_writer() if isinstance(rows, StoredRows) else rows,
                advance=advance,
                stop=stop,
                copies=self.copies,
                catalogue=latest,
                notes_changes=self._was_served,
            )
            if folder.files.to_rebuild.get(self._names.leaves, 0) is None and self.copies is not None:
                lacking = yield from self._rebuild_vectors(leaves, catalogue, self.copies)
                yield from writer.recover()  # half-deleted documents may lack vectors, too
                yield Call(folder.files.rebuilt, (self._names.leaves, deadline_after(self._timeout), lacking))
        except BaseException:
            stop(False)
            raise
        return writer

    def _rebuild_vectors(self, leaves: Collection, catalogue: Catalogue, copies: Copies) -> Flow[int]:
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
                    records, _ = yield from copies.read(catalogue, map(LeafId.parse, missing), ["vector"])
                except StaleRead:  # a file of the copy is damaged
                    records = {}
                yield from leaves.put_vectors({record.id: record.vector for record in records.values()})
                lacking += len(missing) - len(records)
                progress.advance(_AT_ONCE)
        finally:
            progress.close()
        return lacking

    def embedder(self) -> Flow[EmbedderIdentity | None]:
        """The identity of the embedder that the index was made with, or None before the first embedding."""
        folder = self._open_folder()
        if not self._was_served:
            index = yield Call(folder.rows.find, (self.name,))
            return None if index is None else read_embedder(index.notes)
        manifest = yield from self._look_for(self._names.manifest)
        return None if manifest is None else read_embedder(manifest.notes)

    def record_embedder(self, identity: EmbedderIdentity) -> Flow[None]:
        """Record the embedder. Only the writer may call this."""
        manifest: Collection | RowsInFile = self._rows
        if self._was_served:
            opened = yield Call(self._open_folder().opened, (deadline_after(self._timeout),))
            manifest = yield from self._to_write(opened, self._names.manifest)
        yield from manifest.annotate(settings_with(self.settings, identity))

    def editions(self) -> Flow[Editions]:
        index = yield Call(self._open_folder().rows.find, (self.base,))
        return Editions(self.base) if index is None else Editions.read(index.notes, self.base)

    def record_editions(self, editions: Editions) -> Flow[None]:
        """Record which edition answers questions, for all who open the index. Only the writer may call this.

        In the folder, all changes are one transaction. Elsewhere the first one is the step.
        """
        if self._was_served:
            raise InvalidArgument(
                f"{self.described} was made by a server, and such an index cannot be re-embedded: copy it first (copy_to)"
            )
        yield Call(self._open_folder().rows.record_editions, (self.base, editions), finish=True)

    def drop(self, edition: str) -> Flow[None]:
        """Delete an edition. Only the writer may call this."""
        folder = self._open_folder()
        opened = yield Call(folder.opened, (deadline_after(self._timeout),))
        files = opened.use(self._timeout)
        all_tables = yield from Chroma(opened.client).tables()
        stored = (yield Call(stored_vectors, (folder.path,))) or {}
        for name in family(edition):
            names = TableNames.of(name)
            index = yield Call(folder.rows.find, (name,))
            yield Call(folder.rows.forget, (name,), {"keep_notes": name == self.base}, finish=True)
            tables = {names.leaves, names.texts} & all_tables.keys()
            for table in sorted(tables):
                yield Call(files.call, (opened.client.delete_collection, table), finish=True)
            # Chroma leaves the files of the vectors.
            places = [folder.path / id_ for id_, each in stored.items() if each.collection in tables]
            places += [folder.path / _SEGMENTS / index.leaves] if index is not None and index.leaves else []
            for place in places:
                yield Call(shutil.rmtree, (place,), {"ignore_errors": True})

    @property
    def has_lost(self) -> bool:
        """Whether this index or another one in its folder has lost vectors that were not written again yet."""
        return bool(self._open_folder().files.to_rebuild)

    def lost_vectors(self) -> int | None:
        """The number of leaves whose vectors must be embedded again, or None if no vector is missing.

        0 if the next writer has to write the vectors of the segments again before anybody can tell.
        """
        to_rebuild = self._open_folder().files.to_rebuild
        return to_rebuild[self._names.leaves] or 0 if self._names.leaves in to_rebuild else None

    def check_database(self) -> Flow[str | None]:
        """What is wrong with the database's file, or None if it is sound or out of reach."""
        folder = self._open_folder()
        problem: str | None = yield Call(check_pages, (folder.path,))
        return problem or (yield Call(folder.rows.check))

    def check_files(self, timeout: float, *, repair: bool) -> Flow[dict[str, str]]:
        """What is wrong with the vector files and the log, by name, of all indexes in the folder."""
        folder = self._open_folder()
        if folder.read_only:
            return {}
        how = {"repair": repair, "in_use": folder.is_open}
        damage: FileDamage = yield Call(folder.files.damage, (deadline_after(timeout),), how, finish=True)
        if damage.in_use and repair:
            with (yield from self.start_writing(timeout, None)):  # nobody else writes with the client that is closed
                folder.let_go(deadline_after(timeout))
        refused = "writes are in Chroma's log that its tables refuse, so that nothing else can be written"
        problems = {name: f"{count} {refused}" for name, count in damage.refused.items()}
        in_use = "Chroma's vectors were damaged while they were in use"
        return problems | {name: f"{in_use} ({files})" for name, files in damage.in_use.items()}

    def rows(self) -> Flow[Mapping[str, Row]]:
        """The rows of all documents, by stored id, with damaged ones marked."""
        folder = self._open_folder()
        if self._was_served:
            return (yield from self._collected_rows())
        rows = yield Call(folder.rows.read, (self.name, None), {"checked": True})
        return {} if rows is None else dict(rows.for_writer().items())

    def vectors_found(self, catalogue: Catalogue) -> Flow[None]:
        """Record that all leaves of these documents have their vectors again."""
        if any(row.is_half_done for row in catalogue.rows.values()):
            return  # half-deleted documents may lack vectors, too
        folder = self._open_folder()
        if self._names.leaves in folder.files.to_rebuild:
            yield Call(folder.files.rebuilt, (self._names.leaves, deadline_after(self._timeout)))

    def read_texts(self, use: Callable[[Collection], Flow[T]]) -> Flow[T | None]:
        """Run a flow with the table of the texts. None if it does not exist."""
        folder = self._open_folder()
        folder.check_writable()  # only a process that writes texts reads them
        try:
            return (yield from folder.with_collection(self._names.texts, use, self._timeout))
        except CollectionGone:
            return None

    def write_texts(self, use: Callable[[Collection], Flow[T]], timeout: float) -> Flow[T]:
        """Run a flow with the table of the texts, which is made if it does not exist.

        It waits at most ``timeout`` seconds for other writers.
        """
        folder = self._open_folder()
        if self.name in folder.rows.spares and not self._may_write_spare:
            raise spare_written(self.name)
        # The lock is enough: readers need not notice this change, and the mark of a killed writer must stay.
        lock = folder.writer_lock()
        try:
            yield from folder.wait_for(lock, lock.try_acquire, timeout)
            opened = yield Call(folder.opened, (deadline_after(self._timeout),))
            if self._names.texts not in opened.collections:
                make, how = opened.client.get_or_create_collection, how_to_make(self._names.texts, {}, searched=False)
                yield Call(opened.use(self._timeout).call, (make, self._names.texts), how, finish=True)
            return (yield from use((yield from self._to_write(opened, self._names.texts))))
        finally:
            lock.release()

    def _to_write(self, opened: Opened, name: str) -> Flow[Collection]:
        collection: Collection = yield Call(opened.collection, (name, deadline_after(self._timeout)))
        return collection.written_by(opened.use(self._timeout))

    def _look_for(self, name: str) -> Flow[Collection | None]:
        return self._open_folder().with_client(lambda opened: Chroma(opened.client).table(name), self._timeout)

    @property
    def client(self) -> Any:
        """The open client. A user may keep it: this process then holds the database as a writer."""
        return self._open_folder().opened(deadline_after(self._timeout)).client

    def close(self) -> None:
        """Close the store, which cannot be used after that. The folder's files are closed with its last user."""
        self._folder = self.copies = None

    def _open_folder(self) -> Folder:
        if self._folder is None:
            raise LeafspanError("this index is closed; open it again")
        return self._folder


_SEGMENTS = "leafspan.segments"
_AT_ONCE = 500  # leaves per step when lost vectors are looked for and written again
_MIN_FOR_PROGRESS = 2_000  # number of leaves from which a progress bar is shown
_BATCH = 5_000  # a little less than Chroma takes at once; a collection divides it if Chroma takes less
