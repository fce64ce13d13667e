"""Chroma's files in a folder: used by one process at a time, and checked and repaired before Chroma opens them."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from leafspan.engines.chroma._database_facts import (
    StoredVectors,
    count_missing,
    last_written,
    refused_records,
    stored_vectors,
)
from leafspan.engines.chroma._database_file import DATABASE, DatabaseFile, check_there, entries, is_vector_folder
from leafspan.engines.chroma._failures import is_refused
from leafspan.engines.chroma._links import check_links
from leafspan.engines.chroma._lost_vectors import LostVectors
from leafspan.engines.chroma._vector_files import Stamp, VectorFiles
from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._disk_errors import chroma_disk_error, disk_error
from leafspan.engines.local._file_lock import FileLock
from leafspan.errors import StorageFailed, WriterBusy

RECORDS = "leafspan.vectors"


class FileDamage(NamedTuple):
    """Vector files that do not match their checksums, and logged writes that Chroma cannot carry out.

    Attributes:
        in_use: Names of damaged files, by Chroma's folder.
        refused: Number of refused writes, by collection.
    """

    in_use: Mapping[str, str]
    refused: Mapping[str, int]


class Files:
    """A lock on Chroma's files that all processes share, and checks of these files.

    Every few thousand records, Chroma overwrites its vector files in place and then removes the records from its log. A
    process that loads the files meanwhile crashes or fails. So does a process that loads torn or damaged files: Chroma
    does not check them. So leafspan records their checksums after each use that changed them, and compares them before
    Chroma opens them. If they differ, there are two cases:

    1. The files look complete: a process was killed or failed while it used them, or a program without leafspan has
       written. They are as new as the database, and leafspan records them.
    2. The files are torn, damaged, or older than the database, which knows the last change that Chroma wrote to files and
       perhaps removed from the log. leafspan sets them aside, and Chroma starts new ones. leafspan notes how many vectors
       are missing (``LostVectors``). The next writer restores them from the segments, and embeds again what the segments
       do not have. Queries in a folder do not read these files.

    Attributes:
        forget: Called when other programs have written, to drop copies of the database's content.
    """

    def __init__(self, path: Path, changes: ChangeFile) -> None:
        self.path = path
        self.lost = LostVectors(path / RECORDS)
        self._changes = changes
        self._database: DatabaseFile | None = None
        self._known: dict[str, Stamp | None] = {}  # vector files when this process last checked them
        self._stored: dict[str, StoredVectors] | None = None
        self.forget: Callable[[], None] = lambda: None

    def is_as_left(self) -> bool:
        """Whether only leafspan has changed the database since it last noted the count of changes.

        Raises:
            DamagedIndex: if the database is gone, not an SQLite file, or older than the note.
        """
        self._look_at_database()
        if self._database is not None:
            self._database.check_not_older(self._changes.database)
        return self._database is not None and self._changes.tells_all_of(self._database.changes)

    @property
    def is_replaced(self) -> bool:
        """Whether the database is no longer the opened one: the folder was deleted, or restored from a backup."""
        return self._database is not None and not self._database.is_at_its_path

    @property
    def changes_of_others(self) -> int | None:
        """Return the database's count of changes if other programs have changed it since leafspan did, else None.

        Also None while a process uses the files, since its own changes are not noted yet.
        """
        before = self._noted
        if before is None or self._database is None or (count := self._database.changes) == before:
            return None
        return count if self._noted == before else None

    @property
    def _noted(self) -> int | None:
        """Return the noted count of the database's changes, or None if a process may be changing it now."""
        return None if self._changes.is_in_use else self._changes.database

    @contextmanager
    def locked(self, deadline: float, *, opening: bool = False) -> Iterator[None]:
        """A context in which no other process uses the files. Other processes use them for one call of Chroma at a time.

        Raises:
            WriterBusy: if another process does not release the files in time.
            DamagedIndex: if the files are damaged and cannot be repaired.
            StorageFailed: if the files cannot be read, or their checksums cannot be written.
        """
        lock = FileLock(self.path / "leafspan.files")
        if not lock.acquire(deadline):
            raise WriterBusy(
                f"the files of {str(self.path)!r} are in use by another process{lock.holder()}, which has not let go of "
                "them within the timeout: see whether it was stopped or hangs, or open the index with a longer timeout"
            )
        try:
            self._changes.follow()
            try:
                self._prepare(opening)
            except OSError as error:
                if isinstance(error, StorageFailed):
                    raise
                raise disk_error(error, f"note the checksums of the vectors in {str(self.path)!r}") from error
            self._changes.touching = True
            try:
                yield  # after an error the mark stays, so the files are checked as after a kill
            except BaseException as error:
                if is_refused(error):
                    refused_records(self.path, drop=True)
                raise
            self._finish()
        finally:
            lock.release()

    def damage(self, deadline: float, *, repair: bool, in_use: bool) -> FileDamage:
        """Compare all vector files with their checksums, even if Chroma has them open already.

        Raises:
            WriterBusy: if another process does not release the files in time.
            StorageFailed: if the files cannot be read.
        """
        in_use_and_damaged: dict[str, str] = {}
        with self.locked(deadline, opening=not in_use):
            refused = refused_records(self.path, drop=repair)
            for files in self._vector_files():
                if (recorded := files.recorded()) is None or not files.is_recorded:
                    continue
                if damaged := files.damaged(recorded):
                    in_use_and_damaged[files.place.name] = ", ".join(damaged)
        for name in in_use_and_damaged:
            self._known.pop(name, None)  # compare again before Chroma opens them
        return FileDamage(in_use_and_damaged, refused)

    def explain(self, error: BaseException, doing: str) -> StorageFailed | None:
        """Return the error to raise if a full or read-only disk explains Chroma's failure, or None for other failures."""
        sizes = [sum(each[1] for each in files.stamp or ()) for files in self._vector_files()]
        return chroma_disk_error(error, doing, self.path, max(sizes, default=0))

    def _prepare(self, opening: bool) -> None:
        """Check the files, and record the changed ones."""
        touched = self._changes.touching
        if opening:
            self._look_at_database()
            self._look_at_vectors()
            if touched and self._database is not None:
                refused_records(self.path, drop=True)  # left by a process that was killed before Chroma could report them
        known_count = self._changes.database
        count = self._database.changes if self._database else None
        if self._database is not None:
            self._database.check_not_older(known_count)
        written_by_others = known_count is None or known_count != count
        if written_by_others:
            self.forget()
        for files in self._vector_files():
            name = files.place.name
            if (
                touched
                or (opening and (files.stamp is None or files.stamp != self._known.get(name)))
                or not files.is_recorded
            ):
                self._settle(files, unsure=touched or written_by_others, silent=touched)
                if not files.is_recorded:
                    self._record(files)
                self._known[name] = files.stamp

    def _settle(self, files: VectorFiles, *, unsure: bool, silent: bool) -> None:
        """Make sure that vector files are whole."""
        recorded = files.recorded()
        if files.ids_stamp is None and not self._is_stored(files):
            return
        damaged = files.damaged(recorded) if recorded else []
        stored = (self._stored or {}).get(files.place.name)
        is_older = stored is not None and files.is_before(stored.last)
        if recorded and not damaged:
            if not is_older:
                return
            damaged = ["older than the database"]
        elif (recorded is None or unsure) and files.looks_complete():
            return
        what = ", ".join(damaged) or "files missing"
        where = f"Chroma's vectors of {stored.collection if stored else files.place.name!r} in {str(self.path)!r}"
        files.set_aside()
        missing = self._note_lost(files, stored)
        if not silent:  # the user need not act on a kill during a write
            lost = f"; the vectors of {missing} records are missing, and must be made again" if missing else ""
            told = f"{where} were damaged ({what}), so Chroma begins without them{lost}"
            warnings.warn(told, RuntimeWarning, stacklevel=2)

    def _record(self, files: VectorFiles) -> None:
        files.record(last_written(self.path).get(files.place.name))

    def _is_stored(self, files: VectorFiles) -> bool:
        """Whether missing vector files should exist."""
        name = files.place.name
        if files.has_record:
            self._stored = stored_vectors(self.path) or self._stored  # the collection may be gone
            if self._stored is not None and name not in self._stored:
                files.forget_record()
                return False
            return True
        stored = (self._stored or {}).get(name)
        if stored is None or stored.last is None or self.lost.of(name):
            return False  # never written, or known to be lost: Chroma starts from its log
        missing = count_missing(self.path, name, ())  # the log may have the lost vectors by now
        if missing is None:
            raise StorageFailed(
                f"cannot tell whether Chroma's vectors of {stored.collection!r} in {str(self.path)!r} are whole, since "
                "another program holds the database; try again when it has ended"
            )
        return missing > 0

    def _note_lost(self, files: VectorFiles, stored: StoredVectors | None) -> int | str:
        """Note how many vectors are now neither in the files nor in Chroma's log, if any."""
        missing = count_missing(self.path, files.place.name, files.ids())
        if stored is None:
            stored = (stored_vectors(self.path) or {}).get(files.place.name)
        if missing == 0 or (stored is not None and not stored.collection.endswith(".leaves")):
            return 0  # only vectors of leaves matter
        self.lost.note(files.place.name, stored.collection if stored else "", missing)
        return "some" if missing is None else missing

    def _look_at_database(self) -> None:
        """Check the database, as far as that is possible without SQLite."""
        if self.path.is_dir():
            check_links(self.path)
        if not check_there(self.path):
            return
        if self._database is None or not self._database.is_at_its_path:
            self._database = DatabaseFile(self.path)
        self._database.check()

    def _look_at_vectors(self) -> None:
        """Find out which collection each vector file belongs to."""
        if self._database is not None and self._stored is None:
            self._stored = stored_vectors(self.path)
            self._forget_gone()

    def _forget_gone(self) -> None:
        """Remove notes about vectors that are gone, or do not belong to leafspan."""
        own = {name for name, each in (self._stored or {}).items() if each.own}
        if self._stored is None or not (self.path / RECORDS).is_dir():
            return
        for known in (self.path / RECORDS).iterdir():
            if is_vector_folder(known.with_suffix("")) and known.with_suffix("").name not in own:
                shutil.rmtree(known, ignore_errors=True) if known.is_dir() else known.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Record the changes of this use, and mark the files as whole."""
        if self._database is None and (self.path / DATABASE).exists():
            self._database = DatabaseFile(self.path)
        for files in self._vector_files():
            if not files.is_recorded:
                try:
                    self._record(files)
                except OSError:
                    # The written files are whole. The next use records them first, or says why that fails.
                    files.forget_record()
            self._known[files.place.name] = files.stamp
        if self._database is not None and (count := self._database.changes) is not None:
            self._changes.database = count
        self._changes.touching = False

    def _vector_files(self) -> list[VectorFiles]:
        """Return the vector files that belong, or may belong, to an index."""
        records = self.path / RECORDS
        folders = [folder for folder in (self.path, records) if folder.is_dir()]
        found = {each.with_suffix("") for folder in folders for each in entries(folder)}
        names = {each.name for each in found if is_vector_folder(each)}
        names |= {name for name, each in (self._stored or {}).items() if each.last is not None}
        foreign = {name for name, each in (self._stored or {}).items() if not each.own}
        return [VectorFiles(self.path / name, records) for name in sorted(names - foreign)]
