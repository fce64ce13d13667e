"""Comparing every leaf that Chroma has with the copies beside it, from which questions are answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.engine import Call, Flow, Progress
from leafspan.errors import DamagedIndex, IndexMismatch, StorageFailed
from leafspan.indexing._doctor import Examination, Finding
from leafspan.indexing._vectors_anew import embedded_again, write_vectors
from leafspan.mirror import Mirror, OpenSegment, are_same
from leafspan.store import DocumentToWrite, Reader, Row, Store, grouped, read_consistently
from leafspan.values import LeafId, leaf_ids

_GROUP = 1_000  # leaves that are read at a time
_NEAR = 0.01  # length of the difference of two vectors, of length 1, that the same text may have on another day


def verify(
    store: Store, copies: Sequence[Mirror], embed: Embed | None, settings: IndexSettings, how: Examination
) -> Flow[list[Finding]]:
    """Compare what is kept beside Chroma with Chroma, leaf by leaf, and make again what differs. Chroma counts.

    A vector has no checksum in Chroma. Where it differs from its copy, the one counts that the text has when it is embedded
    again; and Chroma's, if there is no embedder that may be asked, or if it gives neither.

    What is missing beside Chroma is no difference: the next question that needs it makes it. Documents that are damaged in
    Chroma are left to ``examine``.

    Args:
        store: Where to look.
        copies: The copies of it.
        embed: What embeds texts again. None for Chroma's vectors in every case.
        settings: How the index embeds.
        how: How to look.

    Raises:
        WriterBusy: if another writer holds the index, or another thread a copy, for longer than the timeout.
    """
    rows, differences = yield from store.verified_rows(mend=how.mend)
    findings = [Finding(id_, problem, how.mend) for id_, problem in differences.items()]
    compared: list[_Compared] = []
    for copy in copies:
        segments, damaged = yield from copy.stored()
        findings += [Finding("/".join(path.parts[-3:]), problem, how.mend) for path, problem in damaged.items()]
        compared.append(_Compared(copy, [_Part(each, copy.comparing(each)) for each in segments], damaged))
    documents = [row for _, row in sorted(rows.items()) if row.version is not None and row.leaves and row.damage is None]
    documents = [row for row in documents if any(each.has(row) for each in compared)]
    progress = Progress(sum(row.leaves for row in documents), show=how.show, what="Comparing copies")
    try:
        for group in grouped(documents, _GROUP):
            stored = yield from _stored(store, group, with_vectors=store.embedded)
            differing = yield Call(_differing, (compared, stored, how))
            choice = yield from _choice(store, embed, settings, group, differing.vectors)
            if how.mend and choice.of_copy:
                yield from write_vectors(store, choice.of_copy, how.timeout)
            findings += choice.findings(how.mend)
            findings += [Finding(*each, how.mend) for each in _blamed(differing, choice)]
            progress.advance(sum(row.leaves for row in group))
    finally:
        progress.close()
    for each in compared if how.mend else ():
        if each.wrong or each.damaged:
            again = partial(each.copy.make_again, wrong=each.wrong, files=list(each.damaged))
            yield from read_consistently(store, again)
    return findings


class _Part(NamedTuple):
    """A segment, and what compares it with documents."""

    segment: OpenSegment
    compare: Any

    def first_row(self, row: Row) -> int | None:
        """The first row that a document has in the segment, in its current version; None if it is not there."""
        place = self.segment.places.get(row.document_id)
        if place is None or self.segment.documents[place] != (row.document_id, row.version, row.leaves):
            return None
        return self.segment.starts[place]


@dataclass(slots=True)
class _Compared:
    """A copy that is compared.

    Attributes:
        copy: The copy.
        parts: Its segments.
        damaged: What is wrong with files that cannot be read.
        wrong: Segments in which something differs.
    """

    copy: Mirror
    parts: Sequence[_Part]
    damaged: Mapping[Path, str]
    wrong: list[OpenSegment] = field(default_factory=list)

    def has(self, row: Row) -> bool:
        """Whether a document is there."""
        return any(part.first_row(row) is not None for part in self.parts)


class _Difference(NamedTuple):
    """Leaves of a document that differ in a segment."""

    compared: _Compared
    segment: OpenSegment
    document: DocumentToWrite
    ordinals: Sequence[int]


class _Pair(NamedTuple):
    """The vectors of one leaf."""

    kept: Any
    stored: Any


class _Differing(NamedTuple):
    """What differs in a group of documents: leaves of segments, and pairs of vectors by id of the leaf."""

    leaves: Sequence[_Difference]
    vectors: Mapping[str, _Pair]


class _Choice(NamedTuple):
    """Which of two vectors count, by ids of leaves.

    Attributes:
        of_copy: Those of the copy that count, since they are what the text has when it is embedded.
        of_chroma: Why Chroma's count.
    """

    of_copy: Mapping[str, Any]
    of_chroma: Mapping[str, str]

    def findings(self, mend: bool) -> Iterator[Finding]:
        """What to say of Chroma's vectors that do not count."""
        for document_id, ordinals in _by_document(self.of_copy).items():
            said = f"Chroma's vector of {_leaves(ordinals)} is not that of its text, which the copy has"
            yield Finding(document_id, said, mend)


