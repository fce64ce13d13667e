"""Adopts a collection: reads its records, joins them to documents, and writes these with their vectors, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from leafspan.documents import CHUNK_ID, content_hash, language_of
from leafspan.embedding import Embedder, check_vectors, normalize
from leafspan.errors import IndexMismatch
from leafspan.flows import Call, Flow, Progress, np
from leafspan.indexing import (
    Group,
    NewVersion,
    WriteTarget,
    check_splitter,
    finish,
    finish_interrupted,
    split_document,
    write_group,
)
from leafspan.indexing.adopting._documents import DocumentMaker, WithVectors
from leafspan.indexing.adopting._plan import Plan, SkippedRecord, Source, embedded_texts, new_name, read_record
from leafspan.store import Reader, Row, Store, grouped, read_consistently

ADOPTED_KEY = "adopted"  # the key in a row's further values for the id of the collection that the document was adopted from
_PAGE = 1_000  # leaves read at a time

_REMEDY = "delete that document and adopt again, or adopt into another index"
_GROUP = 2_000  # records in memory at a time, except for a larger document


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of an ``adopt``, or of its dry run. Each record of the collection becomes a leaf, or is skipped.

    Attributes:
        records: Number of records in the collection.
        added: Ids of the new documents.
        replaced: Ids of the documents that were replaced because they have changed.
        unchanged: Number of unchanged documents.
        leaves: Number of records that are leaves.
        alone: Number of leaves that are documents of their own, under their own ids, because their place in a text is
            unknown.
        skipped: The skipped records.
        notes: The differences from the collection, in sentences.
    """

    records: int
    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: int
    leaves: int
    alone: int
    skipped: tuple[SkippedRecord, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Adopted({self.records} records, {len(self.added)} added, {len(self.replaced)} replaced, "
            f"{self.unchanged} unchanged, {len(self.skipped)} skipped)"
        )

    @property
    def reasons(self) -> dict[str, list[str]]:
        """The ids of the skipped records, by reason."""
        reasons: dict[str, list[str]] = {}
        for record in self.skipped:
            reasons.setdefault(record.reason, []).append(record.id)
        return reasons


def adopt(source: Source, plan: Plan, target: WriteTarget | None, *, dry_run: bool, show: bool | None) -> Flow[Adopted]:
    """Write a plan's documents, except unchanged ones. For a dry run, there need not be an index."""
    if target is not None:
        check_splitter(target.store, target.settings)
    with Progress(plan.records, show=show, what="Adopting", unit=" records") as progress:
        return (yield from _Adoption(source, plan, target, dry_run, progress).run())


@dataclass(frozen=True, slots=True)
class EarlierAdoption:
    """The records of a collection that an index has."""

    collection: str = ""  # id of the collection
    holders: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, set[str]] = field(default_factory=dict)  # for each of these documents, its records

    def conflict(self, document_id: str, records: Sequence[str], old: Row | None) -> str | None:
        """Return why writing a changed document would duplicate, lose or replace others, or None if it may be written."""
        holders = (self.holders.get(each, document_id) for each in records)
        holder = next((each for each in holders if each != document_id), None)
        if holder is not None:
            return f"the index has it in document {holder!r}, from before the collection changed: {_REMEDY}"
        if old is None or old.version is None:
            return None
        if old.extra.get(ADOPTED_KEY) != self.collection:
            return f"the index has another document {document_id!r}, which was not adopted from this collection: {_REMEDY}"
        if lost := self.records.get(document_id, set()) - set(records):
            return f"the index has {len(lost)} more records in document {document_id!r}, not here any more: {_REMEDY}"
        return None


@dataclass(slots=True)
class _Adoption:
    source: Source
    plan: Plan
    target: WriteTarget | None
    dry_run: bool
    progress: Progress
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: int = 0
    earlier: EarlierAdoption = field(default_factory=EarlierAdoption)
    unfinished: list[str] = field(default_factory=list)  # unchanged documents that a killed writer left half done

    def run(self) -> Flow[Adopted]:
        wholes = {each.id for each in self.plan.documents if each.members[0].start is not None}
        maker = DocumentMaker(self.source.docstore, self.plan.renamed, list(self.plan.skipped), wholes)
        store = None if self.target is None else self.target.store
        if store is not None:
            if not self.dry_run:
                yield from finish_interrupted(store)
            self.earlier = yield from read_earlier(store, self.source.collection.id)
        most = _GROUP if store is None else min(_GROUP, store.batch)
        for group in grouped(self.plan.documents, most, lambda planned: len(planned.members)):
            ids = [member.id for planned in group for member in planned.members]
            records = yield from self.source.collection.get(ids, ["text", "metadata", "vector"])
            yield from self._write((yield Call(maker.documents, (group, records))), maker)
            self.progress.advance(len(ids))
        if store is not None and self.unfinished and not self.dry_run:
            yield from finish(store, self.unfinished)
        return Adopted(
            self.plan.records,
            tuple(self.added),
            tuple(self.replaced),
            self.unchanged,
            maker.leaves,
            maker.alone,
            tuple(maker.skipped),
            tuple(_notes(maker, self.source.collection.space, self.plan.reserved)),
        )

    def _write(self, documents: Sequence[WithVectors], maker: DocumentMaker) -> Flow[None]:
        """Write new and changed documents, unless another document of the index conflicts with them."""
        rows: Mapping[str, Row] = {}
        if self.target is not None:
            ids = [each.document.id for each in documents]
            rows = yield from read_consistently(self.target.store, partial(Reader.rows, ids=ids))
        changed, vectors = [], []
        for made in documents:
            document = made.document
            old = rows.get(document.id)
            hash_ = yield Call(content_hash, (document,))
            if old is not None and old.version is not None and old.hash == hash_:
                self.unchanged += 1
                if old.leftovers:
                    self.unfinished.append(document.id)
                continue
            if reason := self.earlier.conflict(document.id, made.records, old):
                maker.leave_out(made, reason)
                continue
            (self.added if old is None or old.version is None else self.replaced).append(document.id)
            if self.target is not None and not self.dry_run:
                language = yield Call(language_of, (document,))
                arguments = NewVersion(document, hash_, old, language), self.target.settings
                extra = {ADOPTED_KEY: self.earlier.collection}
                changed.append((yield Call(split_document, arguments, {"extra": extra})))
                vectors.append(made.vectors)
        if changed and self.target is not None:
            yield from write_group(self.target, Group(changed, vectors))


