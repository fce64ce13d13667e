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
    """Vector files that are not as their checksums say, and writes that Chroma has logged and cannot do.

    Attributes:
        in_use: Names of damaged files, by the folder in which Chroma has them.
        refused: Number of such writes, by collection.
    """

    in_use: Mapping[str, str]
    refused: Mapping[str, int]


class Files:
    """A lock on Chroma's files that all processes share, and checks of them.

    Every few thousand records, Chroma overwrites its vector files in place and then removes the records from its log. A
    process that loads the files meanwhile crashes or fails, and so does one that loads files that were torn by a kill or
    damaged later: Chroma does not check them.

    So their checksums are recorded after each use that has changed them, and compared before Chroma opens them. If they
    differ, there are two cases:

    1. A process was killed or failed while it used them, or one without leafspan has written, and they look complete. Then
       they are as new as the database, and are recorded.
    2. They were torn or damaged, or are older than the database, which knows the last change that Chroma has written to the
       files, and may have removed it from the log. The files are set aside, and Chroma begins anew. What is missing then is
       noted (``LostVectors``). The next writer writes it again from the segments; what these lack is embedded again. No
       question in a folder reads these files.

    Attributes:
        forget: Function to call when others than leafspan have written, for what was copied from the database.
    """

    def __init__(self, path: Path, changes: ChangeFile) -> None:
        self.path = path
        self.lost = LostVectors(path / RECORDS)
        self._changes = changes
        self._database: DatabaseFile | None = None
        self._known: dict[str, Stamp | None] = {}  # vector files as they were when this process has last checked them
        self._stored: dict[str, StoredVectors] | None = None
        self.forget: Callable[[], None] = lambda: None

    def is_as_left(self) -> bool:
        """Whether what leafspan has noted of the database is all that has become of it.

        Raises:
            DamagedIndex: if it is gone, no database, or older than what is noted of it.
        """
        self._look_at_database()
        if self._database is not None:
            self._database.check_not_older(self._changes.database)
        return self._database is not None and self._changes.tells_all_of(self._database.changes)

    @property
    def is_replaced(self) -> bool:
        """Whether the database is no longer the one that was opened: the folder was deleted, or put back from a backup."""
        return self._database is not None and not self._database.is_at_its_path

    @property
    def changes_of_others(self) -> int | None:
        """The database's count of changes, if others have changed it since leafspan did. None if not, or not known.

        While a process uses the files, its own changes are not noted yet, and nothing is known.
        """
        before = self._noted
        if before is None or self._database is None or (count := self._database.changes) == before:
            return None
        return count if self._noted == before else None

    @property
    def _noted(self) -> int | None:
        """The database's count of changes as it was noted, unless it may be changed at this moment."""
        return None if self._changes.is_in_use else self._changes.database

    @contextmanager
    def locked(self, deadline: float, *, opening: bool = False) -> Iterator[None]:
        """A context in which no other process uses the files. Others use them for one call of Chroma at a time.

        Raises:
            WriterBusy: if another process does not let go of the files in time.
            DamagedIndex: if they are damaged, and cannot be repaired.
            StorageFailed: if they cannot be read, or their checksums cannot be written.
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
                yield  # after an error the mark stays, so that the files are checked as after a kill
            except BaseException as error:
                if is_refused(error):
                    refused_records(self.path, drop=True)
                raise
            self._finish()
        finally:
            lock.release()

    def damage(self, deadline: float, *, repair: bool, in_use: bool) -> FileDamage:
        """Compare all vector files with their checksums, though Chroma may have them open already.

        Raises:
            WriterBusy: if another process does not let go of the files in time.
            StorageFailed: if they cannot be read.
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
            self._known.pop(name, None)  # so that they are compared again before Chroma opens them
        return FileDamage(in_use_and_damaged, refused)

    def explain(self, error: BaseException, doing: str) -> StorageFailed | None:
        """What to raise from a failure of Chroma that a full or read-only disk explains; None for other failures."""
        sizes = [sum(each[1] for each in files.stamp or ()) for files in self._vector_files()]
        return chroma_disk_error(error, doing, self.path, max(sizes, default=0))

    def _prepare(self, opening: bool) -> None:
        """Check the files, and record those that have changed."""
        touched = self._changes.touching
        if opening:
            self._look_at_database()
            self._look_at_vectors()
            if touched and self._database is not None:
                refused_records(self.path, drop=True)  # a process was killed before Chroma could say so
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
        """See to it that vector files are whole."""
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
        if not silent:  # a kill while Chroma writes is nothing that anybody has to see to
            lost = f"; the vectors of {missing} records are missing, and are to be made anew" if missing else ""
            told = f"{where} were damaged ({what}), so Chroma begins without them{lost}"
            warnings.warn(told, RuntimeWarning, stacklevel=2)

    def _record(self, files: VectorFiles) -> None:
        files.record(last_written(self.path).get(files.place.name))

    def _is_stored(self, files: VectorFiles) -> bool:
        """Whether there should be vector files, where there are none."""
        name = files.place.name
        if files.has_record:
            self._stored = stored_vectors(self.path) or self._stored  # the collection may have been deleted
            if self._stored is not None and name not in self._stored:
                files.forget_record()
                return False
            return True
        stored = (self._stored or {}).get(name)
        if stored is None or stored.last is None or self.lost.of(name):
            return False  # nothing was ever written, or it is known to be lost: Chroma begins with its log
        missing = count_missing(self.path, name, ())  # what was lost may be in the log by now
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
            return 0  # other vectors than those of leaves mean nothing
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
        """Learn whose the vectors are."""
        if self._database is not None and self._stored is None:
            self._stored = stored_vectors(self.path)
            self._forget_gone()

    def _forget_gone(self) -> None:
        """Remove what is known of vectors that are no longer there, or are not leafspan's."""
        own = {name for name, each in (self._stored or {}).items() if each.own}
        if self._stored is None or not (self.path / RECORDS).is_dir():
            return
        for known in (self.path / RECORDS).iterdir():
            if is_vector_folder(known.with_suffix("")) and known.with_suffix("").name not in own:
                shutil.rmtree(known, ignore_errors=True) if known.is_dir() else known.unlink(missing_ok=True)

    def _finish(self) -> None:
        """Record what this use has changed, and note that the files are whole."""
        if self._database is None and (self.path / DATABASE).exists():
            self._database = DatabaseFile(self.path)
        for files in self._vector_files():
            if not files.is_recorded:
                try:
                    self._record(files)
                except OSError:
                    # What was written is whole. The next use will record it before it touches it, or say why that fails.
                    files.forget_record()
            self._known[files.place.name] = files.stamp
        if self._database is not None and (count := self._database.changes) is not None:
            self._changes.database = count
        self._changes.touching = False

    def _vector_files(self) -> list[VectorFiles]:
        """The vector files that are, or may be, those of an index."""
        records = self.path / RECORDS
        folders = [folder for folder in (self.path, records) if folder.is_dir()]
        found = {each.with_suffix("") for folder in folders for each in entries(folder)}
        names = {each.name for each in found if is_vector_folder(each)}
        names |= {name for name, each in (self._stored or {}).items() if each.last is not None}
        foreign = {name for name, each in (self._stored or {}).items() if not each.own}
        return [VectorFiles(self.path / name, records) for name in sorted(names - foreign)]
