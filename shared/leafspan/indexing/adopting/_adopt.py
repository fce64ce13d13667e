"""Adopts a collection: reads its records, joins them to documents, and writes these with their vectors, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from leafspan.documents import IndexSettings, content_hash, language_of
from leafspan.flows import Call, Flow, Progress
from leafspan.indexing import check_splitter, finish, finish_interrupted, split_document, write_group
from leafspan.indexing.adopting._documents import DocumentMaker, WithVectors
from leafspan.indexing.adopting._earlier import ADOPTED_KEY, EarlierAdoption, read_earlier
from leafspan.indexing.adopting._plan import Plan, PlannedDocument
from leafspan.indexing.adopting._record import new_name
from leafspan.indexing.adopting._report import Adopted
from leafspan.indexing.adopting._source import Source
from leafspan.store import Reader, Row, Store, read_consistently

_GROUP = 2_000  # records in memory at a time, except for a larger document


def adopt(
    source: Source,
    plan: Plan,
    store: Store | None,
    settings: IndexSettings,
    *,
    dry_run: bool,
    timeout: float,
    show: bool | None,
) -> Flow[Adopted]:
    """Write a plan's documents, except unchanged ones.

    Raises:
        IndexMismatch: if the index needs a user's own splitter that was not passed again.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    if store is not None:
        check_splitter(store, settings)
    progress = Progress(plan.records, show=show, what="Adopting", unit=" records")
    try:
        return (yield from _Adoption(source, plan, store, settings, dry_run, timeout, progress).run())
    finally:
        progress.close()


@dataclass(slots=True)
class _Adoption:
    """One ``adopt``."""

    source: Source
    plan: Plan
    store: Store | None
    settings: IndexSettings
    dry_run: bool
    timeout: float
    progress: Progress
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: int = 0
    earlier: EarlierAdoption = field(default_factory=EarlierAdoption)
    unfinished: list[str] = field(default_factory=list)  # unchanged documents that a killed writer left half done

    def run(self) -> Flow[Adopted]:
        """Adopt the collection."""
        wholes = {each.id for each in self.plan.documents if each.members[0].start is not None}
        maker = DocumentMaker(self.source.docstore, self.plan.renamed, list(self.plan.skipped), wholes)
        if self.store is not None:
            if not self.dry_run:
                yield from finish_interrupted(self.store)
            self.earlier = yield from read_earlier(self.store, self.source.collection.id)
        for group in self.plan.groups(_GROUP if self.store is None else min(_GROUP, self.store.batch)):
            documents = yield from self._read(group, maker)
            yield from self._write(documents, maker)
            self.progress.advance(sum(len(planned.members) for planned in group))
        if self.store is not None and self.unfinished and not self.dry_run:
            yield from finish(self.store, self.unfinished)
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

    def _read(self, group: Sequence[PlannedDocument], maker: DocumentMaker) -> Flow[list[WithVectors]]:
        ids = [member.id for planned in group for member in planned.members]
        records = yield from self.source.collection.read(ids, "text", "metadata", "vector")
        return (yield Call(maker.documents, (group, records)))  # type: ignore[no-any-return]

    def _write(self, documents: Sequence[WithVectors], maker: DocumentMaker) -> Flow[None]:
        """Write new and changed documents, unless another document of the index conflicts with them."""
        rows: Mapping[str, Row] = {}
        if self.store is not None:
            ids = [each.document.id for each in documents]
            rows = yield from read_consistently(self.store, partial(Reader.rows, ids=ids))
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
            if not self.dry_run:
                language = yield Call(language_of, (document,))
                split = yield Call(split_document, (document, hash_, self.settings, language, old))
                changed.append(split.noting({ADOPTED_KEY: self.earlier.collection}))
                vectors.append(made.vectors)
        if changed and self.store is not None:
            yield from write_group(self.store, changed, vectors, scope=None, timeout=self.timeout)


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
