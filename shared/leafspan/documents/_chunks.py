"""Chunks of another splitter, put together to the documents that they are pieces of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leafspan.checks import check_text, check_whole
from leafspan.documents._accepting import check_document
from leafspan.documents._frameworks import GivenDocument, recognise
from leafspan.documents._identity import is_random
from leafspan.errors import InvalidDocument
from leafspan.values import Chunk, Document

CHUNK_ID = "chunk_id"
"""The metadata key of a leaf that has the id of the chunk that it was."""

_PLACES = ("start_index", "split_idx_start")  # of LangChain and Haystack; LlamaIndex has start_char_idx beside the metadata
_OWN = (*_PLACES, "split_id")  # what is in the metadata of a chunk and never in those of the text


@dataclass(slots=True)
class _Piece:
    """A chunk with its text, its metadata, and the character at which it starts, None if that is not known."""

    text: str
    start: int | None
    metadata: Mapping[str, Any]


@dataclass(slots=True)
class _Whole:
    """The document that chunks are pieces of, with the id that they know it by."""

    id: str | None
    pieces: list[_Piece] = field(default_factory=list)


def chunks_of(
    chunks: Iterable[object], *, id: str | None = None, overlap: int = 0, flatten_metadata: bool = False
) -> list[Document]:
    """Documents whose leaves are these chunks, so that windows, parents and merging work across them.

    Chunks belong to one document if they were split from the same LlamaIndex or Haystack Document, or if they are
    LangChain's and have the same metadata (but for ``start_index``). Where they say at which character they start, they are
    sorted by it, and each leaf is at that place; text between two chunks that neither holds becomes white space. Otherwise
    they follow each other as they are given. A text that two chunks share comes once.

    Metadata that all chunks of a document have are the document's. Others are kept with their leaves, in the results too,
    but filters do not look at them.

    Args:
        chunks: LangChain, LlamaIndex or Haystack Documents that a splitter of these has made; or texts, together with
            ``id``.
        id: Id of the one document that all of them are chunks of. Default: as above.
        overlap: Most characters that two chunks share which do not say where they start, >= 0. Default: 0.
        flatten_metadata: Whether ``{"a": {"b": 1}}`` is stored as ``{"a.b": 1}``. Default: False, it is an error.

    Raises:
        InvalidArgument: if ``overlap`` is out of its range.
        InvalidDocument: if something is no chunk, chunks differ in a text that they share, or metadata cannot be stored.
    """
    check_whole("overlap", overlap, 0)
    if id is not None:
        check_text("id", id)
    every = [chunks] if isinstance(chunks, str) else list(chunks)
    nodes = {chunk.node_id: chunk for chunk in every if hasattr(chunk, "node_id")}
    wholes: dict[object, _Whole] = {}
    for chunk in every:
        if not getattr(chunk, "child_nodes", None):  # of LlamaIndex's nodes, those that have others below them repeat these
            key, document_id, piece = _recognised(chunk, id, nodes)
            wholes.setdefault(key, _Whole(document_id)).pieces.append(piece)
    return [_document(whole, overlap, flat=flatten_metadata) for whole in wholes.values()]


def _recognised(chunk: object, id_: str | None, nodes: Mapping[str, Any]) -> tuple[object, str | None, _Piece]:
    """What the chunk's document is known by among the others, the document's id, and the chunk."""
    if isinstance(chunk, str):
        if id_ is None:
            raise InvalidDocument("chunks that are texts need the id of their document: chunks_of(texts, id=...)")
        return id_, id_, _Piece(chunk, None, {})
    given = recognise(chunk)
    if isinstance(given, Document):
        raise InvalidDocument(
            f"a chunk must be a text, or a Document of LangChain, LlamaIndex or Haystack, got {type(chunk).__name__}"
        )
    if not isinstance(given.text, str):
        raise InvalidDocument(f"the text of a chunk must be a string, got {type(given.text).__name__}")
    start = _start(chunk, nodes) if hasattr(chunk, "node_id") else _place(given.metadata)
    named = given.id is not None and not is_random(given.id)
    metadata = {**given.metadata, CHUNK_ID: given.id} if named else given.metadata
    whole = given.source or given.metadata.get("source_id")
    if id_ is not None:
        return id_, id_, _Piece(given.text, start, metadata)
    if isinstance(whole, str):
        return whole, None if is_random(whole) else whole, _Piece(given.text, start, metadata)
    return _shared_by_chunks(given), None, _Piece(given.text, start, metadata)


def _place(metadata: Mapping[str, Any]) -> int | None:
    return next((start for key in _PLACES if isinstance(start := metadata.get(key), int)), None)


def _start(node: Any, nodes: Mapping[str, Any]) -> int | None:
    """The character at which a LlamaIndex node starts. Below another node, it only says where it starts in that one."""
    start, parent = node.start_char_idx, node.parent_node
    if start is None or parent is None:
        return start  # type: ignore[no-any-return]
    above = _start(nodes[parent.node_id], nodes) if parent.node_id in nodes else None
    return None if above is None else above + start


def _shared_by_chunks(given: GivenDocument) -> str:
    """The metadata that all chunks of a document have in common."""
    shared = {key: value for key, value in given.metadata.items() if key not in _OWN}
    return json.dumps(shared, sort_keys=True, default=repr)


def _document(whole: _Whole, overlap: int, *, flat: bool) -> Document:
    """The document that the chunks are pieces of."""
    pieces = whole.pieces
    if all(piece.start is not None for piece in pieces):
        text, starts, pieces = _by_place(pieces)
    else:
        text, starts = _in_order(pieces, overlap)
    shared = _common([piece.metadata for piece in pieces])
    ends = [*starts[1:], len(text)]
    chunks = tuple(
        Chunk(end, {key: value for key, value in piece.metadata.items() if key not in shared})
        for piece, start, end in zip(pieces, starts, ends, strict=True)
        if end > start
    )
    title = shared.get("title")
    title = title if isinstance(title, str) and title else None
    return check_document(GivenDocument(whole.id, text, title, shared, chunks=chunks), flatten_metadata=flat)


def _by_place(pieces: Sequence[_Piece]) -> tuple[str, list[int], list[_Piece]]:
    """The text that chunks with known places make, and the chunks in order, with the character at which each starts.

    The first leaf begins at the begin of the text. Of chunks that start at one place, the longest counts.
    """
    ordered = sorted(pieces, key=lambda piece: (piece.start or 0, -len(piece.text)))
    text = ""
    starts: list[int] = []
    kept: list[_Piece] = []
    for piece in ordered:
        start = piece.start or 0
        if start > len(text):
            text += _white_space(start - len(text))
        shared = text[start : start + len(piece.text)]
        if not piece.text.startswith(shared):
            raise InvalidDocument(
                f"chunks of one text must be the same where they overlap, but the one at character {start} is not: "
                f"{piece.text[: len(shared)][:40]!r} and {shared[:40]!r}; give chunks of different texts different ids"
            )
        text += piece.text[len(shared) :]
        if kept and starts[-1] == start:
            continue
        starts.append(start)
        kept.append(piece)
    return text, [0, *starts[1:]], kept


def _white_space(characters: int) -> str:
    """What a splitter has most probably left out between two chunks."""
    return " " if characters == 1 else "\n\n" + " " * (characters - 2)


def _in_order(pieces: Sequence[_Piece], overlap: int) -> tuple[str, list[int]]:
    """The text that chunks make one after the other, and the character at which each starts."""
    text, starts = "", []
    for piece in pieces:
        shared = _shared_length(text, piece.text, overlap)
        if not shared and text and piece.text and not text[-1].isspace() and not piece.text[0].isspace():
            text += "\n"
        starts.append(len(text) - shared)
        text += piece.text[shared:]
    # Where chunks overlap by the whole of one, the next starts no earlier.
    return text, [max(starts[: number + 1]) for number in range(len(starts))]


def _shared_length(before: str, after: str, most: int) -> int:
    """The length of the longest end of the one text that is the begin of the other."""
    lengths = range(min(most, len(before), len(after)), 0, -1)
    return next((length for length in lengths if before.endswith(after[:length])), 0)


def _common(metadatas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of them have in common, but for what belongs to a chunk alone."""
    first, *others = metadatas
    own = (*_OWN, CHUNK_ID)
    return {
        key: value
        for key, value in first.items()
        if key not in own and all(key in other and other[key] == value for other in others)
    }
