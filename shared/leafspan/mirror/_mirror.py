"""A mirror that follows an index: what it lacks is made and kept in files, and small files become large ones."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leafspan.engine import Call, Flow, Progress
from leafspan.mirror._segment import Segment
from leafspan.mirror._segment_folder import SegmentFolder
from leafspan.mirror._snapshot import MirrorSnapshot, OpenSegment
from leafspan.store import Catalogue, Reader, Row, StaleRead, grouped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror._snapshot import MaskedArrays

_GROUP = 20_000  # leaves read and made into a segment at a time
_MOST_SEGMENTS = 8
_FACTOR = 2  # so many times as large as the smaller ones together a segment may be that is merged with them
_PATIENCE = 4  # changes, after which segments are merged and removed in any case
_MOST_SPLITS = 20  # of groups some of whose documents have gone
_WORTH_SHOWING = 5_000  # leaves to be made, from which on a bar is shown
_POLL_SECONDS = 0.005


class Recipe(Protocol):
    """How a mirror's arrays are made."""

    @property
    def name(self) -> str:
        """The name of the folder of its files; those made otherwise have another."""
        ...

    @property
    def task(self) -> str:
        """What a bar says is being done."""
        ...

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """The arrays of these documents' leaves, whose ids are given in order."""
        ...

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        """One for several: the leaves that the masks mark, in order."""
        ...


