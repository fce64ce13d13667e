"""Joins pieces of a text that somebody has split."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leafspan.checks import is_missing, is_number, shown
from leafspan.documents._accepting import check_document
from leafspan.documents._frameworks import GivenDocument
from leafspan.documents._metadata import title_in
from leafspan.errors import InvalidDocument
from leafspan.values import Chunk, Document

CHUNK_ID = "chunk_id"
"""A leaf's metadata key for the id of the chunk that became the leaf."""

_PLACES = ("start_index", "split_idx_start")  # of LangChain and Haystack; LlamaIndex's is not in metadata
_LONGEST_GAP = 10_000_000  # characters
_HEADING = re.compile(r"#{1,6} ")
_BLOCK = re.compile(r"#{1,6} |[-*+] |\d+[.)] |>|\||```|~~~")  # starts of a line that begins a block
_NUMERAL = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")  # a whole number, also as CSV writes it when some values are missing
_OWN = (*_PLACES, "split_id")  # metadata of a chunk that are never metadata of its text


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text."""

    text: str
    start: int | None  # the character at which it starts. None if unknown
    metadata: Mapping[str, Any]  # its metadata, including those that it shares with other pieces
    hidden: tuple[str, ...] = ()  # keys of its metadata that no model may see

    def named(self, id_: str) -> Piece:
        """Return the piece with an id in its metadata, hidden from models, unless it has its own id there."""
        if CHUNK_ID in self.metadata:
            return self
        return replace(self, metadata={CHUNK_ID: id_, **self.metadata}, hidden=(*self.hidden, CHUNK_ID))


def place_of(metadata: Mapping[str, Any]) -> int | None:
    """Return a chunk's start character from its metadata, or None if unknown (LangChain's -1)."""
    places = (_whole(metadata.get(key)) for key in _PLACES)
    return next((start for start in places if start is not None and start >= 0), None)


def checked_place(metadata: Mapping[str, Any]) -> int | None:
    """Like ``place_of``, but raise an error for an invalid place."""
    for key in _PLACES:
        value = metadata.get(key)
        if is_missing(value) or (isinstance(value, str) and not value.strip()):
            continue
        whole = _whole(value)
        if whole is None or whole < -1:
            raise InvalidDocument(
                f"{key} of a chunk must be the character at which it starts, a whole number >= 0 (LangChain's -1 is "
                f"ignored), got {shown(value)}; if it is something else, give it another name, or leave it out"
            )
    return place_of(metadata)


def _whole(value: object) -> int | None:
    """Return a whole number as an int, also if numpy, JSON or CSV made it a float or a text. None for other values."""
    if isinstance(value, str):
        numeral = _NUMERAL.fullmatch(value.strip())
        return int(numeral[1]) if numeral else None
    number: Any = value
    return int(number) if is_number(number) and number == int(number) else None


def shared_by_chunks(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a chunk's metadata that all chunks of its text share."""
    return {key: value for key, value in metadata.items() if key not in _OWN}


def metadata_key(metadata: Mapping[str, Any]) -> str:
    """Return a key that all chunks of a text share, if only their metadata show that they belong together."""
    return json.dumps({str(key): value for key, value in shared_by_chunks(metadata).items()}, sort_keys=True, default=repr)


def put_together(
    id_: str | None, pieces: Sequence[Piece], *, overlap: int = 0, text: str | None = None, flat: bool = False
) -> Document:
    """Return the document that pieces were split from, with a chunk for each piece. It hides what any piece hides."""
    hidden = tuple(dict.fromkeys(key for piece in pieces for key in piece.hidden))
    known = sum(piece.start is not None for piece in pieces)
    if known == len(pieces):
        text, starts, pieces = _by_place(pieces, text)
    elif known:
        raise InvalidDocument(
            f"{known} of {len(pieces)} chunks of one text say at which character they start (LangChain's -1 is ignored); "
            "all must, or none: leave start_index out of their metadata, give them in the order of the text, and say "
            "overlap=, the most characters that two of them share"
        )
    else:
        pieces = [piece for piece in pieces if piece.text] or pieces[:1]
        text, starts = _in_order(pieces, overlap)
    shared = _common([piece.metadata for piece in pieces])
    ends = [*starts[1:], len(text)]
    chunks = tuple(
        Chunk(end, {key: value for key, value in piece.metadata.items() if key not in shared})
        for piece, start, end in zip(pieces, starts, ends, strict=True)
        if end > start
    )
    whole = GivenDocument(id_, text, title_in(shared), shared, chunks=chunks, hidden=hidden)
    return check_document(whole, flatten_metadata=flat)


