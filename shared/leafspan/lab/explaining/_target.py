"""The piece of a document that an explanation is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from leafspan.checks import check_whole, checked_id, is_unicode, shown
from leafspan.engines import StaleRead
from leafspan.errors import InvalidArgument
from leafspan.flows import Flow
from leafspan.store import Reader, Row, StoredLeaf
from leafspan.values import Candidate, LeafId, Passage


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a document, as the user names it.

    Attributes:
        document_id: Id of the document.
        start: Its first character, or None for the document's start.
        end: The character after its last one, or None for the document's end.
        text: Its words, which are searched in the document, or None if the user gives characters.
    """

    document_id: str
    start: int | None
    end: int | None
    text: str | None = None

    @classmethod
    def of(cls, document_id: object, start: object, end: object, text: object) -> Piece | None:
        """Check the user's piece. Return None if the user names no document.

        Raises:
            InvalidArgument: if the id or the text is not a string, a number is out of its range, no document is given, or
                both a text and a number are given.
        """
        if text is not None:
            if not isinstance(text, str):
                raise InvalidArgument(f"text must be a string, got {shown(text)}")
            if document_id is None or start is not None or end is not None:
                raise InvalidArgument(f"text needs a document, and neither start nor end beside it, got {shown(text)}")
            return cls(checked_id("document_id", document_id), None, None, text)
        if document_id is None:
            if start is not None or end is not None:
                raise InvalidArgument(f"start and end need a document_id, got {shown(start)} and {shown(end)}")
            return None
        first = None if start is None else check_whole("start", start, 0)
        last = None if end is None else check_whole("end", end, 1)
        if last is not None and last <= (first or 0):
            raise InvalidArgument(f"end must be > start, got {first or 0} and {last}")
        return cls(checked_id("document_id", document_id), first, last)


@dataclass(frozen=True, slots=True)
class Target:
    """Consecutive leaves of a document.

    Attributes:
        row: The index's record of the document.
        first: Ordinal of the first leaf.
        last: Ordinal of the last leaf (inclusive).
        start: First character of the first leaf.
        end: The character after the last leaf.
        elsewhere: Other places of the piece's words in the document, as (start, end), in order.
    """

    row: Row
    first: int
    last: int
    start: int
    end: int
    elsewhere: tuple[tuple[int, int], ...] = ()

    def has(self, leaf: LeafId) -> bool:
        """Whether this target has a leaf."""
        same = (leaf.document_id, leaf.version) == (self.row.document_id, self.row.version)
        return same and self.first <= leaf.ordinal <= self.last

    def is_in(self, found: Candidate) -> bool:
        """Whether a result holds one of the target's leaves."""
        span = found.span
        if found.outside is not None or found.summary is not None:
            return False
        same = (span.document_id, span.version) == (self.row.document_id, self.row.version)
        return same and span.first <= self.last and self.first <= span.last

    def is_in_passage(self, passage: Passage) -> bool:
        """Whether a passage holds one of the target's leaves."""
        if passage.summary is not None or passage.kind != "text" or passage.start is None or passage.end is None:
            return False
        return passage.document_id == self.row.document_id and passage.start < self.end and self.start < passage.end

    def is_covered_by(self, passage: Passage) -> bool:
        """Whether a passage is a summary that covers one of the target's leaves."""
        covers = () if passage.summary is None else passage.summary.covers
        return any(
            run.document_id == self.row.document_id and run.first <= self.last and self.first <= run.last for run in covers
        )


def find_target(reader: Reader, piece: Piece) -> Flow[Target | Row]:
    """The leaves of a document's piece. If the document has no leaves or is damaged, only its row.

    Raises:
        DocumentNotFound: if the document is not in the index.
        InvalidArgument: if the piece is not in the document.
    """
    rows = (yield from reader.rows_met([piece.document_id])) if is_unicode(piece.document_id) else {}
    row = rows.get(piece.document_id)
    if row is not None and row.damage is not None:
        return row
    if row is None or row.version is None:
        raise (yield from reader.catalogue()).lacks(piece.document_id)
    if not row.leaves and piece.text is None:
        return row
    start, end = piece.start or 0, row.characters if piece.end is None else piece.end
    if piece.text is None and start >= row.characters:
        raise InvalidArgument(
            f"start must be < {row.characters}, the length of document {shown(piece.document_id)}, got {start}"
        )
    if piece.start is None and piece.end is None and piece.text is None:
        return Target(row, 0, row.leaves - 1, 0, row.characters)
    stored = yield from reader.fetch_leaves(row.leaf_ids)
    if len(stored) < row.leaves:
        raise StaleRead
    elsewhere: list[tuple[int, int]] = []
    if piece.text is not None:
        (start, end), *elsewhere = _places_of(piece.text, stored.values(), row)
    inside = sorted(
        (each.leaf for each in stored.values() if each.leaf.start < end and start < each.leaf.end),
        key=lambda leaf: leaf.ordinal,
    )
    return Target(row, inside[0].ordinal, inside[-1].ordinal, inside[0].start, inside[-1].end, tuple(elsewhere))


def _places_of(text: str, leaves: Iterable[StoredLeaf], row: Row) -> list[tuple[int, int]]:
    """The places of words in a document, ignoring white space, as (start, end).

    Raises:
        InvalidArgument: if the words are not in the document.
    """
    whole = "".join(each.text for each in sorted(leaves, key=lambda each: each.leaf.ordinal))
    words = text.split()
    places = [found.span() for found in re.finditer(r"\s+".join(map(re.escape, words)), whole)] if words else []
    if not places:
        raise InvalidArgument(f"text must be words of document {shown(row.document_id)}, got {shown(text)}")
    return places