class Mirror:
    """Segments in a folder, or in memory where there is none; ``current`` brings them up to what a reader sees.

    Segments never change. Whether a document in one counts is decided by the catalogue alone, so there is no list of files
    that could be wrong: any process may add a segment, or put one in the place of several, at any time, without a lock.
    What is lost or damaged is made again.
    """

    def __init__(self, folder: Path | None, recipe: Recipe) -> None:
        self._folder = SegmentFolder(None if folder is None else folder / recipe.name)
        self._recipe = recipe
        self._segments: list[OpenSegment] | None = None
        self._snapshot: MirrorSnapshot | None = None
        self._untidied = 0  # changes since segments were merged and removed
        self._mutex = threading.Lock()

    def current(self, reader: Reader) -> Flow[MirrorSnapshot]:
        """What the index holds now, whatever the reader's scope.

        Raises:
            StaleRead: if a document is replaced meanwhile.
        """
        catalogue = yield from reader.everything()
        if (known := self._snapshot) is not None and known.catalogue is catalogue:
            return known
        # The lock is taken between two calls: a task that is cancelled has either none of it or all.
        while not self._mutex.acquire(blocking=False):
            yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)
        try:
            if (known := self._snapshot) is not None and known.catalogue is catalogue:
                return known  # another has made it meanwhile
            snapshot, missing = yield Call(self._look, (catalogue,), finish=True)
            if missing:
                yield from self._make(reader.unscoped(), missing)
                snapshot = yield Call(self._snapshot_of, (catalogue,))
            # A stale reader would take newer segments for dead ones. But whether it is stale cannot always be told, and
            # merging cannot wait for ever.
            self._untidied += 1
            if not reader.overtaken or self._untidied > _PATIENCE:
                snapshot = yield Call(self._tidy, (snapshot,), finish=True)
                self._untidied = 0
            self._snapshot = snapshot
            return snapshot  # type: ignore[no-any-return]
        finally:
            self._mutex.release()

    def _snapshot_of(self, catalogue: Catalogue) -> MirrorSnapshot:
        assert self._segments is not None
        return MirrorSnapshot(catalogue, self._segments)

    def _look(self, catalogue: Catalogue) -> tuple[MirrorSnapshot, list[Row]]:
        """What there is of these documents, open or in files of other processes, and the rows of those that are missing."""
        if self._segments is None:
            return self._first_look(catalogue)
        snapshot = self._snapshot_of(catalogue)
        missing = snapshot.missing()
        if not missing or self._folder.path is None:
            return snapshot, missing
        before = self._segments
        self._segments = self._folder.read(before)  # another process may have made them
        if self._segments != before:
            snapshot = self._snapshot_of(catalogue)
            missing = snapshot.missing()
        return self._with_lost_files_rewritten(snapshot), missing

    def _first_look(self, catalogue: Catalogue) -> tuple[MirrorSnapshot, list[Row]]:
        self._segments = self._folder.read([])
        snapshot = self._snapshot_of(catalogue)
        missing = snapshot.missing()
        if missing and self._folder.is_robbed:
            warnings.warn(f"{self._folder} has lost its files; they are made anew", RuntimeWarning, stacklevel=2)
        return snapshot, missing

    def _with_lost_files_rewritten(self, snapshot: MirrorSnapshot) -> MirrorSnapshot:
        """The same, the segments in use whose files have vanished being written to new ones."""
        assert self._segments is not None
        used = [segment for segment, live in zip(self._segments, snapshot.live, strict=True) if live]
        lost = self._folder.lost(used)
        if not lost:
            return snapshot
        warnings.warn(f"{self._folder} has lost files; they are written anew", RuntimeWarning, stacklevel=2)
        again = {each: self._folder.keep(Segment(each.documents, each.arrays)) for each in lost}
        self._segments = [again.get(each, each) for each in self._segments]
        return self._snapshot_of(snapshot.catalogue)

    def _make(self, reader: Reader, missing: Sequence[Row]) -> Flow[None]:
        """Segments of these documents; as many as there are, where some have gone."""
        leaves = sum(row.leaves for row in missing)
        progress = Progress(
            leaves, show=None if leaves >= _WORTH_SHOWING else False, what=self._recipe.task, unit=" leaves"
        )
        splits = 0
        groups = list(grouped(missing, _GROUP))[::-1]
        try:
            while groups:
                rows = groups.pop()
                ids = [id_ for row in rows for id_ in row.leaf_ids]
                try:
                    arrays = yield from self._recipe.read(reader, rows, ids)
                except StaleRead:
                    # Whoever starts again after this should find the others made, or it may never come to an end.
                    splits += 1
                    if splits > _MOST_SPLITS:
                        raise
                    if len(rows) > 1:
                        groups += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
                    continue
                segment = Segment(tuple((row.document_id, row.version or "", row.leaves) for row in rows), arrays)
                yield Call(self._hold, (segment,), finish=True)
                progress.advance(len(ids))
        finally:
            progress.close()
        if splits:
            raise StaleRead

    def _hold(self, segment: Segment) -> None:
        assert self._segments is not None
        self._segments.append(self._folder.keep(segment))

    def _tidy(self, snapshot: MirrorSnapshot) -> MirrorSnapshot:
        """Let go of segments of which nothing counts, and make one of several where there are too many, or half dead."""
        held = self._segments
        assert held is not None
        if all(snapshot.live) and not _to_merge(snapshot.live, held):
            return snapshot
        dead = [each for each, live in zip(held, snapshot.live, strict=True) if not live]
        self._segments = held = [each for each in held if each not in dead]
        snapshot = self._snapshot_of(snapshot.catalogue)
        places = _to_merge(snapshot.live, held)
        if places:
            documents = [document for place in places for document in snapshot.counted(place)]
            arrays = self._recipe.merge([snapshot.parts[place] for place in places])
            merged = self._folder.keep(Segment(tuple(documents), arrays))
            dead += [held[place] for place in places]
            self._segments = [merged, *(each for each in held if each not in dead)]
            snapshot = self._snapshot_of(snapshot.catalogue)
        self._folder.remove(dead)
        return snapshot


def _to_merge(live: Sequence[int], held: Sequence[OpenSegment]) -> list[int]:
    """The places of the segments to make one of, in order; none where all is well.

    Those that are half dead; and the smallest where there are too many, each at most so many times as large as those
    before it together: so a large one is written again only when it has grown to be a multiple of itself.
    """
    chosen = [place for place, each in enumerate(held) if live[place] * 2 < each.leaves and live[place]]
    whole = [place for place in range(len(held)) if place not in chosen]
    if len(whole) + bool(chosen) > _MOST_SEGMENTS:
        size = sum(live[place] for place in chosen)
        for place in sorted(whole, key=lambda place: live[place]):
            if len(chosen) > 1 and live[place] > size * _FACTOR:
                break
            chosen.append(place)
            size += live[place]
    return sorted(chosen)
