"""Makes documents with their vectors from planned records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leafspan.documents import CHUNK_ID, Piece, check_document, put_together, shared_by_chunks, title_in
from leafspan.engines import Record
from leafspan.errors import InvalidDocument
from leafspan.flows import np
from leafspan.indexing.adopting._plan import DELETED, Member, PlannedDocument, SkippedRecord, read_record
from leafspan.values import Chunk, Document

_UNIT = 1e-3  # greatest difference of a vector's length from 1


class WithVectors(NamedTuple):
    document: Document
    vectors: Any  # matrix with a row for each leaf

    @property
    def records(self) -> list[str]:
        """The ids of its records, one for each leaf."""
        return [str(chunk.metadata.get(CHUNK_ID, self.document.id)) for chunk in self.document.chunks]


@dataclass(slots=True)
class DocumentMaker:
    """Makes documents from records, and counts what the report needs."""

    docstore: Any
    renamed: Mapping[str, str]
    skipped: list[SkippedRecord]
    wholes: Set[str] = frozenset()
    leaves: int = 0  # number of records that are leaves
    alone: int = 0  # number of leaves that are documents of their own
    disagreeing: int = 0  # number of these that have a place, but cannot be joined
    blank: int = 0  # number of characters between chunks that no record has
    zero: int = 0  # number of vectors of length 0
    other_lengths: int = 0  # number of vectors of any other length than 0 and 1
    leaf_keys: set[str] = field(default_factory=set)  # the metadata keys whose values differ within a document

    def documents(self, planned: Sequence[PlannedDocument], records: Mapping[str, Record]) -> list[WithVectors]:
        return [made for each in planned for made in self._made(each, records)]

    def leave_out(self, made: WithVectors, reason: str) -> None:
        """Skip a document's records after all."""
        records = made.records
        for id_ in records:
            self._skip(id_, reason)
        self.leaves -= len(records)
        self.alone -= records == [made.document.id]

    def _made(self, planned: PlannedDocument, records: Mapping[str, Record]) -> Iterator[WithVectors]:
        members = [member for member in planned.members if self._is_usable(member.id, records.get(member.id))]
        if not members:
            return
        pieces = [self._piece(member, records[member.id]) for member in members]
        if members[0].start is not None:
            document = self._joined(planned.id, pieces)
            if document is not None:
                yield self._with_vectors(document, members, records)
                return
            self.disagreeing += len(members)
        for member, piece in zip(members, pieces, strict=True):
            if member.id in self.wholes and member.id != planned.id:
                self._skip(member.id, "its id belongs to a document that other records are pieces of")
            else:
                yield from self._own(member, piece, records)

    def _is_usable(self, id_: str, record: Record | None) -> bool:
        """Whether text and vector can be stored. If not, skip the record."""
        if record is None:
            reason = DELETED
        elif not record.text:
            reason = "it has no text"
        elif record.vector is None or not np.isfinite(record.vector).all():
            reason = "it has no vector of finite numbers"
        else:
            return True
        self._skip(id_, reason)
        return False

    def _skip(self, id_: str, reason: str) -> None:
        self.skipped.append(SkippedRecord(id_, reason))

    def _piece(self, member: Member, record: Record) -> Piece:
        own = read_record(member.id, record.metadata, self.renamed)
        piece = Piece(record.text or "", member.start, own.metadata, own.hidden)
        return piece if member.start is None else piece.named(member.id)

    def _joined(self, id_: str, pieces: Sequence[Piece]) -> Document | None:
        """Join pieces to a document, or return None if they differ where they overlap, or miss more text than they have."""
        source = None if self.docstore is None else self.docstore.get_document(id_, raise_error=False)
        text = None if source is None else source.get_content()
        for whole in [text, None] if text else [None]:
            blank = _blank(pieces, len(whole or ""))
            if blank > sum(len(piece.text) for piece in pieces):
                continue
            try:
                document = put_together(id_, pieces, text=whole)
            except InvalidDocument:
                continue
            self.blank += 0 if whole else blank
            return document
        return None

    def _with_vectors(self, document: Document, members: Sequence[Member], records: Mapping[str, Record]) -> WithVectors:
        kept = [str(chunk.metadata[CHUNK_ID]) for chunk in document.chunks]
        leaves = set(kept)
        for member in members:
            if member.id not in leaves:
                self._skip(member.id, "its text is in the text of another record, which starts at the same character")
        for chunk in document.chunks:
            self.leaf_keys.update(shared_by_chunks(chunk.metadata))
        self.leaf_keys.discard(CHUNK_ID)
        return WithVectors(document, self._matrix(kept, records))

    def _own(self, member: Member, piece: Piece, records: Mapping[str, Record]) -> Iterator[WithVectors]:
        """Make a document of a single record, under the record's id."""
        own = {key: value for key, value in piece.metadata.items() if member.start is None or key != CHUNK_ID}
        chunks = (Chunk(len(piece.text)),)
        whole = Document(member.id, piece.text, title_in(own), own, chunks, hidden=piece.hidden)
        try:
            document = check_document(whole)
        except InvalidDocument as error:
            self._skip(member.id, str(error))
            return
        self.alone += 1
        yield WithVectors(document, self._matrix([member.id], records))

    def _matrix(self, ids: Sequence[str], records: Mapping[str, Record]) -> Any:
        matrix = np.asarray([records[id_].vector for id_ in ids], dtype=np.float32)
        lengths = np.linalg.norm(matrix, axis=1)
        self.leaves += len(ids)
        self.zero += int((lengths == 0).sum())
        self.other_lengths += int(((lengths != 0) & (abs(lengths - 1) > _UNIT)).sum())
        return matrix


def _blank(pieces: Sequence[Piece], length: int) -> int:
    """Return the number of characters of a text of at least this length that no piece has."""
    blank = end = 0
    for piece in sorted(pieces, key=lambda piece: piece.start or 0):
        start = piece.start or 0
        blank += max(0, start - end)
        end = max(end, start + len(piece.text))
    return blank + max(0, length - end)
