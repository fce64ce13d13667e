"""A mirror that follows an index: what it lacks is made and kept in files, and small files become large ones."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leafspan.engine import Call, Flow
from leafspan.mirror.mirrored import Held, Mirrored
from leafspan.mirror.segment import Segment
from leafspan.mirror.shelf import Shelf
from leafspan.progress import Progress
from leafspan.store import Catalogue, Gone, Reader, Row, grouped
from leafspan.values import leaf_id

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror.mirrored import Part

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

    def merge(self, parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
        """One for several: the leaves that the masks mark, in order."""
        ...


class Mirror:
    """Segments in a folder, or in memory where there is none; ``current`` brings them up to what a reader sees.

    Segments never change. Whether a document in one counts is decided by the catalogue alone, so there is no list of files
    that could be wrong: any process may add a segment, or put one in the place of several, at any time, without a lock.
    What is lost or damaged is made again.
    """

    def __init__(self, folder: Path | None, recipe: Recipe) -> None:
        self._shelf = Shelf(None if folder is None else folder / recipe.name)
        self._recipe = recipe
        self._held: list[Held] | None = None
        self._mirrored: Mirrored | None = None
        self._untidied = 0  # changes since segments were merged and removed
        self._mutex = threading.Lock()

    def current(self, reader: Reader) -> Flow[Mirrored]:
        """What the index holds now, whatever the reader's scope.

        Raises:
            Gone: if a document is replaced meanwhile.
        """
        catalogue = yield from reader.everything()
        if (known := self._mirrored) is not None and known.catalogue is catalogue:
            return known
        # The lock is taken between two calls: a task that is cancelled has either none of it or all.
        while not self._mutex.acquire(blocking=False):
            yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep)
        try:
            if (known := self._mirrored) is not None and known.catalogue is catalogue:
                return known  # another has made it meanwhile
            mirrored, missing = yield Call(self._look, (catalogue,), finish=True)
            if missing:
                yield from self._make(reader.unscoped(), missing)
                mirrored = yield Call(self._mirror, (catalogue,))
            # To one who is behind, what was made since looks dead. But it cannot always be told, nor wait for ever.
            self._untidied += 1
            if not reader.overtaken or self._untidied > _PATIENCE:
                mirrored = yield Call(self._tidy, (mirrored,), finish=True)
                self._untidied = 0
            self._mirrored = mirrored
            return mirrored  # type: ignore[no-any-return]
        finally:
            self._mutex.release()

    def _mirror(self, catalogue: Catalogue) -> Mirrored:
        assert self._held is not None
        return Mirrored(catalogue, self._held)

    def _look(self, catalogue: Catalogue) -> tuple[Mirrored, list[Row]]:
        """What is held of these documents, or lies in files, and the rows of those of which nothing does."""
        first = self._held is None
        held = self._shelf.read([]) if self._held is None else self._held
        self._held = held
        mirrored = self._mirror(catalogue)
        missing = mirrored.missing()
        if first:
            if missing and self._shelf.robbed:
                warnings.warn(f"{self._shelf} has lost its files; they are made anew", RuntimeWarning, stacklevel=2)
        elif missing and self._shelf.folder is not None:
            before, self._held = held, self._shelf.read(held)  # another process may have made it
            held = self._held
            if set(held) != set(before):
                mirrored = self._mirror(catalogue)
                missing = mirrored.missing()
            elif held != before:
                mirrored = self._mirror(catalogue)  # in the order of those who read it
            lost = self._shelf.lost([each for each, live in zip(held, mirrored.live, strict=True) if live])
            if lost:
                warnings.warn(f"{self._shelf} has lost files; they are written anew", RuntimeWarning, stacklevel=2)
                again = {each: self._shelf.keep(Segment(each.documents, each.arrays)) for each in lost}
                self._held = [again.get(each, each) for each in held]
                mirrored = self._mirror(catalogue)
        return mirrored, missing

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
                ids = [leaf_id(row.document_id, row.version or "", n) for row in rows for n in range(row.leaves)]
                try:
                    arrays = yield from self._recipe.read(reader, rows, ids)
                except Gone:
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
            raise Gone

    def _hold(self, segment: Segment) -> None:
        assert self._held is not None
        self._held.append(self._shelf.keep(segment))

    def _tidy(self, mirrored: Mirrored) -> Mirrored:
        """Let go of segments of which nothing counts, and make one of several where there are too many, or half dead."""
        held = self._held
        assert held is not None
        if all(mirrored.live) and not _to_merge(mirrored.live, held):
            return mirrored
        dead = [each for each, live in zip(held, mirrored.live, strict=True) if not live]
        self._held = held = [each for each in held if each not in dead]
        mirrored = self._mirror(mirrored.catalogue)
        places = _to_merge(mirrored.live, held)
        if places:
            documents = [document for place in places for document in mirrored.counted(place)]
            arrays = self._recipe.merge([mirrored.parts[place] for place in places])
            merged = self._shelf.keep(Segment(tuple(documents), arrays))
            dead += [held[place] for place in places]
            self._held = [merged, *(each for each in held if each not in dead)]
            mirrored = self._mirror(mirrored.catalogue)
        self._shelf.remove(dead)
        return mirrored


def _to_merge(live: Sequence[int], held: Sequence[Held]) -> list[int]:
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
