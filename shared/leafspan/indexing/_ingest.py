"""Adding documents: new and changed documents are split, embedded and written, group by group."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from leafspan.checks import check_flag
from leafspan.documents import distinct, language_of, read_documents
from leafspan.errors import InvalidDocument
from leafspan.files import FileDocument, FileReading, Skipped
from leafspan.flows import METRICS, Call, Flow, instrument, run_together
from leafspan.indexing._add_progress import AddProgress
from leafspan.indexing._known_files import KnownFiles, hash_of, other_than_the_file
from leafspan.indexing._workers import Preparation, Task, Workers, is_full, prepare, started
from leafspan.indexing._writing import (
    Group,
    NewVersion,
    SplitDocument,
    WriteTarget,
    check_splitter,
    finish,
    finish_interrupted,
    split_document,
    vectors_of,
    write_group,
)
from leafspan.store import Reader, Row, read_consistently
from leafspan.values import Document

_LOOKED_UP = 256  # documents looked up in the manifest at a time


@dataclass(frozen=True, slots=True)
class AddOptions:
    flatten_metadata: bool = False
    volatile_keys: Collection[str] = ()
    workers: int | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        check_flag("flatten_metadata", self.flatten_metadata)


@dataclass(frozen=True, slots=True)
class IngestRules:
    """How the documents of one call are read, checked and changed before they are written."""

    reading: FileReading
    keep: Callable[[Iterable[Document]], Iterable[Document]] = iter  # gets the final documents, and returns them
    unmask: Callable[[Sequence[Row]], Sequence[Row]] = list  # changes the file names in the index's rows to the source's
    row_keys: frozenset[str] = frozenset()  # metadata keys that only the row stores, not each leaf
    remembers_files: bool = True  # whether unchanged files may be skipped without reading


@dataclass(frozen=True, slots=True)
class Added:
    """What an ``add`` did.

    Attributes:
        added: Ids of the documents that are new.
        replaced: Ids of the documents that were there, and have changed.
        unchanged: Number of documents that were already there, unchanged.
        skipped: Files that could not be read in full, each with the reason. Also files with a field that was left out,
            and files that leafspan wrote itself, such as reports.
        left_out: Number of files in folders that were not read, by kind, such as ``{".docx": 2, "hidden": 1}``: unknown
            kinds, hidden files and folders, broken links, and each folder that holds an index, with its name. Files that
            ``glob`` or ``exclude`` leave out are not counted.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        skipped += f", {sum(self.left_out.values()):,} left out" if self.left_out else ""
        return f"Added({len(self.added)} added, {len(self.replaced)} replaced, {self.unchanged} unchanged{skipped})"


@dataclass(frozen=True, slots=True)
class Ingested:
    """The ids of the documents of one call."""

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]


def ingest(
    target: WriteTarget, documents: Iterable[object] | object, options: AddOptions, rules: IngestRules
) -> Flow[Added]:
    """Add documents in any form that a user may pass. A list is checked completely before anything is written.

    An error or interruption after the first document has a note with the number of stored documents.
    """
    accepted = read_documents(
        documents, rules.reading, flatten_metadata=options.flatten_metadata, unicode_errors=target.unicode_errors
    )
    ingested = yield from ingest_accepted(
        target,
        rules.keep(accepted),
        rules,
        workers=options.workers,
        show=options.progress,
        at_once=isinstance(documents, Sequence),
    )
    return Added(ingested.added, ingested.replaced, len(ingested.unchanged), rules.reading.skipped, rules.reading.left_out)


def ingest_accepted(
    target: WriteTarget,
    documents: Iterable[Document],
    rules: IngestRules,
    *,
    workers: int | None,
    show: bool | None,
    at_once: bool = False,
    dry_run: bool = False,
    may_replace: Callable[[Row], bool] | None = None,
) -> Flow[Ingested]:
    """Add checked documents. With workers, other processes read files, and split, embed and analyse the documents."""
    check_splitter(target.store, target.settings)
    if workers and not dry_run:
        yield from target.embedder.confirm(record=True)  # workers need the confirmed embedder
    shared, began = Preparation(target.settings, target.embed), time.monotonic()
    with nullcontext() if workers is None or dry_run else started(workers, shared) as processes:
        if processes is not None:
            rules.reading.ahead = processes.read_ahead
        if not dry_run:
            yield from finish_interrupted(target.store)
        progress = AddProgress(show)
        try:
            checked: Iterable[tuple[Document, str]] = progress.reading(distinct(documents))
            if at_once:
                checked = yield Call(list, (checked,))
            files = KnownFiles(target.store, target.scope)
            ingestion = _Ingestion(target, rules, progress, dry_run, may_replace, processes, iter(checked), files)
            ingested = yield from ingestion.run()
            progress.finish()
            if METRICS in sys.modules and not dry_run:
                instrument("leafspan.add.duration")(time.monotonic() - began)
                for outcome in ("added", "replaced", "unchanged"):
                    instrument("leafspan.add.documents")(len(getattr(ingested, outcome)), {"leafspan.outcome": outcome})
            return ingested
        finally:
            progress.close()


