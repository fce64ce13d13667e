"""Sync: makes an index's documents equal to a source's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from leafspan.checks import check_flag
from leafspan.documents import IndexSettings
from leafspan.embedding import Embed
from leafspan.errors import EmptySource
from leafspan.files import FileNames, FileReading, Skipped
from leafspan.flows import Call, Flow
from leafspan.indexing._coverage import Coverage, FileCoverage, to_coverage
from leafspan.indexing._deleting import Forget, delete_documents, is_half_deleted
from leafspan.indexing._file_memory import FileMemory
from leafspan.indexing._ingest import take_in
from leafspan.indexing._intake import Intake
from leafspan.indexing._known_files import file_path
from leafspan.indexing._moved import Moved
from leafspan.indexing._workers import Workers
from leafspan.indexing._write_group import finish, finish_interrupted
from leafspan.store import Reader, Row, Scope, Store, read_consistently


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
    """The options of a ``sync``: see ``Index.sync``.

    Raises:
        InvalidArgument: if a flag is not True or False.
    """

    within: object = None
    source_key: str | None = None
    dry_run: bool = False
    allow_empty: bool = False
    flatten_metadata: bool = False
    volatile_keys: object = ()

    def __post_init__(self) -> None:
        check_flag("dry_run", self.dry_run)
        check_flag("allow_empty", self.allow_empty)
        check_flag("flatten_metadata", self.flatten_metadata)


def sync(
    store: Store,
    embed: Embed,
    source: object,
    settings: IndexSettings,
    options: SyncOptions,
    intake: Intake,
    *,
    scope: Scope | None,
    timeout: float,
    show: bool | None,
    forget: Forget,
    workers: Workers | None = None,
) -> Flow[Synced]:
    """Add new documents of a source, replace changed ones, and delete those that the source no longer has.

    Deletion comes last, and only if the whole source could be read. So a killed process may leave documents that the
    source no longer has, but never loses one that the source has.

    Raises:
        EmptySource: if documents would be deleted because a part of the source is empty.
        InvalidArgument: if the source does not say what it covers.
        InvalidDocument: if a document cannot be stored, or two different ones have the same id.
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    reading = intake.reading
    if workers is not None:
        reading.ahead = workers.read_ahead
    coverage = to_coverage(
        source,
        reading,
        scope,
        within=options.within,
        source_key=options.source_key,
        allow_empty=options.allow_empty,
        flatten_metadata=options.flatten_metadata,
        unicode_errors=intake.unicode_errors,
    )
    if not options.dry_run:
        yield from finish_interrupted(store)
    # Read the rows first: documents that others add meanwhile must not be deleted.
    rows, half_deleted = yield from read_consistently(store, partial(_rows, scope=scope), scope)
    moved = Moved(rows)
    documents = moved.watching(intake.keep(coverage.read(lambda: intake.known([*rows.values()]))))
    memory: FileMemory | None = None
    if intake.remembers_files and scope is None and isinstance(coverage, FileCoverage):
        memory = yield Call(FileMemory, (store, rows))
        reading.unchanged, documents = memory.unchanged, memory.watching(documents)
    taken = yield from take_in(
        store,
        embed,
        documents,
        settings,
        scope=scope,
        timeout=timeout,
        show=show,
        dry_run=options.dry_run,
        may_replace=None if isinstance(coverage, FileCoverage) else coverage.covers,
        row_keys=intake.row_keys,
        workers=workers,
    )
    if memory is not None and not options.dry_run:
        yield Call(memory.keep, (reading.unread,))
    unchanged = sorted([*taken.unchanged, *reading.passed], key=lambda id_: reading.order.get(id_, 0))
    kept = {*taken.added, *taken.replaced, *unchanged}
    left = [row for id_, row in sorted(rows.items()) if row.version is not None and id_ not in kept]
    left = yield Call(intake.known, (left,))
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
        deleted = yield from delete_documents(
            store, versions, scope=scope, timeout=timeout, forget=forget, versions=versions
        )
    going = {row.document_id for row in doomed}
    staying = [row for row in left if row.document_id not in going]
    pairs = yield Call(moved.pairs, (taken.added, staying, names))
    return Synced(taken.added, taken.replaced, tuple(deleted), tuple(unchanged), reading.skipped, pairs, reading.left_out)


def _rows(reader: Reader, scope: Scope | None) -> Flow[tuple[Mapping[str, Row], list[Row]]]:
    """Return the rows of the visible documents, and of documents that a killed or failed deletion left half deleted."""
    rows = yield from reader.rows()
    everything = rows if scope is None else (yield from reader.everything()).rows
    return rows, [row for row in everything.values() if is_half_deleted(row, scope)]


def _doomed(left: Sequence[Row], coverage: Coverage, reading: FileReading, names: FileNames) -> list[Row]:
    """Return the documents to delete: those not in the source, without those that could not be read."""
    gone = [row for row in left if coverage.covers(row) and not reading.is_skipped_document(row.document_id)]
    return [row for row in gone if not reading.may_be_unread(file_path(row, names))]
