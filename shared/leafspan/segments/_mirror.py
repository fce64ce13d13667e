"""Keeps segments up to date with an index: makes segments of new documents, and merges small segments into large ones."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from leafspan.engines import StaleRead
from leafspan.errors import LeafspanError, WriterBusy
from leafspan.flows import Call, Flow, NDArray, Progress
from leafspan.segments._segment import Segment
from leafspan.segments._segment_folder import SegmentFolder, in_order
from leafspan.segments._snapshot import MaskedArrays, MirrorSnapshot, OpenSegment
from leafspan.store import Catalogue, DamageFound, DocumentTable, DocumentToWrite, Reader, Row, grouped

T = TypeVar("T")

_GROUP = 20_000  # number of leaves to put into one segment
_BATCH = 1_000  # leaves to read at a time, since an engine returns each as its own object
MOST_SEGMENTS = 8  # number of segments that are not merged, so that a change does not write everything again
_SIZE_RATIO = 2  # a segment is merged with smaller ones if it is at most this many times as large as their total
_MOST_APPENDED = MOST_SEGMENTS  # when writers have added more segments than this, the writer merges them
_MOST_DEFERRALS = 4  # changes after which segments are merged although the reader may be stale
_MOST_SPLITS = 20  # how often a group with replaced documents is split
_MIN_FOR_PROGRESS = 5_000  # number of leaves from which a progress bar is shown
_POLL_SECONDS = 0.005
_PATIENCE = 60.0  # seconds that another thread may take to make one segment
_mirrors: weakref.WeakSet[Mirror] = weakref.WeakSet()


Compare = Callable[[int, DocumentToWrite], Sequence[int]]
"""Takes the row of a document's first leaf in the segment and the stored document. Returns the ordinals of the leaves that
differ."""


class Recipe(Protocol):
    """How to make the arrays of segments."""

    task: str  # the text before the progress bar
    content: str  # what the segments are a copy of, as words of a sentence
    needs_vectors: bool  # whether arrays are made of documents' vectors, or else of their texts and metadata

    @property
    def name(self) -> str:
        """The name of the segments' folder. Recipes that make different arrays have different names."""

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        """Make the arrays of documents. Each of them has at least one leaf."""

    def merge(self, parts: Sequence[MaskedArrays]) -> Mapping[str, Any]:
        """Merge the arrays of several segments into the arrays of one. Only the leaves in the masks are kept, in order."""

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        """Return the function that compares a segment's arrays with stored documents."""


