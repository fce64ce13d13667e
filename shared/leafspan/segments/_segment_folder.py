"""The folder of the segments' files. Files may be lost or damaged at any time, and writing may fail."""

from __future__ import annotations

import errno
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from leafspan.engines.local import NO_FOLLOW, check_not_too_many, open_file
from leafspan.flows import np
from leafspan.segments._segment import (
    HEAD_LENGTH,
    UNFINISHED,
    Damaged,
    Segment,
    new_file,
    read_segment,
    write_segment,
    written_lengths,
)
from leafspan.segments._snapshot import OpenSegment
from leafspan.segments._stored_arrays import PIECE, StoredArrays, StoredFile

_SUFFIX = ".segment"
_MIRRORS = "leafspan.segments"  # the folder of all segments in an index's folder
_ATTEMPTS = 5
_LOOKS = (0.0, 0.01, 0.05, 0.2)  # seconds to wait before each check of a folder that seems to have lost its files
_ABANDONED_SECONDS = 600.0  # an unfinished file that has not grown for this long belongs to a killed writer


class SegmentFolder:
    """Segments in a folder that other processes use at the same time.

    A file that cannot be read or written causes a RuntimeWarning, never an error. A segment that cannot be written is kept
    in memory.
    """

    def __init__(self, folder: Path | None, *, read_only: bool = False) -> None:
        self.path = folder
        self.read_only = read_only
        self.is_fetched = False  # whether pieces of files may be missing
        self.ignored: set[Path] = set()  # files that are no longer needed, but cannot be removed
        self._missing: set[Path] = set()  # files that were missing at the last ``lost``

    def __str__(self) -> str:
        return repr(str(self.path))

    def read(self, earlier: Sequence[OpenSegment]) -> list[OpenSegment]:
        """These segments and all others in the folder, as ``in_order``. Only files of the others are read.

        Segments whose file is gone come last: another process has merged them, or the file is lost.
        """
        if self.path is None:
            return list(earlier)
        if not earlier and self._remove_abandoned():
            self._remove_if_empty()
        by_path = self._read_files({each.path: each for each in earlier if each.path is not None})
        return in_order(by_path.values()) + in_order(each for each in earlier if each.path not in by_path)

    def _read_files(self, earlier: dict[Path, OpenSegment]) -> dict[Path, OpenSegment]:
        """The segments of all files in the folder, by path. Newly read ones are added to ``earlier``."""
        by_path: dict[Path, OpenSegment] = {}
        for _ in range(_ATTEMPTS):
            paths = self._paths()
            by_path = {path: earlier[path] for path in paths if path in earlier}
            vanished = False
            for path in paths:
                if path not in earlier:
                    try:
                        earlier[path] = by_path[path] = self._opened(path)
                    except FileNotFoundError:
                        vanished = True  # another process has just merged it: list the files again
                    except (OSError, Damaged) as error:
                        check_not_too_many(error, f"read {str(path)!r}")
                        warnings.warn(f"{error}; leafspan rebuilds it", RuntimeWarning, stacklevel=3)
                        self._unlink(path)
                        self._remove_if_empty()
            if not vanished:
                break
        return by_path

    def inspect(self) -> tuple[list[OpenSegment], dict[Path, str]]:
        """Read the segments of all files, and describe the damage of damaged ones. This makes no changes."""
        segments: list[OpenSegment] = []
        damaged: dict[Path, str] = {}
        for path in sorted(self._paths()):
            try:
                segments.append(OpenSegment(read_segment(path, whole=True), path))
            except FileNotFoundError:
                continue  # another process has just merged it
            except (OSError, Damaged) as error:
                check_not_too_many(error, f"read {str(path)!r}")
                damaged[path] = str(error)
        return segments, damaged

    def lost(self, segments: Sequence[OpenSegment]) -> list[OpenSegment]:
        """The segments whose files are lost, not merged by another process.

        After a merge, the folder has the merged file, and the catalogue will say that the documents it left out are not
        current. So a file is lost only if it is missing for the second time, or if the whole folder is empty or missing.
        """
        missing = [each for each in segments if each.path is not None and not os.path.isfile(each.path)]
        all_lost = bool(missing) and (self.is_emptied() or self.path is None or not os.path.isdir(self.path))
        lost = [each for each in missing if all_lost or each.path in self._missing]
        self._missing = {each.path for each in missing if each.path is not None}
        return lost

    def is_emptied(self) -> bool:
        """Whether somebody has deleted all files: the folder exists and stays empty.

        A process that makes or removes the folder leaves it empty for a moment, so the folder is checked several times.
        """
        for seconds in _LOOKS:
            time.sleep(seconds)
            if not self._is_empty():
                return False
        return True

    def keep(self, segment: Segment) -> OpenSegment:
        """Write a segment to a new file and map it, since mapped arrays take no memory of the process."""
        if self.path is not None and not self.read_only:
            path = self.file(uuid.uuid4().hex)
            try:
                if (kept := self._made(path, partial(write_segment, path, segment))) is not None:
                    return kept
            except Damaged as error:
                self._warn_that_nothing_is_kept(error)
        in_memory = {name: np.asarray(array) for name, array in segment.arrays.items()}
        return OpenSegment(Segment(segment.documents, in_memory), None)

    def begin(self, name: str, length: int, pieces: Mapping[int, bytes]) -> OpenSegment | None:
        """Make a file of a segment's length, and write the fetched pieces. Return None if that fails."""
        path = self.file(name)
        begin = pieces.get(0, b"")
        if len(begin) < HEAD_LENGTH or written_lengths(begin)[1] != length:  # before it takes the disk's space
            raise Damaged(f"{path}: its length is not {length} bytes")

        def write() -> None:
            with new_file(path) as file:
                _take_space(file.fileno(), length)
                _fill(file.fileno(), pieces)

        try:
            return self._made(path, write)
        except Damaged:
            self._unlink(path)
            raise

    def _made(self, path: Path, write: Callable[[], None]) -> OpenSegment | None:
        """Write a file, and open it. If that fails, warn and return None."""
        try:
            try:
                self._make_folder()
                write()
            except FileNotFoundError:  # another process has just removed the empty folder
                self._make_folder()
                write()
            return self._opened(path)
        except OSError as error:
            self._warn_that_nothing_is_kept(error.strerror)
            return None

    def _warn_that_nothing_is_kept(self, reason: object) -> None:
        self._remove_if_empty()
        warnings.warn(
            f"nothing can be kept in {self} ({reason}), and is made again by each process", RuntimeWarning, stacklevel=2
        )

    def file(self, name: str) -> Path:
        assert self.path is not None
        return self.path / f"{name}{_SUFFIX}"

    def fill(self, file: StoredFile, pieces: Mapping[int, bytes]) -> bool:
        """Write fetched pieces to a file. Return False if the file is gone or cannot be written."""
        try:
            descriptor = open_file(file.what, os.O_RDWR | NO_FOLLOW)
        except OSError as error:
            check_not_too_many(error, f"write {file.what!r}")
            return False
        try:
            _fill(descriptor, pieces)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        file.fetched.update(pieces)
        return True

    def _opened(self, path: Path) -> OpenSegment:
        segment = OpenSegment(read_segment(path), path)
        if self.is_fetched and isinstance(segment.arrays, StoredArrays):
            segment.arrays.file.is_fetched = True
        return segment

    def _make_folder(self) -> None:
        """Make the folder so that only this user can read it."""
        assert self.path is not None
        if (link := self._link()) is not None:
            raise OSError(errno.ELOOP, f"{str(link)!r} is a link, which is not followed")
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _link(self) -> Path | None:
        """A link on the way to the folder, or None. The folder of an index or of a cache may itself be a link."""
        assert self.path is not None
        index, mirrors = self.path.parent, self.path.parent.parent
        below = (self.path, index, *([mirrors] if mirrors.name == _MIRRORS else []))
        return next((each for each in below if each.is_symlink()), None)

    def remove(self, segments: Iterable[OpenSegment]) -> None:
        """Remove the files of segments that are no longer needed."""
        self.remove_files(each.path for each in segments if each.path is not None)

    def remove_files(self, paths: Iterable[Path]) -> None:
        if paths := list(paths):
            self._remove_abandoned()
            for path in paths:
                self._unlink(path)
            self._remove_if_empty()  # at once: another process that finds it empty believes that files were lost

    def _paths(self) -> list[Path]:
        if self.path is None or self._link() is not None:
            return []
        try:
            return [path for path in self.path.iterdir() if path.name.endswith(_SUFFIX) and path not in self.ignored]
        except OSError as error:
            check_not_too_many(error, f"look into {self}")
            return []

    def _unlink(self, path: Path) -> None:
        if self.read_only:
            self.ignored.add(path)
            return
        try:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        except OSError:
            self.ignored.add(path)

    def _is_empty(self) -> bool:
        try:
            return self.path is not None and not any(self.path.iterdir())
        except OSError as error:
            check_not_too_many(error, f"look into {self}")
            return False

    def _remove_abandoned(self) -> bool:
        """Remove killed writers' unfinished files, which no longer grow. Return whether there were any."""
        assert self.path is not None
        if self.read_only or self._link() is not None:
            return False
        before = time.time() - _ABANDONED_SECONDS
        removed = False
        with suppress(OSError):
            for path in self.path.iterdir():
                with suppress(OSError):
                    if path.name.endswith(UNFINISHED) and path.stat().st_mtime < before:
                        path.unlink()
                        removed = True
        return removed

    def _remove_if_empty(self) -> None:
        """Remove the folder if it is empty. So an empty folder means that somebody else has deleted the files."""
        assert self.path is not None
        with suppress(OSError):
            if not self.read_only:
                self.path.rmdir()


def _take_space(descriptor: int, length: int) -> None:
    """Give a file its length, and the disk's space for it: a full tmpfs ends a process that maps a file with holes."""
    try:
        os.posix_fallocate(descriptor, 0, length)
    except AttributeError:  # macOS and Windows, which have no tmpfs
        os.ftruncate(descriptor, length)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # file systems that cannot take space beforehand
            raise
        os.ftruncate(descriptor, length)


def _fill(descriptor: int, pieces: Mapping[int, bytes]) -> None:
    for number, content in pieces.items():
        if os.pwrite(descriptor, content, number * PIECE) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def in_order(segments: Iterable[OpenSegment]) -> list[OpenSegment]:
    """Sort segments. If several segments have a current document, the first of them is used for it.

    Large segments come first, so that a merged segment precedes its parts. All processes sort files in the same way:
    otherwise two processes could each remove the segment that the other one uses. Segments in memory come last, since other
    processes do not have them.
    """
    return sorted(segments, key=lambda each: (each.path is None, -each.leaves, each.path.name if each.path else ""))
