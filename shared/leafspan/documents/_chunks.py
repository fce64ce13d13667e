"""Joins another splitter's chunks to the documents that they come from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from leafspan.checks import check_text, check_whole, is_missing, is_number, shown
from leafspan.documents._accepting import check_document, is_single
from leafspan.documents._frameworks import ForeignDocument, is_random, recognise, source_of
from leafspan.documents._metadata import title_in
from leafspan.errors import InvalidDocument
from leafspan.values import Chunk, Document


def chunks_of(
    chunks: Iterable[object], *, id: str | None = None, overlap: int = 0, flatten_metadata: bool = False
) -> list[Document]:
    """Return documents whose leaves are these chunks, so that windows, parents and merging work across them.

    Chunks belong to one document if they were split from the same LlamaIndex or Haystack Document, or if they are
    LangChain's and have the same metadata (except ``start_index``). If chunks have a start position, they are sorted
    by it, and each leaf is at that place. Text that is missing between two chunks becomes white space. Otherwise chunks
    keep their order, and only neighbouring chunks belong together. Text that two chunks share is stored once. The
    documents have no line numbers, since the line ends between chunks are not known.

    Metadata that all chunks share become the document's. Other metadata stay with their leaves and are in results, but
    filters ignore them. A key that one chunk hides from models is hidden in the whole document. ``chunk_id``, which has
    the chunks' own ids, is hidden too.

    Args:
        chunks: LangChain, LlamaIndex or Haystack Documents that their splitter has made; or texts, together with ``id``.
        id: Id of the one document that all of them are chunks of. Default: as above.
        overlap: Most characters that two chunks without a start position share, >= 0. Default: 0.
        flatten_metadata: Whether ``{"a": {"b": 1}}`` is stored as ``{"a.b": 1}``. Default: False, it is an error.

    Raises:
        InvalidArgument: if ``overlap`` is out of its range.
        InvalidDocument: if something is no chunk, chunks differ in a text that they share, only some say where they start,
            a start position is no whole number, chunks do not say which text they are from, or metadata cannot be stored.
    """
    overlap = check_whole("overlap", overlap, 0)
    if id is not None:
        check_text("id", id)
    if chunks is None:
        raise InvalidDocument("chunks must be an iterable of chunks, got None")
    every = [chunks] if is_single(chunks) else list(chunks)
    nodes = {chunk.node_id: chunk for chunk in every if hasattr(chunk, "node_id")}
    # LlamaIndex's nodes with child nodes repeat the children's text.
    placed = [_recognised_chunk(chunk, id, nodes) for chunk in every if not getattr(chunk, "child_nodes", None)]
    ids = {key: document_id for key, document_id, _ in placed}
    runs: dict[object, list[list[Piece]]] = {}  # adjacent pieces, by the key of their document
    for key, run in groupby(placed, key=itemgetter(0)):
        runs.setdefault(key, []).append([piece for _, _, piece in run])
    documents: list[Document] = []
    for key, of_document in runs.items():
        together = list(chain.from_iterable(of_document))
        # Pieces without places are ordered only by their sequence, so other pieces between them separate them.
        is_one = ids[key] is not None or any(piece.start is not None for piece in together)
        for pieces in [together] if is_one else of_document:
            documents.append(put_together(ids[key], pieces, overlap=overlap, flat=flatten_metadata))
    return documents


def _recognised_chunk(chunk: object, id_: str | None, nodes: Mapping[str, Any]) -> tuple[object, str | None, Piece]:
    """Return the key of the chunk's document, the document's id, and the chunk."""
    if isinstance(chunk, str):
        if id_ is None:
            raise InvalidDocument("chunks that are texts need the id of their document: chunks_of(texts, id=...)")
        return id_, id_, Piece(chunk, None, {})
    document = recognise(chunk)
    if isinstance(document, Document):
        raise InvalidDocument(
            f"a chunk must be a text, or a Document of LangChain, LlamaIndex or Haystack, got {type(chunk).__name__}"
        )
    if not isinstance(document.text, str):
        raise InvalidDocument(f"the text of a chunk must be a string, got {type(document.text).__name__}")
    start = _start(chunk, nodes) if hasattr(chunk, "node_id") else checked_place(document.metadata)
    piece = Piece(document.text, start, document.metadata, document.hidden)
    if document.id is not None and not is_random(document.id):
        piece = piece.named(document.id)
    whole = document.source
    if id_ is not None:
        return id_, id_, piece
    if whole is not None:
        return whole, None if is_random(whole) else whole, piece
    if start is None and source_of(document.metadata) is None:
        raise InvalidDocument(
            "a chunk must name its text, by a source in its metadata, or chunks_of(chunks, id=...) for chunks of "
            f"one text, got {document.text[:40]!r} with metadata {shown(dict(document.metadata))}"
        )
    return metadata_key(document.metadata), None, piece


def _start(node: Any, nodes: Mapping[str, Any]) -> int | None:
    """Return the character at which a LlamaIndex node starts. A child node gives its start in its parent only.

    A Document, such as a loader's page, gives no start.
    """
    start, parent = getattr(node, "start_char_idx", None), getattr(node, "parent_node", None)
    if start is None or parent is None:
        return start
    above = _start(nodes[parent.node_id], nodes) if parent.node_id in nodes else None
    return None if above is None else above + start


CHUNK_ID = "chunk_id"  # a leaf's metadata key for the id of the chunk that became the leaf
_PLACES = ("start_index", "split_idx_start")  # of LangChain and Haystack; LlamaIndex's is not in metadata
_LONGEST_GAP = 10_000_000  # characters
_HEADING = re.compile(r"#{1,6} ")
_BLOCK = re.compile(r"#{1,6} |[-*+] |\d+[.)] |>|\||```|~~~")  # starts of a line that begins a block
_NUMERAL = re.compile(r"(-?[0-9]{1,18})(?:\.0*)?")  # a whole number, also as CSV writes it when some values are missing
_OWN = (*_PLACES, "split_id")  # metadata of a chunk that are never metadata of its text


@dataclass(frozen=True, slots=True)
class Piece:
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
    places = (_whole(metadata[key]) for key in _PLACES if key in metadata)
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
    placed = sum(piece.start is not None for piece in pieces)
    if placed == len(pieces):
        text, starts, pieces = _by_place(pieces, text)
    elif placed:
        raise InvalidDocument(
            f"{placed} of {len(pieces)} chunks of one text say at which character they start (LangChain's -1 is ignored); "
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
    whole = ForeignDocument(id_, text, title_in(shared), shared, chunks=chunks, hidden=hidden)
    return check_document(whole, flatten_metadata=flat)


def _by_place(pieces: Sequence[Piece], whole: str | None) -> tuple[str, list[int], list[Piece]]:
    """Join pieces with known places. Return the text, and the pieces in order with their start characters.

    The first leaf starts where the text does. Of pieces with the same start, the longest is used.
    """
    ordered = sorted(pieces, key=lambda piece: (piece.start or 0, -len(piece.text)))
    text = whole or ""
    starts: list[int] = []
    ordered_pieces: list[Piece] = []
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
        if not piece.text.startswith(shared) or (whole is not None and shared != piece.text):
            raise InvalidDocument(
                f"chunks of one text must be the same where they overlap, but the one at character {start} is not: "
                f"{piece.text[: len(shared)][:40]!r} and {shared[:40]!r}; give chunks of different texts different ids"
            )
        text += piece.text[len(shared) :]
        if ordered_pieces and starts[-1] == start:
            if piece.text == ordered_pieces[-1].text and _own_of(piece) != _own_of(ordered_pieces[-1]):
                raise InvalidDocument(
                    f"two chunks of one text must not differ only in their metadata, got two at character {start}: "
                    f"{piece.text[:40]!r}; if they are of different texts, give these different ids"
                )
            continue
        starts.append(start)
        ordered_pieces.append(piece)
    return text, [0, *starts[1:]], ordered_pieces


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
