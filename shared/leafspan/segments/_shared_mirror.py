"""Segments that are stored with an index behind a client, so that not each client has to make them."""

from __future__ import annotations

import base64
import binascii
import re
import time
import uuid
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from leafspan.engines import FlowTable, Record, StaleRead
from leafspan.errors import LeafspanError
from leafspan.flows import Call, Flow
from leafspan.segments._mirror import MOST_SEGMENTS, Mirror, Recipe, StoredSegments, segments_to_merge
from leafspan.segments._segment import HEAD_LENGTH, Damaged, Segment, segment_bytes, written_lengths
from leafspan.segments._segment_folder import SegmentFolder, in_order
from leafspan.segments._snapshot import MirrorSnapshot, OpenSegment
from leafspan.segments._stored_arrays import PIECE, PiecesMissing, StoredFile, collect
from leafspan.store import Catalogue, Reader

T = TypeVar("T")


class SharedMirror(Mirror):
    """Like ``Mirror``. The cache folder has the pieces that this machine has fetched, and segments that only it has made.

    Writers store segments, and merge them when there are many. Readers write nothing.
    """

    largest = None  # writers look at all stored segments before they merge, so there must be few
    is_shared = True

    def __init__(self, folder: Path, shelf: Shelf, recipe: Recipe) -> None:
        super().__init__(folder, recipe)
        self._folder.is_fetched = True
        self._fetched = FetchedSegments(shelf, self._folder)

    def computed(self, function: Callable[..., T], *arguments: Any) -> Flow[T]:
        """The function is called again once missing pieces are fetched."""
        while True:
            try:
                return (yield from super().computed(function, *arguments))
            except PiecesMissing as missing:
                yield from self._fetched.fetch(missing.pieces)

    def stored(self) -> Flow[StoredSegments]:
        """Segments that are stored with the index are fetched as a whole."""
        segments = self._segments or (yield Call(self._folder.read, ([],)))
        for segment in (yield from self._fetched.with_all(segments, (yield from self._fetched.look()))):
            with suppress(StaleRead):
                yield from self.computed(_read_all, segment)
            if segment.problem is not None:
                self._fetched.leave_out([segment])
        yield from self._fetched.look()
        stored: StoredSegments = yield from super().stored()
        return stored._replace(damaged={**stored.damaged, **self._fetched.damaged})

    def make_again(self, reader: Reader, wrong: Collection[OpenSegment], files: Collection[Path]) -> Flow[None]:
        yield from self._fetched.remove({*files, *(each.path for each in wrong if each.path is not None)})
        yield from super().make_again(reader, wrong, files)
        yield from self._fetched.put(self._own(self._snapshot))

    def append(self, segment: Segment) -> Flow[None]:
        """The segment is stored with the index, so that no other client has to make it."""
        yield from self._fetched.put([(yield from self._keep(segment))])

    def merge_appended(self, load: Callable[[], Flow[Catalogue]]) -> Flow[None]:
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


