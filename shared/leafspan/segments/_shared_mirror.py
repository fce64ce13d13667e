"""Segments that are stored with an index behind a client, so that not each client has to make them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from leafspan.engines import StaleRead
from leafspan.flows import Call, Flow
from leafspan.segments._fetching import FetchedSegments
from leafspan.segments._mirror import MOST_SEGMENTS, Mirror, Recipe, StoredSegments, segments_to_merge
from leafspan.segments._segment import Segment
from leafspan.segments._segment_folder import in_order
from leafspan.segments._shelf import Shelf
from leafspan.segments._snapshot import MirrorSnapshot, OpenSegment
from leafspan.segments._stored_arrays import PiecesMissing, collect
from leafspan.store import Catalogue, Reader

T = TypeVar("T")


class SharedMirror(Mirror):
    """Like ``Mirror``. The cache folder has the pieces that this machine has fetched, and segments that only it has made.

    Writers store segments, and merge them when there are many. Readers write nothing.
    """

    largest = None  # writers look at all stored segments before they merge, so there must be few
    is_shared = True

    def __init__(self, folder: Path, shelf: Callable[[str], Shelf], recipe: Recipe) -> None:
        super().__init__(folder, recipe)
        self._folder.is_fetched = True
        self._fetched = FetchedSegments(shelf(recipe.name), self._folder)

    def computed(self, function: Callable[..., T], *arguments: Any) -> Flow[T]:
        """The function is called again once missing pieces are fetched."""
        while True:
            try:
                return (yield from super().computed(function, *arguments))
            except PiecesMissing as missing:
                yield from self._fetched.fetch(missing.pieces)

    def stored(self) -> Flow[StoredSegments]:
        """Segments that are stored with the index are fetched as a whole."""
        known = self._segments or (yield Call(self._folder.read, ([],)))
        for segment in (yield from self._fetched.with_all(known, (yield from self._fetched.look()))):
            with suppress(StaleRead):
                yield from self.computed(_read_all, segment)
            if segment.problem is not None:
                self._fetched.leave_out([segment])
        yield from self._fetched.look()
        found: StoredSegments = yield from super().stored()
        return found._replace(damaged={**found.damaged, **self._fetched.damaged})

    def make_again(self, reader: Reader, wrong: Collection[OpenSegment], files: Collection[Path]) -> Flow[None]:
        yield from self._fetched.remove({*files, *(each.path for each in wrong if each.path is not None)})
        yield from super().make_again(reader, wrong, files)
        yield from self._fetched.put(self._own(self._snapshot))

    def take(self, segment: Segment) -> Flow[None]:
        """The segment is stored with the index, so that no other client has to make it."""
        yield from self._fetched.put([(yield from self._keep(segment))])

    def tidy(self, load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
        """It looks at all stored segments, since each writer may have stored few."""
        # Before the catalogue is read, so that the catalogue has the rows of all versions on the shelf.
        names = yield from self._fetched.look()
        if len(names) <= MOST_SEGMENTS:
            return
        catalogue = yield from load()
        if not self._mutex.acquire(blocking=False):
            return
        try:
            with suppress(StaleRead):  # a segment is damaged or gone: a later query or writer handles that
                yield Call(self._existing, (catalogue,), finish=True)
                self._segments = yield from self._fetched.with_all(self._segments or [], names)
                snapshot = yield Call(self._snapshot_of, (catalogue,))
                yield from self._merge_on_shelf(snapshot, names)
                yield from self._fetched.put(self._own((yield Call(self._snapshot_of, (catalogue,)))))
        finally:
            self._mutex.release()

    def _merge_on_shelf(self, snapshot: MirrorSnapshot, names: Set[str]) -> Flow[None]:
        """Remove dead segments with these names, and merge others of them."""
        segments: Sequence[OpenSegment] = snapshot.segments
        stored = {each for each in segments if each.path is not None and each.path.stem in names}
        removed = [each for each in self._dead(snapshot) if each in stored]
        numbers = [
            number for number in segments_to_merge(snapshot.live, segments, self.largest) if segments[number] in stored
        ]
        if numbers:
            merged = yield from self.computed(self._merge, snapshot, numbers)
            kept = yield Call(self._folder.keep, (merged,), finish=True)
            if (yield from self._fetched.put([kept])):
                removed += [segments[number] for number in numbers]
                segments = [*segments, kept]
        if removed:
            yield from self._fetched.remove(each.path for each in removed if each.path is not None)
            yield Call(self._folder.remove, (removed,), finish=True)
        self._segments = in_order(each for each in segments if each not in removed)

    def _own(self, snapshot: MirrorSnapshot | None) -> list[OpenSegment]:
        """The segments in use that only this client has."""
        if snapshot is None:
            return []
        pairs = zip(snapshot.segments, snapshot.live, strict=True)
        return [each for each, live in pairs if live and self._fetched.is_own(each)]

    def _look_elsewhere(self) -> Flow[bool]:
        names = yield from self._fetched.look()
        before = self._segments or []
        self._segments = yield from self._fetched.with_all(before, names)
        return self._segments != before

    def _without_damaged(self, segments: list[OpenSegment]) -> list[OpenSegment]:
        whole = super()._without_damaged(segments)
        self._fetched.leave_out(each for each in segments if each not in whole)
        return whole

    def _with_lost_files_rewritten(self, snapshot: MirrorSnapshot, is_stale: Callable[[], bool]) -> MirrorSnapshot:
        return snapshot  # missing files are fetched again

    def _compact(self, snapshot: MirrorSnapshot) -> MirrorSnapshot:
        try:
            return super()._compact(snapshot)
        except PiecesMissing:  # others have merged this segment; it is dead once their segment is known
            return self._snapshot_of(snapshot.catalogue)

    def _may_merge(self, segment: OpenSegment) -> bool:
        return self._fetched.is_own(segment)  # writers merge the others


def _read_all(segment: OpenSegment) -> None:
    arrays = segment.arrays
    collect(partial(arrays.__getitem__, name) for name in arrays)


def mirrors_of(folder: Path | None, shelf: Callable[[str], Shelf] | None, *, read_only: bool) -> Callable[[Recipe], Mirror]:
    """Return the function that makes a ``Mirror`` of a recipe, or a ``SharedMirror`` if there are a shelf and a folder."""
    if folder is not None and shelf is not None:
        return partial(SharedMirror, folder, shelf)
    return partial(Mirror, folder, read_only=read_only)