class Mirror:
    """A copy of an index in segments, in files or in memory. ``current`` brings it up to date.

    Segments never change. Only the catalogue decides which documents in a segment are current, so no list of segments can
    be wrong. Any process may add a segment, or replace several by one, at any time and without a lock. Lost or damaged
    files are made again.
    """

    largest: int | None = 1 << 17
    """Largest number of leaves in a merged segment. None: no limit."""

    is_shared = False
    """Whether segments are stored with the index, so that pieces of them may have to be fetched."""

    def __init__(self, folder: Path | None, recipe: Recipe, *, read_only: bool = False) -> None:
        self.name = recipe.name
        self.content = recipe.content
        self._folder = SegmentFolder(None if folder is None else folder / self.name, read_only=read_only)
        self._recipe = recipe
        self._segments: list[OpenSegment] | None = None
        self._snapshot: MirrorSnapshot | None = None
        self._partial: MirrorSnapshot | None = None  # the last snapshot that ``existing`` returned
        self._deferred = 0  # changes since segments were last merged and removed
        self._appended = 0  # segments that writers have added since then
        self._mutex = threading.Lock()
        _mirrors.add(self)
        self._went_on = 0.0  # when a segment was last made or begun

    def close(self) -> None:
        """Release the segments. Each file is closed with its last user, which may be a query in another thread."""
        if self._mutex.acquire(blocking=False):  # otherwise another thread makes segments: they go with this object
            self._segments = self._snapshot = self._partial = None
            self._mutex.release()

    def current(self, reader: Reader) -> Flow[MirrorSnapshot]:
        """A snapshot of the whole index for the reader's catalogue; the reader's scope does not matter."""
        catalogue = yield from reader.everything()
        if (snapshot := self._snapshot) is not None and snapshot.catalogue is catalogue and not snapshot.is_damaged:
            return snapshot
        yield from self._lock()
        try:
            if (snapshot := self._snapshot) is not None and snapshot.catalogue is catalogue and not snapshot.is_damaged:
                return snapshot  # another thread or task has made it in the meantime
            snapshot, missing = yield Call(self._existing, (catalogue, lambda: reader.is_stale), finish=True)
            if missing and (yield from self._look_elsewhere()):
                snapshot = yield Call(self._snapshot_of, (catalogue,))
                missing = snapshot.missing()
            if missing:
                yield from self._make(reader.for_mirrors(), missing)
                snapshot = yield Call(self._snapshot_of, (catalogue,))
            # A stale reader would take newer segments for dead ones. Behind a client nobody knows whether a reader is
            # stale, and merging cannot wait forever.
            self._deferred += 1
            if not reader.may_be_stale or (self._deferred > _MOST_DEFERRALS and not reader.is_stale):
                snapshot = yield Call(self._compact, (snapshot,), finish=True)
                self._deferred = self._appended = 0
            self._snapshot, self._partial = snapshot, None  # which may hold removed files
            return snapshot  # type: ignore[no-any-return]
        finally:
            self._mutex.release()

    def computed(self, function: Callable[..., T], *arguments: Any) -> Flow[T]:
        """The result of a function that reads arrays of segments."""
        return (yield Call(function, arguments, computes=True))  # type: ignore[no-any-return]

    def stored(self) -> Flow[StoredSegments]:
        """Read all stored segments again, even open ones. This makes no changes."""
        return (yield Call(self._stored))  # type: ignore[no-any-return]

    def _stored(self) -> StoredSegments:
        segments, damaged = self._folder.inspect()
        in_memory = [each for each in self._segments or () if each.path is None]
        return StoredSegments([*in_memory, *segments], damaged)

    def comparing(self, segment: OpenSegment) -> Compare:
        return self._recipe.comparing(segment.arrays)

    def make_again(self, reader: Reader, wrong: Collection[OpenSegment], files: Collection[Path]) -> Flow[None]:
        """Make segments again from the stored documents, without any copy. Old segments are removed when all are made."""
        catalogue = yield from reader.everything()
        files = {*files, *(each.path for each in wrong if each.path is not None)}
        yield from self._lock()
        try:
            self._snapshot = self._partial = None
            self._folder.ignored.update(files)
            if self._segments is not None:
                self._segments = [each for each in self._segments if each not in wrong and each.path not in files]
            _, missing = yield Call(self._existing, (catalogue, lambda: reader.is_stale), finish=True)
            if missing:
                yield from self._make(reader.for_mirrors().as_stored(), missing)
            yield Call(self._folder.remove_files, (files,), finish=True)
            self._snapshot = yield Call(self._snapshot_of, (catalogue,))
        finally:
            self._mutex.release()

    def _lock(self) -> Flow[None]:
        """Acquire the mutex. Not inside a call, so that a cancelled task knows whether it has the mutex."""
        start = time.monotonic()
        task = self._recipe.task.lower()
        while not self._mutex.acquire(blocking=False):
            if time.monotonic() - max(start, self._went_on) > _PATIENCE:
                raise WriterBusy(f"another thread that is {task} has made no progress for {_PATIENCE:g} seconds: try again")
            yield Call(time.sleep, (_POLL_SECONDS,), native=asyncio.sleep, what=f"another thread that is {task}")
        self._went_on = time.monotonic()

    def made_of(self, documents: Sequence[DocumentToWrite], arrays: Mapping[str, Any] | None) -> Segment | None:
        """Make a segment of documents that are being written, or return None if a function of the user fails.

        ``arrays`` are the segment's, if they were made before.
        """
        try:
            return self._segment_of(documents, arrays)
        except LeafspanError:
            return None

    def append(self, segment: Segment) -> Flow[None]:
        """Keep a segment of documents that are about to become current, so that no query has to read them again."""
        yield from self._keep(segment)

    def _keep(self, segment: Segment) -> Flow[OpenSegment]:
        kept: OpenSegment = yield Call(self._folder.keep, (segment,), finish=True)
        if self._mutex.acquire(blocking=False):  # otherwise the thread that makes segments finds it in the folder
            self._appended += 1
            if self._segments is not None or kept.path is None:
                self._segments = in_order([*(self._segments or []), kept])
            self._mutex.release()
        return kept

    def merge_appended(self, load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
        """Merge the segments that writers have added, if there are many. Otherwise, a later query merges them."""
        if self._appended > _MOST_APPENDED:
            catalogue = yield from load()
            if self._mutex.acquire(blocking=False):
                try:
                    yield Call(self._merge_now, (catalogue,), finish=True)
                finally:
                    self._mutex.release()

    def _merge_now(self, catalogue: Catalogue) -> None:
        with suppress(StaleRead):  # a file is damaged: a later query handles that
            self._compact(self._existing(catalogue)[0])
        self._appended = 0

    def _look_elsewhere(self) -> Flow[bool]:
        """Look for new segments where clients on other machines store them. Return whether there are any."""
        yield from ()
        return False

    def existing(self, catalogue: Catalogue) -> Flow[MirrorSnapshot]:
        """A snapshot of the existing segments of these documents. This makes no segment, so documents may be missing."""
        for snapshot in (self._snapshot, self._partial):
            if snapshot is not None and snapshot.catalogue is catalogue and not snapshot.is_damaged:
                return snapshot
        self._partial = partial = yield Call(self._open_partly, (catalogue,))
        return partial  # type: ignore[no-any-return]

    def _open_partly(self, catalogue: Catalogue) -> MirrorSnapshot:
        for segments in (self._segments, None if (partial := self._partial) is None else partial.segments):
            snapshot = MirrorSnapshot(catalogue, [each for each in segments or () if each.problem is None])
            if snapshot.is_complete or self._folder.path is None:
                return snapshot
        # Another process may have made the missing segments.
        return MirrorSnapshot(catalogue, self._folder.read(self._without_damaged(segments or self._segments or [])))

    def _snapshot_of(self, catalogue: Catalogue) -> MirrorSnapshot:
        assert self._segments is not None
        return MirrorSnapshot(catalogue, self._segments)

    def _existing(
        self, catalogue: Catalogue, is_stale: Callable[[], bool] = lambda: False
    ) -> tuple[MirrorSnapshot, list[Row]]:
        """A snapshot of the existing segments, including other processes' new files, and the rows that it lacks."""
        if self._segments is None:
            return self._open_segments(catalogue)
        self._segments = self._without_damaged(self._segments)
        snapshot = self._snapshot_of(catalogue)
        if not snapshot.is_complete and self._folder.path is not None:
            before = self._segments
            self._segments = self._folder.read(before)  # another process may have made the missing segments
            if self._segments != before:
                snapshot = self._snapshot_of(catalogue)
            snapshot = self._with_lost_files_rewritten(snapshot, is_stale)
        return snapshot, snapshot.missing()

    def _without_damaged(self, segments: list[OpenSegment]) -> list[OpenSegment]:
        """Remove the files of damaged segments, and return the other segments."""
        damaged = [each for each in segments if each.problem is not None]
        for each in damaged:
            if not each.is_gone:
                warnings.warn(f"{each.problem}; leafspan rebuilds it", RuntimeWarning, stacklevel=2)
        self._folder.remove(damaged)
        return [each for each in segments if each not in damaged]

    def _open_segments(self, catalogue: Catalogue) -> tuple[MirrorSnapshot, list[Row]]:
        self._segments = self._folder.read([])
        snapshot = self._snapshot_of(catalogue)
        missing = snapshot.missing()
        if missing and self._folder.is_emptied():
            warnings.warn(f"{self._folder} has lost its files; leafspan rebuilds them", RuntimeWarning, stacklevel=2)
        return snapshot, missing

    def _with_lost_files_rewritten(self, snapshot: MirrorSnapshot, is_stale: Callable[[], bool]) -> MirrorSnapshot:
        """Write segments in use whose files are lost to new files, and return the updated snapshot."""
        assert self._segments is not None
        used = [segment for segment, live in zip(self._segments, snapshot.live, strict=True) if live]
        lost = self._folder.lost(used)
        if not lost or is_stale():
            return snapshot
        warnings.warn(f"{self._folder} has lost files; leafspan writes them again", RuntimeWarning, stacklevel=2)
        rewritten = {each: self._folder.keep(Segment(each.documents, each.arrays)) for each in lost}
        self._segments = in_order(rewritten.get(each, each) for each in self._segments)
        return self._snapshot_of(snapshot.catalogue)

    def _make(self, reader: Reader, missing: Sequence[Row]) -> Flow[None]:
        leaves = sum(row.leaves for row in missing)
        show = None if leaves >= _MIN_FOR_PROGRESS else False
        progress = Progress(leaves, show=show, what=self._recipe.task, unit=" leaves")
        splits = 0
        groups = list(grouped(missing, _GROUP))[::-1]
        try:
            while groups:
                rows = groups.pop()
                try:
                    documents = yield from self._read(reader, rows)
                except DamageFound:
                    raise  # the next attempt leaves the documents out
                except StaleRead:
                    # Reading starts again after this error. It might never end unless the other documents are done first.
                    splits += 1
                    if splits > _MOST_SPLITS:
                        raise
                    if len(rows) > 1:
                        groups += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
                    continue
                segment = yield Call(self._segment_of, (documents,))
                yield Call(self._add, (segment,), finish=True)
                self._went_on = time.monotonic()
                progress.advance(sum(row.leaves for row in rows))
        finally:
            progress.close()
        if splits:
            raise StaleRead

    def _read(self, reader: Reader, rows: Sequence[Row]) -> Flow[list[DocumentToWrite]]:
        """Read what the recipe needs of documents' leaves: a vector each, or a text with metadata."""
        ids = [id_ for row in rows for id_ in row.record_ids]
        stored: dict[str, Any] = {}
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            stored |= yield from (reader.fetch_vectors(some) if self._recipe.needs_vectors else reader.fetch_records(some))
        if len(stored) < len(ids):
            raise StaleRead
        documents = []
        for row in rows:
            leaves = [stored[id_] for id_ in row.record_ids]
            if self._recipe.needs_vectors:
                documents.append(DocumentToWrite(row, [], [], leaves))
            else:
                texts, metadatas = zip(*leaves, strict=True)
                documents.append(DocumentToWrite(row, texts, metadatas, []))
        return documents

    def _segment_of(self, documents: Sequence[DocumentToWrite], arrays: Mapping[str, Any] | None = None) -> Segment:
        table = DocumentTable.of([(row.document_id, row.version, row.leaves) for row, *_ in documents])
        return Segment(table, self._recipe.of(documents) if arrays is None else arrays)

    def reset_after_fork(self) -> None:
        """Reset the mutex in a forked process: it does not have the parent's threads."""
        self._mutex = threading.Lock()

    def _add(self, segment: Segment) -> None:
        assert self._segments is not None
        self._segments = in_order([*self._segments, self._folder.keep(segment)])

    def _compact(self, snapshot: MirrorSnapshot) -> MirrorSnapshot:
        """Remove dead segments, merge segments that are too many or mostly dead, and return the new snapshot."""
        segments = self._segments
        assert segments is not None
        removed = self._dead(snapshot)
        if not removed and not segments_to_merge(snapshot.live, segments, self.largest):
            return snapshot
        self._segments = [each for each in segments if each not in removed]
        snapshot = self._snapshot_of(snapshot.catalogue)
        while numbers := self._to_merge(snapshot):
            merged = self._folder.keep(self._merge(snapshot, numbers))
            replaced = [snapshot.segments[number] for number in numbers]
            self._segments = in_order([merged, *(each for each in self._segments if each not in replaced)])
            snapshot = self._snapshot_of(snapshot.catalogue)
            removed += replaced
        self._folder.remove(removed)
        return snapshot

    def _to_merge(self, snapshot: MirrorSnapshot) -> list[int]:
        """The numbers of the segments to merge next: several segments, or one that is mostly dead."""
        numbers = segments_to_merge(snapshot.live, snapshot.segments, self.largest)
        allowed = [number for number in numbers if self._may_merge(snapshot.segments[number])]
        is_alone = len(allowed) == 1 and 2 * snapshot.live[allowed[0]] >= snapshot.segments[allowed[0]].leaves
        return [] if is_alone else allowed

    def _may_merge(self, segment: OpenSegment) -> bool:
        """Whether a reader may merge a segment.

        If the folder is read-only, files are not merged: each process would keep the merged segment in memory.
        """
        return segment.path is None or not self._folder.read_only

    def _dead(self, snapshot: MirrorSnapshot) -> list[OpenSegment]:
        """The segments that have no document that is current or about to be."""
        rows = snapshot.catalogue.rows

        def is_expected(id_: str, version: str | None, leaves: int) -> bool:
            return id_ in rows and (version, leaves) in rows[id_].leftovers

        pairs = zip(snapshot.segments, snapshot.live, strict=True)
        return [each for each, live in pairs if not live and not any(starmap(is_expected, each.documents))]

    def _merge(self, snapshot: MirrorSnapshot, numbers: Sequence[int]) -> Segment:
        """Merge the current documents of several segments into one."""
        documents = [document for number in numbers for document in snapshot.current_documents(number)]
        merged = self._recipe.merge([snapshot.parts[number] for number in numbers])
        return Segment(DocumentTable.of(documents), merged)


class StoredSegments(NamedTuple):
    segments: Sequence[OpenSegment]  # the undamaged segments
    damaged: Mapping[Path, str]  # what is wrong with the damaged ones, by file


def segments_to_merge(live: Sequence[int], segments: Sequence[OpenSegment], largest: int | None = None) -> list[int]:
    """The numbers of the segments to merge into one, in ascending order, or an empty list.

    Segments are merged if more than half of their leaves are dead, but not all of them. If there are too many segments, the
    smallest are merged as well. Of these, each is at most ``_SIZE_RATIO`` times as large as the smaller ones together, so a
    large segment is not written again until the index has grown in proportion.

    With ``largest``, a merged segment has at most this number of leaves, and segments with more than half of it are not
    counted. So the time and memory for merging do not grow with the index.
    """
    most = sum(live) if largest is None else largest
    counted = most if largest is None else largest // 2
    chosen = [number for number, each in enumerate(segments) if 0 < live[number] * 2 < each.leaves]
    others = [number for number in range(len(segments)) if number not in chosen and 0 < live[number] <= counted]
    if len(others) + bool(chosen) > MOST_SEGMENTS:
        size = sum(live[number] for number in chosen)
        for number in sorted(others, key=lambda number: live[number]):
            if len(chosen) > 1 and (live[number] > size * _SIZE_RATIO or size + live[number] > most):
                break
            chosen.append(number)
            size += live[number]
    return sorted(chosen)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: list(map(Mirror.reset_after_fork, list(_mirrors))))
