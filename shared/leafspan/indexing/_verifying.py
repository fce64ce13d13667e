"""Compares every stored leaf with its copies, which answer queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.errors import DamagedIndex, IndexMismatch, StorageFailed
from leafspan.flows import Call, Flow, Progress, np
from leafspan.indexing._examining import Examination, Finding
from leafspan.indexing._vector_repair import embedded_again, write_vectors
from leafspan.segments import Mirror, OpenSegment, are_same, vectors_at
from leafspan.store import DocumentToWrite, Reader, Row, Store, grouped, read_consistently
from leafspan.values import LeafId, leaf_ids

_GROUP = 1_000  # leaves read at a time
_NEAR = 0.01  # greatest difference between two vectors, of length 1, of the same text embedded on different days


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
        compared.append(_Compared(copy, [(each, copy.comparing(each)) for each in segments], damaged))
    documents = [row for _, row in sorted(rows.items()) if row.version is not None and row.leaves and row.damage is None]
    documents = [row for row in documents if any(each.has(row) for each in compared)]
    with Progress(sum(row.leaves for row in documents), show=options.show, what="Comparing copies") as progress:
        for group in grouped(documents, _GROUP):
            stored = yield from _stored(store, group, with_vectors=store.embedded)
            differences, vectors = yield Call(_differences, (compared, stored, options))
            of_copy, of_store = yield from _choose_vectors(store, embed, settings, group, vectors)
            if options.repair and of_copy:
                yield from write_vectors(store, of_copy, options.timeout)
            for document_id, ordinals in _by_document(of_copy).items():
                said = f"the stored vector of {_some_leaves(ordinals)} does not fit its text, the copy's does"
                findings.append(Finding(document_id, said, options.repair))
            _blame(differences, of_copy, of_store)
            progress.advance(sum(row.leaves for row in group))
    for each in compared:
        if options.repair and (each.wrong or each.damaged):
            again = partial(each.copy.make_again, wrong=each.wrong, files=list(each.damaged))
            yield from read_consistently(store, again)
        findings += each.findings(options.repair)
    return sorted(findings, key=lambda finding: finding.document_id)


@dataclass(slots=True)
class _Compared:
    """The state of one copy's comparison."""

    copy: Mirror
    parts: Sequence[tuple[OpenSegment, Any]]  # its segments, each with the code that compares it with documents
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
        return any(_first_row(segment, row) is not None for segment, _ in self.parts)


def _first_row(segment: OpenSegment, row: Row) -> int | None:
    """Return the first row of a document's current version in a segment, or None if the segment does not have it."""
    documents = segment.documents
    place = documents.find(row.document_id)
    if place is None or documents.document(place) != (row.document_id, row.version, row.leaves):
        return None
    return segment.starts[place]


class _Difference(NamedTuple):
    """Leaves of a document that differ in a segment."""

    compared: _Compared
    segment: OpenSegment
    row: Row
    ordinals: Sequence[int]


_Pair = tuple[Any, Any]  # the vectors of one leaf in the copy and in the store


def _stored(store: Store, rows: Sequence[Row], *, with_vectors: bool) -> Flow[list[DocumentToWrite]]:
    """Return documents as stored, without those with missing leaves, which others have written since."""
    ids = [id_ for row in rows for id_ in row.record_ids]
    read = partial(Reader.stored_records, ids=ids, fields=["text", "metadata"])
    vectors: dict[str, Any] = {}
    if with_vectors:
        vectors = yield from _stored_vectors(store, ids)
    records = yield from read_consistently(store, read)
    documents = []
    for row in rows:
        of_row = [records.get(id_) for id_ in row.record_ids]
        whole = [each for each in of_row if each is not None and each.text is not None and each.metadata]
        if len(whole) < row.leaves:
            continue
        own = [vectors[id_] for id_ in row.record_ids if id_ in vectors]
        matrix = np.asarray(own, dtype=np.float32) if len(own) == row.leaves and len(set(map(len, own))) == 1 else None
        documents.append(
            DocumentToWrite(row, [each.text or "" for each in whole], [each.metadata or {} for each in whole], matrix)
        )
    return documents


def _stored_vectors(store: Store, ids: Sequence[str]) -> Flow[dict[str, Any]]:
    read = partial(Reader.stored_records, fields=["vector"])
    try:
        records = yield from read_consistently(store, partial(read, ids=ids))
    except DamagedIndex:
        return {}  # known to be lost
    except StorageFailed:  # an engine may fail if a vector is missing
        missing = yield from store.leaves.without_vectors(ids)
        records = yield from read_consistently(store, partial(read, ids=[id_ for id_ in ids if id_ not in missing]))
    return {id_: record.vector for id_, record in records.items() if record.vector is not None}


