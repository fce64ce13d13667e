"""A mirror that follows an index: what it lacks is made and kept in files, and small files become large ones."""

from __future__ import annotations

import math
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leafspan.engine import Call, Flow
from leafspan.mirror.mirrored import Mirrored
from leafspan.mirror.segment import UNFINISHED, Damaged, Segment, read_segment, write_segment
from leafspan.progress import Progress
from leafspan.store import Reader, Row
from leafspan.store.waiting import waiting
from leafspan.values import leaf_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror.mirrored import Part

_GROUP = 20_000  # leaves read and made into a segment at a time
_MOST_SEGMENTS = 4
_WORTH_SHOWING = 5_000  # leaves to be made, from which on a bar is shown
_SUFFIX = ".segment"


class Recipe(Protocol):
    """How a mirror's arrays are made; files of another name are of no use to it."""

    @property
    def name(self) -> str:
        """What its files' names begin with."""
        ...

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """The arrays of these documents' leaves, whose ids are given in order."""
        ...

    def merge(self, parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
        """One for several: the leaves that the masks mark, in order."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    segment: Segment
    path: Path | None


class Mirror:
    """Segments in a folder, or in memory where there is none; ``current`` brings them up to what a reader sees.

    Segments never change. Whether a document in one counts is decided by the catalogue alone, so there is no list of files
    that could be wrong: any process may add a segment, or put one in the place of several, at any time, without a lock.
    What is lost or damaged is made again.
    """

    def __init__(self, folder: Path | None, recipe: Recipe) -> None:
        self._folder = folder
        self._recipe = recipe
        self._held: list[_Held] | None = None
        self._mirrored: Mirrored | None = None
        self._mutex = threading.Lock()

    def current(self, reader: Reader) -> Flow[Mirrored]:
        """What the index holds now, whatever the reader's scope.

        Raises:
            Gone: if a document is replaced meanwhile.
        """
        catalogue = yield from reader.everything()
        if (mirrored := self._mirrored) is not None and mirrored.catalogue is catalogue:
            return mirrored
        yield from waiting(lambda: self._mutex.acquire(blocking=False), math.inf, "the mirror")
        try:
            held = self._held if self._held is not None else (yield Call(self._load, ([],)))
            mirrored = Mirrored(catalogue, [each.segment for each in held])
            missing = mirrored.missing()
            if missing and self._held is not None and self._folder is not None:
                held = yield Call(self._load, (held,))  # another process may have made it
                mirrored = Mirrored(catalogue, [each.segment for each in held])
                missing = mirrored.missing()
            self._held = held
            if missing:
                yield from self._make(reader.unscoped(), missing, held)
                mirrored = Mirrored(catalogue, [each.segment for each in held])
            if _worth_merging(mirrored):
                self._held = held = yield Call(self._merge, (mirrored, held))
                mirrored = Mirrored(catalogue, [each.segment for each in held])
            self._mirrored = mirrored
            return mirrored
        finally:
            self._mutex.release()

    def _make(self, reader: Reader, missing: Sequence[Row], held: list[_Held]) -> Flow[None]:
        leaves = sum(row.leaves for row in missing)
        progress = Progress(
            leaves, show=None if leaves >= _WORTH_SHOWING else False, what=self._recipe.name, unit=" leaves"
        )
        try:
            for rows in _groups(missing):
                ids = [leaf_id(row.document_id, row.version or "", n) for row in rows for n in range(row.leaves)]
                arrays = yield from self._recipe.read(reader, rows, ids)
                segment = Segment(tuple((row.document_id, row.version or "", row.leaves) for row in rows), arrays)
                held.append((yield Call(self._keep, (segment,), finish=True)))
                progress.advance(len(ids))
        finally:
            progress.close()

    def _load(self, held: Sequence[_Held]) -> list[_Held]:
        """All segments that lie in the folder; of those that are held, only the ones that lie nowhere else are kept."""
        if self._folder is None or not self._folder.is_dir():
            return list(held)
        known = {each.path: each for each in held}
        found = [each for each in held if each.path is None]
        for path in sorted(self._folder.glob(f"{self._recipe.name}-*{_SUFFIX}")):
            if path in known:
                found.append(known[path])
                continue
            try:
                found.append(_Held(read_segment(path), path))
            except FileNotFoundError:
                continue  # another process has just put one in the place of several
            except Damaged as error:
                warnings.warn(f"{error}; it is made anew", RuntimeWarning, stacklevel=2)
                path.unlink(missing_ok=True)
        return found

    def _keep(self, segment: Segment) -> _Held:
        """Write the segment to a file, and hold what lies there: arrays in files take no memory of ours."""
        if self._folder is None:
            return _Held(segment, None)
        path = self._folder / f"{self._recipe.name}-{uuid.uuid4().hex}{_SUFFIX}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_segment(path, segment)
            return _Held(read_segment(path), path)
        except (OSError, Damaged) as error:
            warnings.warn(f"{path} cannot be kept ({error}), and is made again each time", RuntimeWarning, stacklevel=2)
            return _Held(segment, None)

    def _merge(self, mirrored: Mirrored, held: Sequence[_Held]) -> list[_Held]:
        """One segment in the place of all small ones, or of all where all are large or half of it is dead."""
        sizes = [sum(leaves for _, _, leaves in each.segment.documents) for each in held]
        limit = sum(sizes) / _MOST_SEGMENTS
        small = [place for place, size in enumerate(sizes) if size < limit]
        if len(held) - len(small) >= _MOST_SEGMENTS or mirrored.live * 2 < mirrored.leaves:
            small = list(range(len(held)))
        documents = []
        for place in small:
            documents += mirrored.counted(place)
        arrays = self._recipe.merge([mirrored.parts[place] for place in small])
        merged = self._keep(Segment(tuple(documents), arrays))
        if merged.path is not None:
            for place in small:
                if (path := held[place].path) is not None:
                    path.unlink(missing_ok=True)
            self._sweep()
        return [*(each for place, each in enumerate(held) if place not in set(small)), merged]

    def _sweep(self) -> None:
        """Remove what a killed writer has left behind."""
        assert self._folder is not None
        for path in self._folder.glob(f"*{UNFINISHED}"):
            path.unlink(missing_ok=True)


def _worth_merging(mirrored: Mirrored) -> bool:
    return len(mirrored.parts) > _MOST_SEGMENTS or (mirrored.live * 2 < mirrored.leaves)


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The documents in groups of about so many leaves."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += row.leaves
        if size >= _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group