def _stored(store: Store, rows: Sequence[Row], *, with_vectors: bool) -> Flow[list[DocumentToWrite]]:
    """Documents as Chroma has them. Those with missing leaves are left out: others have written them since."""
    import numpy as np

    ids = [id_ for row in rows for id_ in row.leaf_ids]
    columns = ["documents", "metadatas"]
    read = partial(Reader.stored_records, ids=ids, columns=columns)
    vectors: dict[str, Any] = {}
    if with_vectors:
        vectors = yield from _stored_vectors(store, ids)
    records = yield from read_consistently(store, read)
    documents = []
    for row in rows:
        found = [records.get(id_) for id_ in row.leaf_ids]
        whole = [each for each in found if each is not None and each["document"] is not None and each["metadata"]]
        if len(whole) < row.leaves:
            continue
        own = [vectors[id_] for id_ in row.leaf_ids if id_ in vectors]
        matrix = np.asarray(own, dtype=np.float32) if len(own) == row.leaves and len(set(map(len, own))) == 1 else None
        documents.append(
            DocumentToWrite(row, [each["document"] for each in whole], [each["metadata"] for each in whole], matrix)
        )
    return documents


def _stored_vectors(store: Store, ids: Sequence[str]) -> Flow[dict[str, Any]]:
    """The vectors of leaves, by id, of those that have one."""
    read = partial(Reader.stored_records, columns=["embeddings"])
    try:
        found = yield from read_consistently(store, partial(read, ids=ids))
    except DamagedIndex:
        return {}  # it is known that they are lost
    except StorageFailed:  # Chroma fails if one of them has none
        missing = yield from store.without_vectors(ids)
        found = yield from read_consistently(store, partial(read, ids=[id_ for id_ in ids if id_ not in missing]))
    return {id_: record["embedding"] for id_, record in found.items() if record["embedding"] is not None}


def _differing(compared: Sequence[_Compared], documents: Sequence[DocumentToWrite], how: Examination) -> _Differing:
    """What differs of documents in the copies."""
    leaves: list[_Difference] = []
    vectors: dict[str, _Pair] = {}
    for document in documents:
        for each in compared:
            for segment, compare in each.parts:
                first = _Part(segment, compare).first_row(document.row)
                if first is None or ("vectors" in segment.arrays and document.vectors is None):
                    continue
                try:
                    ordinals = compare(first, document)
                except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
                    ordinals = range(document.row.leaves)  # its arrays do not even fit together
                if not ordinals or not _is_as_written(document, how):
                    continue
                leaves.append(_Difference(each, segment, document, ordinals))
                vectors |= _pairs(segment, first, document, ordinals)
    return _Differing(leaves, vectors)


