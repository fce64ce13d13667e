"""Joins another splitter's chunks to the documents that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leafspan.checks import check_text, check_whole, shown
from leafspan.documents._accepting import is_single
from leafspan.documents._frameworks import recognise
from leafspan.documents._identity import is_random, source_of
from leafspan.documents._pieces import Piece, checked_place, metadata_key, put_together
from leafspan.errors import InvalidDocument
from leafspan.values import Document


@dataclass(slots=True)
class _Whole:
    """The document that chunks come from, with the id that they give it."""

    id: str | None
    runs: list[list[Piece]] = field(default_factory=list)  # adjacent pieces

    def parts(self, *, keep: bool) -> list[list[Piece]]:
        """Return the pieces of each document. Pieces without places are ordered only by their sequence, so other pieces
        between them separate them, unless they are known to belong to one document.
        """
        together = [piece for run in self.runs for piece in run]
        has_places = any(piece.start is not None for piece in together)
        return [together] if keep or has_places or self.id is not None else self.runs


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
        InvalidDocument: if something is no chunk, chunks differ in a text that they share, only some say where they
            start, a start position is no whole number, chunks do not say which text they are from, or metadata cannot
            be stored.
    """
    overlap = check_whole("overlap", overlap, 0)
    if id is not None:
        check_text("id", id)
    if chunks is None:
        raise InvalidDocument("chunks must be an iterable of chunks, got None")
    every = [chunks] if is_single(chunks) else list(chunks)
    nodes = {chunk.node_id: chunk for chunk in every if hasattr(chunk, "node_id")}
    wholes: dict[object, _Whole] = {}
    before: object = None
    for chunk in every:
        if getattr(chunk, "child_nodes", None):
            continue  # LlamaIndex's nodes with child nodes repeat the children's text
        key, document_id, piece = _recognised(chunk, id, nodes)
        whole = wholes.setdefault(key, _Whole(document_id))
        if key != before or not whole.runs:
            whole.runs.append([])
        whole.runs[-1].append(piece)
        before = key
    return [
        put_together(whole.id, pieces, overlap=overlap, flat=flatten_metadata)
        for whole in wholes.values()
        for pieces in whole.parts(keep=id is not None)
    ]


def _recognised(chunk: object, id_: str | None, nodes: Mapping[str, Any]) -> tuple[object, str | None, Piece]:
    """Return the key of the chunk's document, the document's id, and the chunk."""
    if isinstance(chunk, str):
        if id_ is None:
            raise InvalidDocument("chunks that are texts need the id of their document: chunks_of(texts, id=...)")
        return id_, id_, Piece(chunk, None, {})
    given = recognise(chunk)
    if isinstance(given, Document):
        raise InvalidDocument(
            f"a chunk must be a text, or a Document of LangChain, LlamaIndex or Haystack, got {type(chunk).__name__}"
        )
    if not isinstance(given.text, str):
        raise InvalidDocument(f"the text of a chunk must be a string, got {type(given.text).__name__}")
    start = _start(chunk, nodes) if hasattr(chunk, "node_id") else checked_place(given.metadata)
    piece = Piece(given.text, start, given.metadata, given.hidden)
    if given.id is not None and not is_random(given.id):
        piece = piece.named(given.id)
    whole = given.source
    if id_ is not None:
        return id_, id_, piece
    if whole is not None:
        return whole, None if is_random(whole) else whole, piece
    if start is None and source_of(given.metadata) is None:
        raise InvalidDocument(
            "a chunk must name its text, by a source in its metadata, or chunks_of(chunks, id=...) for chunks of "
            f"one text, got {given.text[:40]!r} with metadata {shown(dict(given.metadata))}"
        )
    return metadata_key(given.metadata), None, piece


def _start(node: Any, nodes: Mapping[str, Any]) -> int | None:
    """Return the character at which a LlamaIndex node starts. A child node gives its start in its parent only.

    A Document, such as a loader's page, gives no start.
    """
    start, parent = getattr(node, "start_char_idx", None), getattr(node, "parent_node", None)
    if start is None or parent is None:
        return start
    above = _start(nodes[parent.node_id], nodes) if parent.node_id in nodes else None
    return None if above is None else above + start
