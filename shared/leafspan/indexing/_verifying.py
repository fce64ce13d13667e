"""Compares every stored leaf with its copies, which answer queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.errors import DamagedIndex, StorageFailed
from leafspan.flows import Call, Flow, Progress
from leafspan.indexing._examining import Examination, Finding
from leafspan.indexing._vector_repair import VectorChoice, VectorPair, choose_vectors, some_leaves, write_vectors
from leafspan.segments import Mirror, OpenSegment, are_same
from leafspan.store import DocumentToWrite, Reader, Row, Store, grouped, read_consistently
from leafspan.values import LeafId, leaf_ids

_GROUP = 1_000  # leaves read at a time


def verify(
    store: Store, copies: Sequence[Mirror], embed: Embed | None, settings: IndexSettings, options: Examination
) -> Flow[list[Finding]]:
    """Compare copies with the store, leaf by leaf, and replace differing copies by the stored content.

    A stored vector has no checksum. If it differs from its copy, the one wins that embedding the text again gives. Without
    an embedder, or if neither fits, the stored one wins.

    A segment without the leaf is no difference: the next query that needs it builds it. Documents that are damaged in the
    store are left to ``examine``.
    """
    rows = yield from store.rows()
    findings: list[Finding] = []
    compared: list[_Compared] = []
    for copy in copies:
        segments, damaged = yield from copy.stored()
        compared.append(_Compared(copy, [_Part(each, copy.comparing(each)) for each in segments], damaged))
    documents = [row for _, row in sorted(rows.items()) if row.version is not None and row.leaves and row.damage is None]
    documents = [row for row in documents if any(each.has(row) for each in compared)]
    with Progress(sum(row.leaves for row in documents), show=options.show, what="Comparing copies") as progress:
        for group in grouped(documents, _GROUP):
            stored = yield from _stored(store, group, with_vectors=store.embedded)
            differing = yield Call(_differing, (compared, stored, options))
            choice = yield from choose_vectors(store, embed, settings, group, differing.vectors)
            if options.repair and choice.of_copy:
                yield from write_vectors(store, choice.of_copy, options.timeout)
            findings += choice.findings(options.repair)
            _blame(differing, choice)
            progress.advance(sum(row.leaves for row in group))
    for each in compared:
        if options.repair and (each.wrong or each.damaged):
            again = partial(each.copy.make_again, wrong=each.wrong, files=list(each.damaged))
            yield from read_consistently(store, again)
        findings += each.findings(options.repair)
    return sorted(findings, key=lambda finding: finding.document_id)


class _Part(NamedTuple):
    """A segment, and the code that compares it with documents."""

    segment: OpenSegment
    compare: Any

    def first_row(self, row: Row) -> int | None:
        """Return the first row of a document's current version in the segment, or None if the segment does not have it."""
        documents = self.segment.documents
        place = documents.find(row.document_id)
        if place is None or documents.document(place) != (row.document_id, row.version, row.leaves):
            return None
        return self.segment.starts[place]


@dataclass(slots=True)
class _Compared:
    """The state of one copy's comparison."""

    copy: Mirror
    parts: Sequence[_Part]  # its segments
    damaged: Mapping[Path, str]  # what is wrong with unreadable files
    wrong: list[OpenSegment] = field(default_factory=list)  # segments with differences
    problems: list[tuple[str, str]] = field(default_factory=list)  # the differences, as documents and problems

    def findings(self, repair: bool) -> list[Finding]:
        """Return the copy's findings. Nothing is repaired while the files remain, as in a read-only folder."""
        files = [*self.damaged, *(each.path for each in self.wrong if each.path is not None)]
        repaired = repair and not any(path.exists() for path in files)
        of_files = [("/".join(path.parts[-3:]), problem) for path, problem in self.damaged.items()]
        return [Finding(*each, repaired) for each in (*of_files, *self.problems)]

    def has(self, row: Row) -> bool:
        """Whether the copy has a document."""
        return any(part.first_row(row) is not None for part in self.parts)


class _Difference(NamedTuple):
    """Leaves of a document that differ in a segment."""

    compared: _Compared
    segment: OpenSegment
    document: DocumentToWrite
    ordinals: Sequence[int]


class _Differing(NamedTuple):
    """The differences of a group of documents: leaves in segments, and pairs of vectors by leaf id."""

    leaves: Sequence[_Difference]
    vectors: Mapping[str, VectorPair]


