"""The files of a Chroma in a folder that cannot be written: read from a copy of the database."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leafspan.engines.chroma._database_facts import StoredVectors, count_missing, stored_vectors
from leafspan.engines.chroma._database_file import DATABASE, DatabaseFile, check_there, is_vector_folder
from leafspan.engines.chroma._files_use import Place
from leafspan.engines.chroma._lost_vectors import LostVectors
from leafspan.engines.chroma._temporary_folder import TemporaryFolder
from leafspan.engines.chroma._vector_files import IDS, VECTORS, VectorFiles
from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._disk_errors import chroma_disk_error, disk_error
from leafspan.engines.local._file_lock import FileLock
from leafspan.errors import StorageFailed, StorageReadOnly, WriterBusy

_RECORDS = "leafspan.vectors"


class ReadOnlyFiles:
    """Chroma's files in a folder that cannot be written, such as one on a read-only mount.

    Chroma writes to its database even to open it. So it opens a copy of it, in a temporary folder, with links to the vector
    files. Damaged vector files are left out.
    """

    def __init__(self, path: Path, changes: ChangeFile, *, asked: bool = False) -> None:
        self.path = path
        self.lost = LostVectors(path / _RECORDS)
        self._changes = changes
        self._asked = asked
        self._database: DatabaseFile | None = None

    def is_as_left(self) -> bool:
        """See Files."""
        if not check_there(self.path):
            return False
        self._database = DatabaseFile(self.path)
        self._database.check()
        return self._changes.tells_all_of(self._database.changes)

    @property
    def is_replaced(self) -> bool:
        """Whether the database is no longer the one that was opened."""
        return self._database is not None and not self._database.is_at_its_path

    changes_of_others = None
    """See Files. Chroma has opened a copy, which nobody changes."""

    @contextmanager
    def locked(self, deadline: float, *, opening: bool = False) -> Iterator[None]:
        """A context in which no other process uses the files.

        Raises:
            WriterBusy: if another process does not let go of the files in time.
            StorageFailed: if the lock cannot be read.
        """
        lock = FileLock(self.path / "leafspan.files", read_only=True)
        if not lock.acquire(deadline):
            raise WriterBusy(
                f"the files of {str(self.path)!r} are in use by another process{lock.holder()}, which has not let go of "
                "them within the timeout"
            )
        try:
            yield
        finally:
            lock.release()

    def explain(self, error: BaseException, doing: str) -> StorageFailed | None:
        """What to raise from a failure of Chroma that a full disk explains; None for other failures."""
        return chroma_disk_error(error, doing, Path(tempfile.gettempdir()), 0)

    def check_writable(self) -> None:
        """See LockableFiles.

        Raises:
            StorageReadOnly: always.
        """
        if self._asked:
            raise StorageReadOnly(f"{str(self.path)!r} was opened to be read only: open it without read_only=True to write")
        raise StorageReadOnly(
            f"the index in {str(self.path)!r} cannot be written: the folder, or a file in it, is read-only for this process"
        )

    def place(self) -> Place:
        """A temporary folder in which Chroma can open the files. Call it while they are locked.

        Raises:
            DamagedIndex: if they are damaged, or the database is older than what lies beside it.
            StorageFailed: if they cannot be read or copied.
        """
        if not check_there(self.path):
            self.check_writable()
        database = self._database = DatabaseFile(self.path)
        database.check()
        database.check_not_older(self._changes.database)
        copy: TemporaryFolder | None = None
        try:
            copy = TemporaryFolder("leafspan-read-only-")
            place = copy.path
            for name in (DATABASE, f"{DATABASE}-journal"):
                if (self.path / name).exists():
                    shutil.copyfile(self.path / name, place / name)
            stored = stored_vectors(place) or {}
            names = {each.name for each in self.path.iterdir() if is_vector_folder(each)}
            for name in sorted(names | {name for name, each in stored.items() if each.own and each.last is not None}):
                self._link(VectorFiles(self.path / name, self.path / _RECORDS), place, stored.get(name))
            self.lost = self._lost_in(place)
        except BaseException as error:
            if copy is not None:
                copy.remove()
            if isinstance(error, OSError) and not isinstance(error, StorageFailed):
                where = tempfile.gettempdir() if copy is None else str(copy.path)
                raise disk_error(error, f"copy the database of {str(self.path)!r} to {where!r}") from error
            raise
        return Place(place, copy)

    def _link(self, files: VectorFiles, place: Path, stored: StoredVectors | None) -> None:
        """Link to vector files, unless they are damaged."""
        name = files.place.name
        recorded = files.recorded()
        if files.ids_stamp is None and recorded is None:
            source = None
        elif recorded is None:
            source = files.place if files.looks_complete() else None
        elif files.damaged(recorded):
            source = None
        else:
            source = files.place
        if recorded is not None and stored is not None and files.is_before(stored.last):
            source = None
        if source is not None:
            (place / name).mkdir()
            for each in (*VECTORS, IDS):
                os.symlink((source / each).resolve(), place / name / each)
        elif stored is not None and stored.collection.endswith(".leaves") and count_missing(place, name, ()):
            LostVectors(place / _RECORDS).note(name, stored.collection, None)

    def _lost_in(self, place: Path) -> LostVectors:
        """The notes of what is lost, here and in the folder itself."""
        for note in (self.path / _RECORDS).glob("*.lost"):
            (place / _RECORDS).mkdir(exist_ok=True)
            shutil.copyfile(note, place / _RECORDS / note.name)
        return LostVectors(place / _RECORDS)
