"""The files of a mirror: read with whatever has become of them, written if that can be done."""

from __future__ import annotations

import os
import time
import uuid
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from leafspan.mirror._segment import UNFINISHED, Damaged, Segment, read_segment, write_segment
from leafspan.mirror._snapshot import OpenSegment

_SUFFIX = ".segment"
_ATTEMPTS = 5
_ABANDONED_SECONDS = 600.0  # an unfinished file that has not grown for so long is a killed writer's


class SegmentFolder:
    """Segments in a folder that other processes use at the same time; in memory where there is no folder, or it is full.

    Nothing here raises because of a file: what cannot be read or written is told by a RuntimeWarning, and made again.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = folder
        self.is_robbed = False  # there is a folder, but nothing in it
        self._useless: set[Path] = set()  # what lies there and is not wanted, but cannot be removed
        self._lost: set[Path] = set()

    def __str__(self) -> str:
        return repr(str(self.path))

    def read(self, held: Sequence[OpenSegment]) -> list[OpenSegment]:
        """All segments that lie in the folder and those that are held; only files that are not held are read.

        Large ones are first, so that those which one was made of count no more. Last are those whose files have gone: put
        in the place of by another process, or lost.
        """
        if self.path is None:
            return list(held)
        if not held and self._sweep():
            self._close()
        self.is_robbed = self._is_empty()
        known = {each.path: each for each in held if each.path is not None}
        found: dict[Path, OpenSegment] = {}
        for _ in range(_ATTEMPTS):
            paths = [path for path in self._paths() if path not in self._useless]
            found = {path: known[path] for path in paths if path in known}
            vanished = False
            for path in paths:
                if path not in known:
                    try:
                        known[path] = found[path] = OpenSegment(read_segment(path), path)
                    except FileNotFoundError:
                        vanished = True  # another process has just put one in the place of several: look again
                    except (OSError, Damaged) as error:
                        warnings.warn(f"{error}; it is made anew", RuntimeWarning, stacklevel=2)
                        self._unlink(path)
            if not vanished:
                break
        in_order = sorted(found.items(), key=lambda item: (-item[1].leaves, item[0].name))
        gone = [each for each in held if each.path is not None and each.path not in found]
        return [each for each in held if each.path is None] + [each for _, each in in_order] + gone

    def lost(self, held: Sequence[OpenSegment]) -> list[OpenSegment]:
        """Those of what was just read whose files have gone, and not because another process has merged them.

        A process that merges leaves its own file in their place, and what it has left out will not count any more when
        the catalogue is read again: so while there are other files they are given the benefit of the doubt once.
        """
        gone = [each for each in held if each.path is not None and not os.path.exists(each.path)]
        lost = [each for each in gone if self.is_robbed or not self._exists or each.path in self._lost]
        self._lost = {each.path for each in gone if each.path is not None}
        return lost

    @property
    def _exists(self) -> bool:
        """Whether there is a folder."""
        return self.path is not None and os.path.isdir(self.path)

    def keep(self, segment: Segment) -> OpenSegment:
        """Write the segment to a file, and hold what lies there: arrays in files take no memory of ours."""
        if self.path is None:
            return OpenSegment(segment, None)
        path = self.path / f"{uuid.uuid4().hex}{_SUFFIX}"
        try:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                write_segment(path, segment)
            except FileNotFoundError:  # another process has just removed the empty folder
                self.path.mkdir(parents=True, exist_ok=True)
                write_segment(path, segment)
            return OpenSegment(read_segment(path), path)
        except (OSError, Damaged) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            warnings.warn(
                f"nothing can be kept in {self} ({reason}), and is made again by each process", RuntimeWarning, stacklevel=2
            )
            return OpenSegment(segment, None)

    def remove(self, held: Iterable[OpenSegment]) -> None:
        """Remove files that are not needed any more."""
        paths = [each.path for each in held if each.path is not None]
        for path in paths:
            self._unlink(path)
        if self.path is not None and paths:
            self._sweep()
            self._close()

    def _paths(self) -> list[Path]:
        assert self.path is not None
        try:
            return [path for path in self.path.iterdir() if path.name.endswith(_SUFFIX)]
        except OSError:
            return []

    def _unlink(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            self._useless.add(path)

    def _is_empty(self) -> bool:
        assert self.path is not None
        try:
            return not any(self.path.iterdir())
        except OSError:
            return False

    def _sweep(self) -> bool:
        """Remove what killed writers have left behind; what a living one is writing grows. Whether there was any."""
        assert self.path is not None
        before = time.time() - _ABANDONED_SECONDS
        swept = False
        with suppress(OSError):
            for path in self.path.iterdir():
                with suppress(OSError):
                    if path.name.endswith(UNFINISHED) and path.stat().st_mtime < before:
                        path.unlink()
                        swept = True
        return swept

    def _close(self) -> None:
        """Remove the folder if nothing is in it: so an empty one has been robbed."""
        assert self.path is not None
        with suppress(OSError):
            self.path.rmdir()
