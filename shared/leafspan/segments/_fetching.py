"""Segments that are stored with an index behind a client. Their pieces are fetched when they are read."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

from leafspan.engines import StaleRead
from leafspan.errors import LeafspanError
from leafspan.flows import Call, Flow
from leafspan.segments._segment import HEAD_LENGTH, Damaged, segment_bytes, written_lengths
from leafspan.segments._segment_folder import SegmentFolder, in_order
from leafspan.segments._shelf import Piece, Shelf
from leafspan.segments._snapshot import OpenSegment
from leafspan.segments._stored_arrays import PIECE, PiecesMissing, StoredFile


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
        """The names of all segments on the shelf."""
        self._names = yield from self._shelf.names()
        self._seen |= self._names
        return set(self._names)

    def with_all(self, known: Sequence[OpenSegment], names: Set[str]) -> Flow[list[OpenSegment]]:
        """The known segments, and the named ones on the shelf. Only the documents of the latter are fetched."""
        there = {each.path.stem for each in known if each.path is not None}
        lengths = yield from self._shelf.lengths(names - there - self._ignored)
        if not lengths:
            return list(known)
        fronts = yield from self._shelf.pieces([Piece(name, 0) for name in lengths])
        begins = {piece.name: content for piece, content in fronts.items() if len(content) >= HEAD_LENGTH}
        further = [
            Piece(name, number)
            for name, begin in begins.items()
            for number in range(1, -(-min(written_lengths(begin)[0], lengths[name]) // PIECE))
        ]
        fronts |= yield from self._shelf.pieces(further)
        found = list(known)
        gone = {piece.name for piece in (*(Piece(name, 0) for name in lengths), *further) if piece not in fronts}
        lost = gone & (yield from self.look()) if gone else set()
        for name in lengths:
            if name in gone:  # another client has merged it since the last look, unless the shelf still has it
                if name in lost:
                    self._note_damage(name, f"{self._folder.file(name)}: pieces of it are lost in the index")
                continue
            pieces = {number: content for (of, number), content in fronts.items() if of == name}
            try:
                opened = yield Call(self._folder.begin, (name, lengths[name], pieces), finish=True)
            except Damaged as error:
                self._note_damage(name, str(error))
                continue
            if opened is None:
                self._ignored.add(name)
            else:
                found.append(opened)
        return in_order(found)

    def fetch(self, pieces: Mapping[StoredFile, Collection[int]]) -> Flow[None]:
        """Fetch pieces of files."""
        wanted = {Piece(Path(file.what).stem, number): file for file, numbers in pieces.items() for number in numbers}
        found = yield from self._shelf.pieces(sorted(wanted))
        for file, numbers in pieces.items():
            name = Path(file.what).stem
            contents = {number: found[piece] for number in numbers if (piece := Piece(name, number)) in found}
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