class _GivenUp(Exception):
    """Stops work in progress after an earlier write has failed."""


@dataclass(slots=True)
class _Ingestion:
    """One ``add``. It collects documents in groups, each as large as the engine takes at once.

    A group is written while the next one is read, split and embedded. Memory holds no more than these two groups.
    """

    target: WriteTarget
    rules: IngestRules
    progress: AddProgress
    dry_run: bool
    may_replace: Callable[[Row], bool] | None
    workers: Workers | None
    documents: Iterator[tuple[Document, str]]  # that were not read yet, with their hashes
    files: KnownFiles
    looked_up: deque[tuple[Document, str]] = field(default_factory=deque)
    rows: Mapping[str, Row] = field(default_factory=dict)  # of the documents that were looked up
    left_over: SplitDocument | None = None  # did not fit into the last group
    languages: Counter[str] | None = None  # of the view's earlier documents, once the language of a new one is uncertain
    new_languages: Counter[str] = field(default_factory=Counter)  # of the documents so far
    has_ended: bool = False  # whether all documents were split
    has_failed: bool = False  # whether writing a group failed
    shown_ids: dict[str, str] = field(default_factory=dict)  # by stored id
    replaces: dict[str, bool] = field(default_factory=dict)  # whether each written document replaced one, by stored id
    unchanged: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)  # unchanged documents that a killed writer left half done

    def run(self) -> Flow[Ingested]:
        try:
            if self.workers is None:
                group = yield from self._next_group()
                while not self.has_ended:
                    group = yield from self._write_beside(group)
                yield from self._write(group)
            else:
                yield from self._write_prepared(self.workers)
            if self.unfinished and not self.dry_run:
                yield from finish(self.target.store, self.unfinished)
        except (Exception, KeyboardInterrupt, asyncio.CancelledError) as error:
            self.progress.note_on(error)
            raise
        return Ingested(
            tuple(self.shown_ids[id_] for id_, replaces in self.replaces.items() if not replaces),
            tuple(self.shown_ids[id_] for id_, replaces in self.replaces.items() if replaces),
            tuple(self.unchanged),
        )

    def _next_group(self) -> Flow[Group]:
        """Return new or changed documents, split and embedded, as many as the engine takes at once."""
        settings, batch = self.target.settings, self.target.store.batch
        documents: list[SplitDocument] = []
        leaves = 0
        while True:
            split, self.left_over = self.left_over, None
            if split is None:
                if (changed := (yield from self._next_changed())) is None:
                    self.has_ended = True
                    break
                split = yield Call(split_document, (changed, settings, self.progress.splitting))
                self.progress.split(len(split.leaves))
                if self.has_failed:
                    raise _GivenUp
            if documents and (leaves + len(split.leaves) > batch or len(documents) >= batch):
                self.left_over = split
                break
            documents.append(split)
            leaves += len(split.leaves)
        group = Group(documents, ())
        if documents:
            group.vectors = yield from vectors_of(documents, settings, self.target.embed, partial(self._embedding, group))
        return group

    def _next_changed(self) -> Flow[NewVersion | None]:
        """Return the next new or changed document as it will be stored, or None after the last."""
        scope = self.target.scope
        while True:
            while not self.looked_up:  # read and look up several at once
                read = yield Call(list, (islice(self.documents, _LOOKED_UP),))  # this may read files
                if not read:
                    return None
                documents = yield from self.files.with_stored_ids([document for document, _ in read])
                ids = [id_ for each in documents for id_ in (scope.stored_ids(each.id) if scope else [each.id])]
                self.rows = yield from read_consistently(self.target.store, partial(Reader.rows, ids=ids))
                self.looked_up.extend(zip(documents, (hash_ for _, hash_ in read), strict=True))
            shown, hash_ = self.looked_up.popleft()
            document = shown if scope is None else scope.stamped(shown, scope.place(shown.id, self.rows))
            self.shown_ids[document.id] = shown.id
            row = self.rows.get(document.id)
            current = None if row is None or row.version is None else row
            if current is not None:
                self._check_replacing(shown, current)
                if self.rules.reading.keeps(shown, current.metadata):
                    continue
            if scope is not None or isinstance(document, FileDocument):  # with the scope's values, or its place in the file
                hash_ = yield Call(hash_of, (document,))
            if current is not None and current.hash == hash_:
                self.unchanged.append(shown.id)
                if current.leftovers:
                    self.unfinished.append(document.id)
                self.progress.unchanged(document)
            elif self.dry_run:
                self.replaces[document.id] = current is not None
            else:
                return NewVersion(document, hash_, row, (yield from self._language(document)))

    def _check_replacing(self, document: Document, old: Row) -> None:
        if (other := other_than_the_file(document, old)) is not None:
            file = document.file if isinstance(document, FileDocument) else ""
            raise InvalidDocument(
                f"document {document.id!r} of the file {file!r} would replace {other}: delete that one first, or give one "
                "of them another id"
            )
        if self.may_replace is not None and not self.may_replace(old):
            raise InvalidDocument(
                f"document {document.id!r} is in the index, outside of what the source covers, and would be replaced: give "
                "it another id, or delete that one first"
            )

    def _language(self, document: Document) -> Flow[str | None]:
        """Return the code of a document's language. If it is uncertain, most of the view's other documents decide."""
        language: str | None = yield Call(language_of, (document, None))
        if language is None:
            if self.languages is None:
                count = partial(_count_languages, without={*self.shown_ids.values()})
                self.languages = yield from read_consistently(self.target.store, count, self.target.scope, leave_out=True)
            ((expected, _),) = (self.languages + self.new_languages).most_common(1) or [("en", 1)]
            language = yield Call(language_of, (document, expected))
        if language is not None:
            self.new_languages[language] += 1
        return language

    def _embedding(self, group: Group, texts: int) -> Callable[[int], None]:
        """Return a function that counts a group's embedded texts."""
        count = self.progress.counter("Embedding", group.leaves, group.characters, texts)

        def embedded(more: int) -> None:
            count(more)
            if self.has_failed:
                raise _GivenUp

        return embedded

    def _write_beside(self, group: Group) -> Flow[Group]:
        """Write a group while the following one is split and embedded, and return the following group.

        If both fail, the error of the earlier documents wins. If writing fails, the following group is given up after the
        document that is being split, or the texts that are being embedded.
        """
        # The following group runs in the caller's thread: documents, splitter and embedder may not work in another one.
        written, following = yield run_together([self._write(group), self._next_group()])
        for outcome in (written, following):
            if isinstance(outcome, Exception):
                raise outcome
        return following  # type: ignore[no-any-return]

    def _write(self, group: Group) -> Flow[None]:
        if not group.documents:
            return
        wrote = self.progress.counter("Writing", group.leaves, group.characters, group.leaves)
        try:
            self.replaces |= yield from write_group(self.target, group, self.rules.row_keys, wrote)
        except BaseException:
            self.has_failed = True
            raise
        self.progress.wrote(len(group.documents))

    def _write_prepared(self, workers: Workers) -> Flow[None]:
        """Write documents that workers have prepared, in the documents' order."""
        waiting: deque[Task[Group]] = deque()
        while True:
            portion: list[NewVersion] = []
            while not is_full(portion) and (changed := (yield from self._next_changed())) is not None:
                portion.append(changed)
            if portion:
                waiting.append((yield Call(workers.begin, (prepare, portion))))
            if not waiting:
                return
            if not portion or len(waiting) >= workers.most_waiting:
                group: Group = yield Call(workers.result, (waiting.popleft(),))
                self.progress.split(group.leaves)
                self.progress.splitting(group.characters)
                self.progress.counter("Embedding", group.leaves, group.characters, 1)(1)
                yield from self._write(group)


def _count_languages(reader: Reader, without: Container[str]) -> Flow[Counter[str]]:
    return (yield from reader.catalogue()).count_languages(without)