class FetchedSegments:
    """The segments on a shelf, and the files in a cache folder that receive their pieces.

    A file has the whole segment's length from the start. A missing piece does not match the segment's checksums, nor does a
    damaged piece, so both are fetched.
    """

    def __init__(self, shelf: Shelf, folder: SegmentFolder) -> None:
        self._shelf = shelf
        self._folder = folder
        self._names: set[str] = set()  # names on the shelf at the last look
        self._seen: set[str] = set()  # names that were ever seen on the shelf
        self._ignored: set[str] = set()  # names of segments that are gone, damaged, or cannot be kept
        self._damaged: dict[str, str] = {}  # the damage of damaged segments, by name

    def is_own(self, segment: OpenSegment) -> bool:
        """Whether only this client has the segment. Then it was never on the shelf, where others could remove it."""
        return segment.path is None or segment.path.stem not in self._seen

    def leave_out(self, segments: Iterable[OpenSegment]) -> None:
        """Do not fetch these segments again. They are damaged or gone."""
        for each in segments:
            if each.path is not None:
                self._ignored.add(each.path.stem)
                if not each.is_gone:
                    self._damaged[each.path.stem] = each.problem or ""

    @property
    def damaged(self) -> dict[Path, str]:
        """The known damage of segments on the shelf, by the files that they would be fetched into."""
        return {self._folder.file(name): problem for name, problem in self._damaged.items() if name in self._names}

    def look(self) -> Flow[set[str]]:
        self._names = yield from self._shelf.names()
        self._seen |= self._names
        return set(self._names)

    def with_all(self, segments: Sequence[OpenSegment], names: Set[str]) -> Flow[list[OpenSegment]]:
        """These segments, and the named ones on the shelf. Only the documents of the latter are fetched."""
        opened = {each.path.stem for each in segments if each.path is not None}
        lengths = yield from self._shelf.lengths(names - opened - self._ignored)
        if not lengths:
            return list(segments)
        fronts = yield from self._shelf.pieces([Piece(name, 0) for name in lengths])
        begins = {piece.name: content for piece, content in fronts.items() if len(content) >= HEAD_LENGTH}
        further = [
            Piece(name, number)
            for name, begin in begins.items()
            for number in range(1, -(-min(written_lengths(begin)[0], lengths[name]) // PIECE))
        ]
        fronts |= yield from self._shelf.pieces(further)
        result = list(segments)
        gone = {piece.name for piece in (*(Piece(name, 0) for name in lengths), *further) if piece not in fronts}
        lost = gone & (yield from self.look()) if gone else set()
        for name in lengths:
            if name in gone:  # another client has merged it since the last look, unless the shelf still has it
                if name in lost:
                    self._note_damage(name, f"{self._folder.file(name)}: pieces of it are lost in the index")
                continue
            pieces = {number: content for (of, number), content in fronts.items() if of == name}
            try:
                segment = yield Call(self._folder.begin, (name, lengths[name], pieces), finish=True)
            except Damaged as error:
                self._note_damage(name, str(error))
                continue
            if segment is None:
                self._ignored.add(name)
            else:
                result.append(segment)
        return in_order(result)

    def fetch(self, pieces: Mapping[StoredFile, Collection[int]]) -> Flow[None]:
        files = {Piece(Path(file.what).stem, number): file for file, numbers in pieces.items() for number in numbers}
        content_of = yield from self._shelf.pieces(sorted(files))
        for file, numbers in pieces.items():
            name = Path(file.what).stem
            contents = {number: content_of[piece] for number in numbers if (piece := Piece(name, number)) in content_of}
            if len(contents) < len(numbers):
                if name in (yield from self.look()):
                    self._note_damage(name, f"{file.what}: pieces of it are lost or damaged in the index")
                file.is_gone = True
            elif not (yield Call(self._folder.fill, (file, contents), finish=True)):
                file.is_gone = True
            if file.is_gone:
                file.problem = f"{file.what}: it cannot be fetched"
                self._ignored.add(name)
        if any(file.is_gone for file in pieces):
            raise StaleRead

    def put(self, segments: Iterable[OpenSegment]) -> Flow[bool]:
        """Store segments with the index. Return whether that worked; if not, each client makes them itself."""
        for segment in segments:
            name = uuid.uuid4().hex if segment.path is None else segment.path.stem
            try:
                content = yield Call(segment_bytes, (segment.documents, segment.arrays))
            except (PiecesMissing, StaleRead):
                continue  # others have merged the segment, or it is damaged
            try:
                yield from self._shelf.put(name, content)
            except LeafspanError as error:
                what = "a segment cannot be stored with the index, so that other clients make it themselves"
                warnings.warn(f"{what}: {error}", RuntimeWarning, stacklevel=2)
                return False
            self._names.add(name)
            self._seen.add(name)
        return True

    def remove(self, paths: Iterable[Path]) -> Flow[None]:
        """Delete segments that are no longer needed, by the files that they were fetched into."""
        names = {path.stem for path in paths}
        self._ignored |= names
        self._names -= names
        self._damaged = {name: problem for name, problem in self._damaged.items() if name not in names}
        with suppress(LeafspanError):  # the next writer tries again
            yield from self._shelf.remove(names)

    def _note_damage(self, name: str, problem: str) -> None:
        warnings.warn(f"{problem}; leafspan rebuilds it", RuntimeWarning, stacklevel=2)
        self._damaged[name] = problem
        self._ignored.add(name)


_KIND = "kind"  # metadata key of a head for the segment's kind
_UNFINISHED = "unfinished"  # kind of a segment that is being written, or whose writer was killed
_ABANDONED_SECONDS = 86_400.0  # an unfinished segment that is older than this belongs to a killed writer
_NAME = re.compile(r"[0-9a-f]{32}")
_AT_ONCE = 128  # pieces per call: a megabyte


class Piece(NamedTuple):
    """A piece of a segment: the segment's name, and the piece's number in its file."""

    name: str
    number: int


class Shelf:
    """An index's segments of one kind.

    A segment's head is written last and deleted first, so the segment exists as a whole or not at all. A segment never
    changes. Any number of writers may put and remove segments at the same time.
    """

    def __init__(self, table: Callable[[bool], Flow[FlowTable | None]], index_id: str, kind: str) -> None:
        self._table = table
        self._own_kind = f"{index_id}/{kind}"

    def names(self) -> Flow[set[str]]:
        """The names of all segments. They become file names on this machine, so other names in the table are ignored."""
        table = yield from self._table(False)
        names: set[str] = set() if table is None else (yield from table.find(_KIND, [self._own_kind]))
        return {name for name in names if _NAME.fullmatch(name)}

    def lengths(self, names: Collection[str]) -> Flow[dict[str, int]]:
        """The file lengths of segments, in bytes. Missing segments and damaged heads are left out."""
        table = yield from self._table(False)
        records = {} if table is None or not names else (yield from table.get(list(names), ["metadata"]))
        lengths = {name: (record.metadata or {}).get("length") for name, record in records.items()}
        return {name: length for name, length in lengths.items() if isinstance(length, int) and length > 0}

    def pieces(self, wanted: Sequence[Piece]) -> Flow[dict[Piece, bytes]]:
        """Read pieces of segments. Missing or damaged pieces are left out."""
        table = yield from self._table(False)
        contents: dict[Piece, bytes] = {}
        for start in range(0, len(wanted) if table is not None else 0, _AT_ONCE):
            ids = {_id(piece): piece for piece in wanted[start : start + _AT_ONCE]}
            assert table is not None
            records = yield from table.get(list(ids), ["text"])
            for id_, record in records.items():
                if (content := _unpacked(record.text)) is not None:
                    contents[ids[id_]] = content
        return contents

    def put(self, name: str, content: bytes) -> Flow[None]:
        table = yield from self._table(True)
        assert table is not None
        head = {_KIND: _UNFINISHED, "length": len(content), "begun": time.time()}
        yield from table.put([Record(name, metadata=head)])
        records = _records(name, content)
        while some := [record for _, record in zip(range(_AT_ONCE), records, strict=False)]:
            yield from table.put(some)
        yield from table.put([Record(name, metadata={**head, _KIND: self._own_kind})])

    def remove(self, names: Collection[str]) -> Flow[None]:
        """Delete segments, and remains of other segments that killed writers have left."""
        table = yield from self._table(True)
        assert table is not None
        unfinished = yield from table.find(_KIND, [_UNFINISHED])
        records = yield from table.get([*names, *unfinished], ["metadata"])
        heads = {id_: record.metadata or {} for id_, record in records.items()}
        before = time.time() - _ABANDONED_SECONDS
        gone = [name for name in heads if name in names or heads[name].get("begun", 0) < before]
        yield from table.delete(gone)
        for name in gone:
            count = -(-int(heads[name].get("length", 0)) // PIECE)
            yield from table.delete([_id(Piece(name, number)) for number in range(count)])


def _id(piece: Piece) -> str:
    return f"{piece.name}#{piece.number}"


def _records(name: str, content: bytes) -> Iterator[Record]:
    for number, start in enumerate(range(0, len(content), PIECE)):
        packed = base64.b64encode(zlib.compress(content[start : start + PIECE])).decode()
        yield Record(_id(Piece(name, number)), packed)


def _unpacked(text: str | None) -> bytes | None:
    """The bytes of a piece, or None if they cannot be unpacked. The segment's checksums say whether they are right."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(text or "", validate=True), PIECE)
    except (binascii.Error, ValueError, zlib.error):
        return None
    return content if unpacking.eof else None  # otherwise it is longer than a piece can be