def _stored(store: Store, rows: Sequence[Row], *, with_vectors: bool) -> Flow[list[DocumentToWrite]]:
    """Return documents as stored, without those with missing leaves, which others have written since."""
    import numpy as np

    ids = [id_ for row in rows for id_ in row.leaf_ids]
    read = partial(Reader.stored_records, ids=ids, fields=["text", "metadata"])
    vectors: dict[str, Any] = {}
    if with_vectors:
        vectors = yield from _stored_vectors(store, ids)
    records = yield from read_consistently(store, read)
    documents = []
    for row in rows:
        of_row = [records.get(id_) for id_ in row.leaf_ids]
        whole = [each for each in of_row if each is not None and each.text is not None and each.metadata]
        if len(whole) < row.leaves:
            continue
        own = [vectors[id_] for id_ in row.leaf_ids if id_ in vectors]
        matrix = np.asarray(own, dtype=np.float32) if len(own) == row.leaves and len(set(map(len, own))) == 1 else None
        documents.append(
            DocumentToWrite(row, [each.text or "" for each in whole], [each.metadata or {} for each in whole], matrix)
        )
    return documents


def _stored_vectors(store: Store, ids: Sequence[str]) -> Flow[dict[str, Any]]:
    """Return the stored vectors of leaves, by id."""
    read = partial(Reader.stored_records, fields=["vector"])
    try:
        records = yield from read_consistently(store, partial(read, ids=ids))
    except DamagedIndex:
        return {}  # known to be lost
    except StorageFailed:  # an engine may fail if a vector is missing
        missing = yield from store.without_vectors(ids)
        records = yield from read_consistently(store, partial(read, ids=[id_ for id_ in ids if id_ not in missing]))
    return {id_: record.vector for id_, record in records.items() if record.vector is not None}


def _differing(compared: Sequence[_Compared], documents: Sequence[DocumentToWrite], options: Examination) -> _Differing:
    """Return options documents differ between the store and the copies."""
    leaves: list[_Difference] = []
    vectors: dict[str, VectorPair] = {}
    for document in documents:
        for each in compared:
            for segment, compare in each.parts:
                first = _Part(segment, compare).first_row(document.row)
                if first is None or ("vectors" in segment.arrays and document.vectors is None):
                    continue
                try:
                    ordinals = compare(first, document)
                except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
                    ordinals = range(document.row.leaves)  # its arrays do not even match each other
                if not ordinals or not _is_as_written(document, options):
                    continue
                leaves.append(_Difference(each, segment, document, ordinals))
                vectors |= _pairs(segment, first, document, ordinals)
    return _Differing(leaves, vectors)


def _is_as_written(document: DocumentToWrite, options: Examination) -> bool:
    """Whether a document is stored as it was written."""
    row = document.row
    try:
        for ordinal, (text, metadata) in enumerate(zip(document.texts, document.metadatas, strict=True)):
            options.check_leaf(row, LeafId(row.document_id, row.version or "", ordinal), text, metadata)
    except ValueError:
        return False
    return True


def _pairs(
    segment: OpenSegment, first: int, document: DocumentToWrite, ordinals: Sequence[int]
) -> Iterator[tuple[str, VectorPair]]:
    """Yield the differing vectors of these leaves, by id. A copy without vectors yields nothing."""
    if "vectors" not in segment.arrays:
        return
    row = document.row
    for ordinal, id_ in zip(ordinals, leaf_ids(row.document_id, row.version or "", ordinals), strict=True):
        kept, stored = segment.arrays["vectors"][first + ordinal], document.vectors[ordinal]
        if not are_same(kept[None], stored[None])[0]:
            yield id_, VectorPair(kept, stored)


def _blame(differing: _Differing, choice: VectorChoice) -> None:
    """Record what is wrong with the copies."""
    for compared, segment, document, ordinals in differing.leaves:
        row = document.row
        ids = dict(zip(ordinals, leaf_ids(row.document_id, row.version or "", ordinals), strict=True))
        of_vectors = "vectors" in segment.arrays
        wrong = [ordinal for ordinal, id_ in ids.items() if not of_vectors or id_ not in choice.of_copy]
        if not wrong:
            continue
        if segment not in compared.wrong:
            compared.wrong.append(segment)
        why = {choice.of_store[ids[ordinal]] for ordinal in wrong if of_vectors and ids[ordinal] in choice.of_store}
        said = f"its copied {compared.copy.content} differ from what is stored in {some_leaves(wrong)}"
        compared.problems.append((row.document_id, "; ".join([said, *sorted(why)])))