def _by_place(pieces: Sequence[Piece], known: str | None) -> tuple[str, list[int], list[Piece]]:
    """Join pieces with known places. Return the text, and the pieces in order with their start characters.

    The first leaf starts where the text does. Of pieces with the same start, the longest is used.
    """
    ordered = sorted(pieces, key=lambda piece: (piece.start or 0, -len(piece.text)))
    text = known or ""
    starts: list[int] = []
    kept: list[Piece] = []
    for piece in ordered:
        start = piece.start or 0
        if start - len(text) > _LONGEST_GAP:
            raise InvalidDocument(
                f"a chunk must start at most {_LONGEST_GAP:,} characters behind the one before, got {start:,} behind "
                f"{len(text):,}"
            )
        if start > len(text):
            text += _white_space(start - len(text), text, piece.text)
        shared = text[start : start + len(piece.text)]
        if not piece.text.startswith(shared) or (known is not None and shared != piece.text):
            raise InvalidDocument(
                f"chunks of one text must be the same where they overlap, but the one at character {start} is not: "
                f"{piece.text[: len(shared)][:40]!r} and {shared[:40]!r}; give chunks of different texts different ids"
            )
        text += piece.text[len(shared) :]
        if kept and starts[-1] == start:
            if piece.text == kept[-1].text and _own_of(piece) != _own_of(kept[-1]):
                raise InvalidDocument(
                    f"two chunks of one text must not differ only in their metadata, got two at character {start}: "
                    f"{piece.text[:40]!r}; if they are of different texts, give these different ids"
                )
            continue
        starts.append(start)
        kept.append(piece)
    return text, [0, *starts[1:]], kept


def _own_of(piece: Piece) -> dict[str, Any]:
    return {key: value for key, value in shared_by_chunks(piece.metadata).items() if key != CHUNK_ID}


def _white_space(characters: int, before: str, after: str) -> str:
    """Return what a splitter has probably left out between two chunks: a line end around a block of Markdown."""
    if characters == 1:
        last_line = before[before.rfind("\n") + 1 :]
        return "\n" if _BLOCK.match(after) or _HEADING.match(last_line) else " "
    return "\n\n" + " " * (characters - 2)


def _in_order(pieces: Sequence[Piece], overlap: int) -> tuple[str, list[int]]:
    """Join pieces one after the other. Return the text, and the character at which each piece starts."""
    text, starts = "", []
    for piece in pieces:
        shared = _shared_length(text, piece.text, overlap)
        if not shared and text and piece.text and not text[-1].isspace() and not piece.text[0].isspace():
            text += "\n"
        starts.append(len(text) - shared)
        text += piece.text[shared:]
    # Where chunks overlap by a whole chunk, the next one starts no earlier.
    return text, [max(starts[: number + 1]) for number in range(len(starts))]


def _shared_length(before: str, after: str, most: int) -> int:
    """Return the length of the longest end of one text that is the start of the other."""
    lengths = range(min(most, len(before), len(after)), 0, -1)
    return next((length for length in lengths if before.endswith(after[:length])), 0)


def _common(metadatas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all metadata have in common, without a chunk's own keys."""
    first, *others = metadatas
    own = (*_OWN, CHUNK_ID)
    return {
        key: value
        for key, value in first.items()
        if key not in own and all(key in other and _same(value, other[key]) for other in others)
    }


def _same(one: object, other: object) -> bool:
    """Whether they are equal and of one type: True is not 1."""
    return type(one) is type(other) and one == other
