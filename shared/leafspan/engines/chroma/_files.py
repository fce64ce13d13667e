"""Chroma's files in a folder: used by one process at a time, and checked before Chroma opens them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.engines.chroma._database import (
    DATABASE,
    DatabaseFile,
    StoredVectors,
    check_there,
    entries,
    is_vector_folder,
    refused_records,
    stored_vectors,
)
from leafspan.engines.chroma._failures import is_refused
from leafspan.engines.chroma._vector_files import IDS, VECTORS, Note, VectorFiles
from leafspan.engines.local._change_file import ChangeFile
from leafspan.engines.local._disk import chroma_disk_error, disk_error
from leafspan.engines.local._file_lock import FileLock, deadline_after
from leafspan.errors import StorageFailed, WriterBusy

_NOTES = "leafspan.vectors"
_OWN = ("leafspan.lock", "leafspan.files", "leafspan.changes", _NOTES, "leafspan.segments")


class FileDamage(NamedTuple):
    """Vector files that do not match their notes, and logged writes that Chroma cannot carry out."""

    in_use: Mapping[str, str]  # names of damaged files, by Chroma's folder
    refused: Mapping[str, int]  # number of refused writes, by collection


class Files:
    """A lock on Chroma's files that all processes share, and checks of these files.

    Every few thousand records, Chroma overwrites its vector files in place and then removes the records from its log. A
    process that loads the files meanwhile crashes or fails. So does a process that loads torn or damaged files: Chroma
    does not check them. So leafspan notes their checksums after each use that changed them, and compares them before
    Chroma opens them. Files that differ are still whole if they look complete and a process was killed while it used
    them, or a program without leafspan has written. Else leafspan deletes them, and notes that the next writer has to
    write all vectors again, from the segments. Queries in a folder do not read these files.
    """

    def __init__(self, path: Path, changes: ChangeFile) -> None:
        self.path = path
        self._changes = changes
        self._database: DatabaseFile | None = None
        self._compared: dict[str, Any] = {}  # vector files that this process has compared with their notes
        self._stored: dict[str, StoredVectors] | None = None

    def only_leafspan_wrote(self) -> bool:
        """Whether only leafspan has changed the database since it last noted the count of changes."""
        self._look_at_database()
        if self._database is not None:
            self._database.check_not_older(self._changes.database)
        count = None if self._database is None else self._database.changes
        return count is not None and count == self._noted

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
        """A context in which no other process uses the files. Other processes use them for one call of Chroma at a time."""
        lock = FileLock(self.path / "leafspan.files")
        if not lock.acquire(deadline):
            raise WriterBusy(
                f"the files of {str(self.path)!r} are in use by another process{lock.holder()}, which does not release "
                "them in time: see whether it was stopped or hangs, or open the index with a longer timeout"
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
        """Compare all vector files with their notes, even if Chroma has them open already."""
        damaged: dict[str, str] = {}
        with self.locked(deadline, opening=not in_use):
            refused = refused_records(self.path, drop=repair)
            for files in self._vector_files():
                note = files.note
                if note is not None and note.files is not None and (names := files.damaged(note.files)):
                    damaged[files.place.name] = ", ".join(names)
        for name in damaged:
            self._compared.pop(name, None)  # compare again before Chroma opens them
        return FileDamage(damaged, refused)

    def explain(self, error: BaseException, doing: str) -> StorageFailed | None:
        """Return the error to raise if a full or read-only disk explains Chroma's failure, or None for other failures."""
        sizes = [sum(each[1] for each in files.stamp if each) for files in self._vector_files()]
        return chroma_disk_error(error, doing, self.path, max(sizes, default=0))

    @property
    def to_rebuild(self) -> Mapping[str, int | None]:
        """The collections without some of their vectors.

        The number of vectors that have to be embedded again, or None before the next writer has copied the others.
        """
        notes = [each.note for each in self._vector_files()]
        return {note.collection: note.lacking for note in notes if note is not None and note.files is None}

    def rebuilt(self, collection: str, deadline: float, lacking: int = 0) -> None:
        """Note that all vectors of a collection were written again, or all but some."""
        with self.locked(deadline):
            for files in self._vector_files():
                if (note := files.note) is not None and note.collection == collection and note.files is None:
                    if lacking:
                        files.note = note._replace(lacking=lacking)
                    else:
                        self._record(files)

    def _prepare(self, opening: bool) -> None:
        touched = self._changes.touching
        if opening:
            self._look_at_database()
            if self._database is not None and self._stored is None:
                self._stored = stored_vectors(self.path)
            if touched and self._database is not None:
                refused_records(self.path, drop=True)  # left by a process that was killed before Chroma could report them
        noted = self._changes.database
        count = self._database.changes if self._database else None
        if self._database is not None:
            self._database.check_not_older(noted)
        written_by_others = noted is None or noted != count
        for files in self._vector_files():
            note = files.note
            is_compared = files.stamp == self._compared.get(files.place.name)
            if touched or not files.is_as_noted(note) or (opening and not is_compared):
                self._settle(files, note, unsure=touched or written_by_others, silent=touched)

    def _settle(self, files: VectorFiles, note: Note | None, *, unsure: bool, silent: bool) -> None:
        """Make sure that vector files are whole, or delete them and note that they must be rebuilt."""
        name = files.place.name
        is_there = files.ids is not None
        if not is_there and note is not None:
            self._stored = stored_vectors(self.path) or self._stored  # the collection may be gone
        stored = (self._stored or {}).get(name)
        if self._stored is not None and stored is None:
            files.note = None
            return
        if not is_there and (note.files is None if note else stored is None or stored.last is None):
            return  # Chroma starts new files
        damaged: list[str] = []
        if note is not None and note.files is not None:
            damaged = files.damaged(note.files)
            is_older = stored is not None and note.last is not None and note.last < (stored.last or 0)
            if not damaged and not is_older:
                if note.ids != files.ids:
                    files.note = note._replace(ids=files.ids)
                self._compared[name] = files.stamp
                return
            if not damaged:
                damaged, unsure = ["older than the database"], False
        if (unsure or not damaged) and files.look_complete():
            if note is None or note.files is not None:
                self._record(files)
            return
        self._give_up(files, note, stored, "" if silent else ", ".join(damaged) or "files missing")

    def _give_up(self, files: VectorFiles, note: Note | None, stored: StoredVectors | None, problem: str) -> None:
        """Delete vector files, and mark a collection of leaves for rebuilding. Vectors of other collections have no use."""
        if note is None and stored is None:
            raise StorageFailed(
                f"cannot tell whether Chroma's vectors {files.place.name!r} in {str(self.path)!r} are whole, since another "
                "program holds the database: try again when that program has ended"
            )
        collection = stored.collection if stored else note.collection if note else ""
        last = stored.last if stored else None
        files.note = Note(collection) if collection.endswith(".leaves") else Note(collection, {}, None, last)
        files.remove()
        if problem:
            warnings.warn(
                f"Chroma's vectors of {collection!r} in {str(self.path)!r} were damaged ({problem}): leafspan deleted "
                "them, and the next writer writes them again",
                RuntimeWarning,
                stacklevel=2,
            )

    def _record(self, files: VectorFiles) -> None:
        name = files.place.name
        now = stored_vectors(self.path)  # None while the database is busy
        self._stored = now or self._stored
        if (stored := (self._stored or {}).get(name)) is not None and stored.own:
            files.note = Note(stored.collection, files.checksums(), files.ids, stored.last if now else None)
            self._compared[name] = files.stamp

    def _look_at_database(self) -> None:
        """Check the database, as far as that is possible without SQLite."""
        if self.path.is_dir():
            self._check_links()
        if not check_there(self.path):
            return
        if self._database is None or not self._database.is_at_its_path:
            self._database = DatabaseFile(self.path)
        self._database.check()

    def _check_links(self) -> None:
        """Refuse links where leafspan writes: somebody who can put a link there could have other files overwritten."""
        vectors = [each for each in entries(self.path) if is_vector_folder(each)]
        inside = [each / name for each in vectors for name in (*VECTORS, IDS)]
        for path in (*(self.path / name for name in (DATABASE, *_OWN)), *vectors, *inside):
            if path.is_symlink():
                raise StorageFailed(
                    f"{str(path)!r} is a link; leafspan does not write through links inside an index: replace it with its "
                    "target (the folder of the index itself may be a link)"
                )

    def _finish(self) -> None:
        """Note the changes of this use, and mark the files as whole."""
        if self._database is None and (self.path / DATABASE).exists():
            self._database = DatabaseFile(self.path)
        for files in self._vector_files():
            if not files.is_as_noted(files.note):
                try:
                    self._record(files)
                except OSError:
                    files.note = None  # the written files are whole: the next use notes them, or says why that fails
        if self._database is not None and (count := self._database.changes) is not None:
            self._changes.database = count
        self._changes.touching = False

    def _vector_files(self) -> list[VectorFiles]:
        """Return the vector files that belong, or may belong, to an index."""
        notes = self.path / _NOTES
        folders = [folder for folder in (self.path, notes) if folder.is_dir()]
        paths = {each.with_suffix("") for folder in folders for each in entries(folder)}
        names = {each.name for each in paths if is_vector_folder(each)}
        names |= {name for name, each in (self._stored or {}).items() if each.last is not None}
        foreign = {name for name, each in (self._stored or {}).items() if not each.own}
        return [VectorFiles(self.path / name, notes) for name in sorted(names - foreign)]


class Use:
    """Writing calls of one open client.

    After a failure, a later call of the same client can hang for ever. So leafspan replaces the client.
    """

    def __init__(self, files: Files, failed: threading.Event, timeout: float) -> None:
        self._files = files
        self._failed = failed
        self._timeout = timeout

    def call(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
        if self._failed.is_set():
            raise StorageFailed(
                f"an earlier write to {str(self._files.path)!r} failed: leafspan checks the files before the next write: "
                "try again"
            )
        with self._files.locked(deadline_after(self._timeout)):
            try:
                return function(*arguments, **options)
            except BaseException as error:
                self._failed.set()
                if explained := self._files.explain(error, "write"):
                    raise explained from error
                raise