def _differences(
    compared: Sequence[_Compared], documents: Sequence[DocumentToWrite], options: Examination
) -> tuple[list[_Difference], dict[str, _Pair]]:
    """Return where documents differ between the store and the copies, and the differing vectors by leaf id."""
    differences: list[_Difference] = []
    vectors: dict[str, _Pair] = {}
    for document in documents:
        for each in compared:
            for segment, compare in each.parts:
                first = _first_row(segment, document.row)
                if first is None or ("codes" in segment.arrays and document.vectors is None):
                    continue
                try:
                    ordinals = compare(first, document)
                except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
                    ordinals = range(document.row.leaves)  # its arrays do not even match each other
                if not ordinals or not _is_as_written(document, options):
                    continue
                differences.append(_Difference(each, segment, document.row, ordinals))
                if "codes" in segment.arrays:
                    copied = vectors_at(segment.arrays, slice(first, first + document.row.leaves))
                    vectors |= _pairs(copied, document, ordinals)
    return differences, vectors


def _is_as_written(document: DocumentToWrite, options: Examination) -> bool:
    row = document.row
    try:
        for ordinal, (text, metadata) in enumerate(zip(document.texts, document.metadatas, strict=True)):
            options.check_leaf(row, LeafId(row.document_id, row.version or "", ordinal), text, metadata)
    except ValueError:
        return False
    return True


def _pairs(copied: Any, document: DocumentToWrite, ordinals: Sequence[int]) -> Iterator[tuple[str, _Pair]]:
    """Yield the differing vectors of these leaves, by id."""
    ids = leaf_ids(document.row.document_id, document.row.version or "", ordinals)
    for ordinal, id_ in zip(ordinals, ids, strict=True):
        pair = copied[ordinal], document.vectors[ordinal]
        if not are_same(pair[0][None], pair[1][None])[0]:
            yield id_, pair


def _choose_vectors(
    store: Store, embed: Embed | None, settings: IndexSettings, rows: Sequence[Row], pairs: Mapping[str, _Pair]
) -> Flow[tuple[dict[str, Any], dict[str, str]]]:
    """Return the copy's vectors that embedding the text again gives, and for each other leaf why the stored one wins."""
    made: Mapping[str, Any] = {}
    if pairs and embed is not None:
        try:
            made = yield from embedded_again(store, embed, settings, rows, list(pairs))
        except IndexMismatch:  # not the embedder that made the index
            embed = None
    of_copy, of_store = {}, {}
    for id_, (copied, stored) in pairs.items():
        if embed is None:
            of_store[id_] = "no embedder on this machine can tell, so the stored one counts"
        elif id_ not in made or not min(_distance(made[id_], copied), _distance(made[id_], stored)) <= _NEAR:
            of_store[id_] = "its text has neither when it is embedded again, so the stored one counts"
        elif _distance(made[id_], copied) < _distance(made[id_], stored):
            of_copy[id_] = copied
        else:
            of_store[id_] = "the stored one fits its text"
    return of_copy, of_store


def _distance(vector: Any, other: Any) -> float:
    """Return the length of the difference of two vectors, scaled to length 1, or infinity if they cannot be compared."""
    if vector.shape != other.shape or not np.isfinite(other).all():
        return float("inf")
    lengths = [max(float(np.linalg.norm(each)), 1e-30) for each in (vector, other)]
    return float(np.linalg.norm(vector / lengths[0] - other / lengths[1]))


def _blame(differences: Sequence[_Difference], of_copy: Mapping[str, Any], of_store: Mapping[str, str]) -> None:
    """Record what is wrong with the copies."""
    for compared, segment, row, ordinals in differences:
        ids = dict(zip(ordinals, leaf_ids(row.document_id, row.version or "", ordinals), strict=True))
        of_vectors = "codes" in segment.arrays
        wrong = [ordinal for ordinal, id_ in ids.items() if not of_vectors or id_ not in of_copy]
        if not wrong:
            continue
        if segment not in compared.wrong:
            compared.wrong.append(segment)
        why = {of_store[ids[ordinal]] for ordinal in wrong if of_vectors and ids[ordinal] in of_store}
        said = f"its copied {compared.copy.content} differ from what is stored in {_some_leaves(wrong)}"
        compared.problems.append((row.document_id, "; ".join([said, *sorted(why)])))


def _by_document(ids: Mapping[str, Any]) -> dict[str, list[int]]:
    ordinals: dict[str, list[int]] = {}
    for leaf in map(LeafId.parse, ids):
        ordinals.setdefault(leaf.document_id, []).append(leaf.ordinal)
    return ordinals


def _some_leaves(ordinals: Sequence[int]) -> str:
    """Describe leaves by the first one and their number."""
    return f"leaf {ordinals[0]}" + (f" (and {len(ordinals) - 1} more)" if len(ordinals) > 1 else "")
