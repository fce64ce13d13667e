"""Sync: makes an index's documents equal to a source's."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from leafspan.checks import check_flag, check_text, shown
from leafspan.documents import language_of, read_documents, to_document, with_language
from leafspan.errors import EmptySource, InvalidArgument, InvalidDocument
from leafspan.files import FileNames, FileReading, Files, Skipped, below_folder, check_paths, is_there, real_path
from leafspan.filters import Where, constant, to_filter
from leafspan.flows import Call, Flow
from leafspan.indexing._ingest import IngestRules, ingest_accepted
from leafspan.indexing._known_files import FileMemory, Moved, file_path
from leafspan.indexing._writing import WriteTarget, delete_documents, finish, finish_interrupted, is_half_deleted
from leafspan.store import Reader, Row, Scope, read_consistently
from leafspan.values import Document


@dataclass(frozen=True, slots=True)
class Synced:
    """What a ``sync`` did, or would do.

    Attributes:
        added: Ids of the documents that are new.
        replaced: Ids of the documents that were there, and have changed.
        deleted: Ids of the documents that the source no longer has.
        unchanged: Ids of the documents that were already there, unchanged.
        skipped: Files that could not be read in full, and documents that cannot be stored, each with the reason. The
            index keeps what it has of them. If an id is wrong, nothing is deleted at all. Also files with a field that
            was left out, and files that leafspan wrote itself, such as reports.
        moved: Pairs of ids: a new document, and an old document with the same text whose file is gone, but which the
            source does not cover. This happens when a folder was renamed: see ``Index.sync``.
        left_out: Number of files in folders that were not read, by kind, such as ``{".docx": 2, "hidden": 1}``: unknown
            kinds, hidden files and folders, broken links, and each folder that holds an index, with its name. Files that
            ``glob`` or ``exclude`` leave out are not counted.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    moved: tuple[tuple[str, str], ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        skipped += f", {sum(self.left_out.values()):,} left out" if self.left_out else ""
        return (
            f"Synced({len(self.added)} added, {len(self.replaced)} replaced, {len(self.deleted)} deleted, "
            f"{len(self.unchanged)} unchanged{skipped})"
        )


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The options of a ``sync``: see ``Index.sync``."""

    within: object = None
    source_key: str | None = None
    dry_run: bool = False
    allow_empty: bool = False
    flatten_metadata: bool = False
    volatile_keys: Collection[str] = ()
    workers: int | None = None
    progress: bool | None = None
    seen: Mapping[Path, Any] | None = None  # file_status of the files to read: others are left for a later sync

    def __post_init__(self) -> None:
        for name in ("dry_run", "allow_empty", "flatten_metadata"):
            check_flag(name, getattr(self, name))


def sync(target: WriteTarget, source: object, options: SyncOptions, rules: IngestRules) -> Flow[Synced]:
    """Add new documents of a source, replace changed ones, and delete those that the source no longer has.

    Deletion comes last, and only if the whole source could be read. So a killed process may leave documents that the
    source no longer has, but never loses one that the source has.
    """
    store, scope, reading = target.store, target.scope, rules.reading
    coverage = to_coverage(target, source, options, reading)
    reading.seen = options.seen
    if not options.dry_run:
        yield from finish_interrupted(store)
    # Read the rows first: documents that others add meanwhile must not be deleted.
    rows, half_deleted = yield from read_consistently(store, partial(_rows, scope=scope), scope)
    moved = Moved(rows)
    documents = moved.watching(rules.keep(coverage.read(lambda: rules.unmask([*rows.values()]))))
    memory: FileMemory | None = None
    if rules.remembers_files and scope is None and isinstance(coverage, FileCoverage):
        memory = yield Call(FileMemory, (store, rows))
        reading.unchanged, documents = memory.unchanged, memory.watching(documents)
    ingested = yield from ingest_accepted(
        target,
        documents,
        rules,
        workers=options.workers,
        show=options.progress,
        dry_run=options.dry_run,
        may_replace=None if isinstance(coverage, FileCoverage) else coverage.covers,
    )
    if memory is not None and not options.dry_run:
        yield Call(memory.keep, (reading.unread, reading.missing))
    unchanged = sorted([*ingested.unchanged, *reading.passed], key=lambda id_: reading.order.get(id_, 0))
    kept = {*ingested.added, *ingested.replaced, *unchanged}
    left = [row for id_, row in sorted(rows.items()) if row.version is not None and id_ not in kept]
    left = yield Call(rules.unmask, (left,))
    names = FileNames(store.home)
    doomed = yield Call(_doomed, (left, coverage, reading, names))
    if not options.allow_empty and (empty := coverage.empty_parts(doomed)):
        raise EmptySource(
            f"there are no documents in {' and '.join(empty)}, so {len(doomed)} would be deleted; if that is meant, say "
            "allow_empty=True (--allow-empty)"
        )
    unfinished = [row.document_id for row in half_deleted if coverage.covers(row)]
    if unfinished and not options.dry_run:
        yield from finish(store, unfinished)
    versions = {row.document_id: row.version for row in doomed}
    deleted = list(versions)
    if versions and not options.dry_run:
        deleted = yield from delete_documents(target, versions, versions=versions)
    staying = [row for row in left if row.document_id not in versions]
    pairs = yield Call(moved.pairs, (ingested.added, staying, names, reading))
    return Synced(
        ingested.added, ingested.replaced, tuple(deleted), tuple(unchanged), reading.skipped, pairs, reading.left_out
    )


def _rows(reader: Reader, scope: Scope | None) -> Flow[tuple[Mapping[str, Row], list[Row]]]:
    """Return the rows of the visible documents, and of documents that a killed or failed deletion left half deleted."""
    rows = yield from reader.rows()
    everything = rows if scope is None else (yield from reader.everything()).rows
    return rows, [row for row in everything.values() if is_half_deleted(row, scope)]


def _doomed(left: Sequence[Row], coverage: Coverage, reading: FileReading, names: FileNames) -> list[Row]:
    """Return the documents to delete: those not in the source, without those that could not be read."""
    gone = [row for row in left if coverage.covers(row) and not reading.is_skipped_document(row.document_id)]
    return [row for row in gone if not reading.may_be_unread(file_path(row, names))]


def to_coverage(target: WriteTarget, source: Any, options: SyncOptions, reading: FileReading) -> Coverage:
    """Return what a user's source covers."""
    within, source_key = options.within, options.source_key
    _refuse_texts(source)
    if (files := as_files(source)) is not None:
        if within is not None or source_key is not None:
            raise InvalidArgument("files already say what they cover: leave out within and source_key")
        return FileCoverage(files, reading, allow_empty=options.allow_empty)
    if (within is None) == (source_key is None):
        raise InvalidArgument(
            "a sync of documents must say what they cover: give either within, a filter or 'everything', or source_key, "
            f"got within={shown(within)} and source_key={shown(source_key)}"
        )
    documents = read_documents(
        source, reading, flatten_metadata=options.flatten_metadata, unicode_errors=target.unicode_errors, skip_bad=True
    )
    if source_key is not None:
        check_text("source_key", source_key)
        return SourceKeyCoverage(documents, source_key)
    if isinstance(within, str) and within == "everything":
        return FilterCoverage(documents, None, target.scope)
    if isinstance(within, str):
        raise InvalidArgument(f"within must be a filter or 'everything', got {shown(within)}")
    condition = to_filter(within)
    if condition is None or constant(condition):
        raise InvalidArgument(f"within must be a filter with a condition, or 'everything', got {shown(within)}")
    return FilterCoverage(documents, condition, target.scope)


def _refuse_texts(source: object) -> None:
    """Check for texts where paths belong, before a missing file is reported."""
    for each in source if isinstance(source, list | tuple) else [source]:
        if isinstance(each, str):
            to_document(each)


def as_files(source: Any) -> list[Files] | None:
    """Return the files if the source consists of files only, else None."""
    things = [source] if isinstance(source, Path | Files) else source
    if not isinstance(things, Sequence) or not things or not all(isinstance(each, Path | Files) for each in things):
        return None
    return [each if isinstance(each, Files) else Files(each) for each in things]


_OF_A_VIEW = re.compile(r"@[0-9a-f]{16}(~\d)?\Z")  # Scope.suffix of another view than the sync's
_REMEDY = "; to delete the documents that were read there, pass allow_empty=True (--allow-empty)"


class FileCoverage:
    """Files cover the documents that were read from the same paths, and would be read from there again."""

    def __init__(self, files: Sequence[Files], reading: FileReading, *, allow_empty: bool) -> None:
        self._reading = reading
        self._parts = [
            _Part(path, real_path(path), replace(each, paths=path), reading.names(each))
            for each in files
            for path in each.named
        ]
        self._allow_empty = allow_empty

    def read(self, rows: Callable[[], Collection[Row]]) -> Iterator[Document]:
        """Yield the source's documents. A missing path is an error before anything is read."""
        present = [part for part in self._parts if not self._allow_empty or is_there(part.path)]
        for part in present:
            remedy = "" if is_there(part.path) or not any(map(part.has, rows())) else _REMEDY
            check_paths(part.files, remedy=remedy)
        for part in present:
            yield from self._reading.read(part.files)

    def covers(self, row: Row) -> bool:
        """Whether the source would have this row's document, unless it was deleted there or could not be read."""
        parts = [part for part in self._parts if part.has(row)]
        return bool(parts) and not any(self._reading.may_be_unread(path) for path in (part.path_of(row) for part in parts))

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """Return, after reading, the empty parts of the source whose documents would be deleted."""
        return [
            repr(str(part.path))
            for part in self._parts
            if not self._reading.found_below(part.real) and any(part.has(row) for row in doomed)
        ]


@dataclass(frozen=True, slots=True)
class _Part:
    """One of a source's paths, and how it is read."""

    path: Path
    real: Path  # with links resolved
    files: Files
    names: FileNames

    def path_of(self, row: Row) -> Path | None:
        return file_path(row, self.names)

    def has(self, row: Row) -> bool:
        path = self.path_of(row)
        if path is None or _OF_A_VIEW.search(row.document_id):  # a sync of that view deletes it
            return False
        if path == self.real:
            return True
        relative = below_folder(path, self.real)
        return relative is not None and self.files.takes(relative)


@dataclass(slots=True)
class FilterCoverage:
    """Documents that cover all matches of a filter. Each of them must match it, too."""

    documents: Iterator[Document]
    within: Where | None
    scope: Scope | None
    is_empty: bool = True

    def read(self, rows: Callable[[], Collection[Row]]) -> Iterator[Document]:
        for document in self.documents:
            self.is_empty = False
            stamped = document if self.scope is None else self.scope.stamped(document, document.id)
            if self.within is not None and not self.within.matches(
                with_language(stamped.metadata, language_of(stamped)), document.id
            ):
                raise InvalidDocument(
                    f"document {document.id!r} must match within, {self.within!r}, got metadata {dict(stamped.metadata)!r}"
                )
            yield document

    def covers(self, row: Row) -> bool:
        return self.within is None or self.within.matches(row.filterable, row.document_id)

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        return ["the source"] if self.is_empty and doomed else []


@dataclass(slots=True)
class SourceKeyCoverage:
    """Documents that cover everything with the same value of a metadata key as one of them."""

    documents: Iterator[Document]
    key: str
    values: set[object] = field(default_factory=set)

    def read(self, rows: Callable[[], Collection[Row]]) -> Iterator[Document]:
        for document in self.documents:
            value = document.metadata.get(self.key)
            if not _is_key(value):
                raise InvalidDocument(
                    f"document {shown(document.id)} must have a string or a whole number under the source_key "
                    f"{shown(self.key)}, got {shown(value)}"
                )
            self.values.add(value)
            yield document

    def covers(self, row: Row) -> bool:
        value = row.metadata.get(self.key)
        return _is_key(value) and value in self.values

    def empty_parts(self, doomed: Collection[Row]) -> list[str]:
        """A source without documents covers nothing."""
        return []


def _is_key(value: object) -> bool:
    """Whether a value can group documents: a string or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


Coverage = FileCoverage | FilterCoverage | SourceKeyCoverage  # a source of documents that knows what it covers