def _is_as_written(document: DocumentToWrite, how: Examination) -> bool:
    """Whether Chroma has a document as it was written."""
    row = document.row
    try:
        for ordinal, (text, metadata) in enumerate(zip(document.texts, document.metadatas, strict=True)):
            how.check_leaf(row, LeafId(row.document_id, row.version or "", ordinal), text, metadata)
    except ValueError:
        return False
    return True


def _pairs(
    segment: OpenSegment, first: int, document: DocumentToWrite, ordinals: Sequence[int]
) -> Iterator[tuple[str, _Pair]]:
    """The vectors of these leaves that are not the same, by id. None of a copy that has no vectors."""
    if "vectors" not in segment.arrays:
        return
    row = document.row
    for ordinal, id_ in zip(ordinals, leaf_ids(row.document_id, row.version or "", ordinals), strict=True):
        kept, stored = segment.arrays["vectors"][first + ordinal], document.vectors[ordinal]
        if not are_same(kept[None], stored[None])[0]:
            yield id_, _Pair(kept, stored)


def _choice(
    store: Store, embed: Embed | None, settings: IndexSettings, rows: Sequence[Row], pairs: Mapping[str, _Pair]
) -> Flow[_Choice]:
    """Which of each two vectors counts."""
    made: Mapping[str, Any] = {}
    if pairs and embed is not None:
        try:
            made = yield from embedded_again(store, embed, settings, rows, list(pairs))
        except IndexMismatch:  # another embedder than the one the index was made with
            embed = None
    of_copy, of_chroma = {}, {}
    for id_, (kept, stored) in pairs.items():
        if embed is None:
            of_chroma[id_] = "no embedder on this machine can tell, so Chroma's counts"
        elif id_ not in made or not min(_distance(made[id_], kept), _distance(made[id_], stored)) <= _NEAR:
            of_chroma[id_] = "its text has neither when it is embedded again, so Chroma's counts"
        elif _distance(made[id_], kept) < _distance(made[id_], stored):
            of_copy[id_] = kept
        else:
            of_chroma[id_] = "Chroma's is that of its text"
    return _Choice(of_copy, of_chroma)


def _distance(vector: Any, other: Any) -> float:
    """The length of the difference of two vectors, brought to length 1. Infinite if they cannot be compared."""
    import numpy as np

    if vector.shape != other.shape or not np.isfinite(other).all():
        return float("inf")
    lengths = [max(float(np.linalg.norm(each)), 1e-30) for each in (vector, other)]
    return float(np.linalg.norm(vector / lengths[0] - other / lengths[1]))


def _blamed(differing: _Differing, choice: _Choice) -> Iterator[tuple[str, str]]:
    """What is wrong with copies, as documents and problems. Notes the segments in which it is."""
    for compared, segment, document, ordinals in differing.leaves:
        row = document.row
        ids = dict(zip(ordinals, leaf_ids(row.document_id, row.version or "", ordinals), strict=True))
        wrong = [ordinal for ordinal, id_ in ids.items() if "vectors" not in segment.arrays or id_ not in choice.of_copy]
        if not wrong:
            continue
        if segment not in compared.wrong:
            compared.wrong.append(segment)
        why = {choice.of_chroma[ids[ordinal]] for ordinal in wrong if ids[ordinal] in choice.of_chroma}
        said = f"its copied {compared.copy.content} differ from what Chroma has in {_leaves(wrong)}"
        yield row.document_id, "; ".join([said, *sorted(why if "vectors" in segment.arrays else ())])


def _by_document(ids: Mapping[str, Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for leaf in map(LeafId.parse, ids):
        found.setdefault(leaf.document_id, []).append(leaf.ordinal)
    return found


def _leaves(ordinals: Sequence[int]) -> str:
    """Leaves by their first one and their number."""
    return f"leaf {ordinals[0]}" + (f" (and {len(ordinals) - 1} more)" if len(ordinals) > 1 else "")