def _notes(maker: DocumentMaker, space: str, reserved: Sequence[str]) -> Iterator[str]:
    """Yield the differences from the collection, in sentences."""
    for key in reserved:
        yield f"the metadata key {key!r} is reserved, and is {new_name(key)!r} in the index: rename it for another name"
    if space != "cosine" and maker.other_lengths:
        yield (
            f"the collection ranks by {space!r}, an index by cosine, and {maker.other_lengths} of {maker.leaves} vectors "
            "do not have length 1: the order of results can differ"
        )
    elif space != "cosine" and maker.leaves:
        yield f"the collection ranks by {space!r}, an index by cosine, but all vectors have length 1: the order is the same"
    if maker.zero:
        yield f"{maker.zero} vectors are zero, which are similar to nothing: only a search by words finds these leaves"
    if maker.leaf_keys:
        keys = ", ".join(map(repr, sorted(maker.leaf_keys)))
        yield (
            f"filters do not see the metadata {keys}, whose values differ within a document: without joining, each "
            "record is a document of its own"
        )
    if maker.disagreeing:
        yield (
            f"{maker.disagreeing} records say their place in a text, but differ where they overlap, or more of the "
            "text is missing than is there: they are documents of their own"
        )
    if maker.blank:
        yield f"{maker.blank} characters that chunks have left out, mostly white space, are white space now"


def read_earlier(store: Store, collection: str) -> Flow[EarlierAdoption]:
    def read(reader: Reader) -> Flow[EarlierAdoption]:
        rows = yield from reader.rows()
        adopted = [row for row in rows.values() if row.version is not None and row.extra.get(ADOPTED_KEY) == collection]
        holders: dict[str, str] = {}
        ids = [id_ for row in adopted for id_ in row.leaf_ids]
        for start in range(0, len(ids), _PAGE):
            leaves = yield from reader.fetch_leaves(ids[start : start + _PAGE])
            for stored in leaves.values():
                document_id = stored.leaf.document_id
                # A record that is a document of its own may have a chunk_id in the document's own metadata.
                alone = CHUNK_ID in rows[document_id].metadata or CHUNK_ID not in stored.metadata
                holders[document_id if alone else str(stored.metadata[CHUNK_ID])] = document_id
        records: dict[str, set[str]] = {}
        for record, document_id in holders.items():
            records.setdefault(document_id, set()).add(record)
        return EarlierAdoption(collection, holders, records)

    return read_consistently(store, read, leave_out=True)  # a damaged document is adopted again


_COMPARED = 8  # records whose texts are embedded again
_SAME = 0.99  # least cosine of a text's vector and the stored one


def check_embedder(source: Source, plan: Plan, embedder: Embedder) -> Flow[None]:
    """Embed a few of a collection's texts, and compare their vectors with the stored ones.

    LlamaIndex may have embedded a node's text with metadata before it. At least half of the texts must match: others may
    have been changed without being embedded again.
    """
    ids = [member.id for document in plan.documents for member in document.members]
    sample = ids[:: max(1, len(ids) // _COMPARED)][:_COMPARED]
    records = yield from source.collection.get(sample, ["text", "metadata", "vector"])
    stored, texts = [], []
    for id_, record in records.items():
        if record.text and record.vector is not None and np.any(record.vector):
            stored.append(np.asarray(record.vector, dtype=np.float32))
            texts.append(embedded_texts(read_record(id_, record.metadata, plan.renamed), record.text))
    if not texts:
        return
    every = [text for each in texts for text in each]
    vectors = check_vectors((yield embedder.embed_documents(every)), every, name=embedder.name)
    name = source.collection.name
    if vectors.shape[1] != len(stored[0]):
        raise IndexMismatch(
            f"the vectors of the collection {name!r} have {len(stored[0])} dimensions, the vectors of {embedder.name} have "
            f"{vectors.shape[1]}: give the embedder that the collection was made with"
        )
    cosines = _best(normalize(np.stack(stored)), normalize(vectors), [len(each) for each in texts])
    if 2 * sum(cosine >= _SAME for cosine in cosines) < len(cosines):
        raise IndexMismatch(
            f"{embedder.name} did not make the vectors of the collection {name!r}: of {len(cosines)} texts that were "
            f"embedded again, the cosines with the stored vectors are from {min(cosines):.2f} to {max(cosines):.2f}; give "
            "the embedder that the collection was made with"
        )


def _best(stored: Any, vectors: Any, counts: list[int]) -> list[float]:
    """Return for each stored vector the best cosine with its own new vectors; ``counts`` has their numbers."""
    cosines = []
    start = 0
    for vector, count in zip(stored, counts, strict=True):
        cosines.append(float((vectors[start : start + count] @ vector).max()))
        start += count
    return cosines
