"""Compares documents with what was added, finds damage, and repairs it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import content_hash, language_of, unpack_place
from leafspan.engines import Record
from leafspan.flows import Call, Flow, Progress
from leafspan.indexing._contents import problem_of_content, put_together
from leafspan.indexing._known_files import content_in_file, lines_before, markup_of
from leafspan.indexing._writing import row_of
from leafspan.splitting import layout_of
from leafspan.store import (
    LooseRow,
    Reader,
    Row,
    Store,
    grouped,
    pack_checksums,
    read_consistently,
    read_loosely,
    read_place,
)
from leafspan.values import Leaf, LeafId, leaf_ids

_Leaves: TypeAlias = dict[str, dict[str, set[int]]]  # the ordinals of the stored leaves, by document and version
_GROUP = 1_000  # leaves read at a time


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that ``check`` or ``repair`` found.

    Attributes:
        document_id: Id of the document, or of the record.
        problem: What was wrong, and what to do if it was not repaired.
        repaired: Whether it was repaired.
    """

    document_id: str
    problem: str
    repaired: bool


@dataclass(frozen=True, slots=True)
class Examination:
    repair: bool  # whether to repair
    timeout: float  # seconds to wait for another writer
    quick: bool = False  # whether to read texts only where ids and rows show damage
    show: bool | None = None  # whether to show a bar. None: only to a person at a terminal
    remedy: str = "add the document again to restore it"  # what restores a document that cannot be repaired
    derived: bool = False  # whether everything can be made again, so that leaves without a document need not be kept
    check_leaf: CheckLeaf = read_place  # reads a leaf, and raises ValueError if it differs from what was written


def examine(store: Store, options: Examination) -> Flow[list[Finding]]:
    """Compare the manifest with the leaves and their texts with their checksums, and repair what can be repaired.

    Only leftovers of killed writers, and leaves that certainly belong to no document, are deleted. A document with
    doubtful content loses its hash, so that the next ``add`` writes it again, even with the same content.
    """
    with (yield from store.start_writing(options.timeout, None)) as writer:
        findings = [
            Finding(row.document_id, _interruption(row), options.repair) for row in writer.rows.values() if row.is_half_done
        ]
        if options.repair:
            yield from writer.recover()
        elif findings:
            writer.leave_unfinished()
        rows = dict(writer.rows)
        ids = yield from read_consistently(store, Reader.leaf_ids)
    leaves: _Leaves = defaultdict(lambda: defaultdict(set))
    litter = _Litter()
    for id_ in ids:
        if (leaf := LeafId.of(id_)) is not None:
            leaves[leaf.document_id][leaf.version].add(leaf.ordinal)
        else:
            litter.strange.append(id_)
    verdicts = yield from _verdicts(store, rows, leaves, options)
    findings += litter.collect(rows, leaves, verdicts, options)
    for id_, verdict in verdicts.items():
        remedy = "" if verdict.repairs else f"; {options.remedy}"
        findings.append(Finding(id_, verdict.problem + remedy, options.repair and verdict.repairs))
    if options.repair and (verdicts or litter.leaves or litter.strange):
        yield from _repair(store, rows, verdicts, litter, options.timeout)
    return findings


def _interruption(row: Row) -> str:
    if row.version is None:
        return "was half written or half deleted by an interrupted writer: it is not shown, and can be added again"
    return "was being replaced by an interrupted writer: the version that is shown is whole, leaves of another may be left"


def _verdicts(store: Store, rows: Mapping[str, Row], leaves: _Leaves, options: Examination) -> Flow[dict[str, Verdict]]:
    """Return what is wrong with documents, by id. Reads leaves without the lock, so others may write meanwhile."""
    to_check = [row for row in rows.values() if row.version is not None or row.damage]
    documents = [DocumentToCheck(row, leaves.get(row.document_id, {})) for row in to_check]
    if options.quick:
        documents = [each for each in documents if not each.has_all_ids]
    verdicts: dict[str, Verdict] = {}
    size = attrgetter("size")
    with Progress(sum(map(size, documents)), show=options.show, what="Reading documents") as progress:
        for group in grouped(documents, _GROUP, size):
            check = partial(check_documents, documents=group, check_leaf=options.check_leaf)
            verdicts |= yield from read_consistently(store, check)
            progress.advance(sum(map(size, group)))
    return verdicts


@dataclass(slots=True)
class _Litter:
    """Records that do not belong to any document's current version, and never will."""

    leaves: dict[tuple[str, str], set[int]] = field(default_factory=dict)  # ordinals of leaves, by document and version
    strange: list[str] = field(default_factory=list)  # ids of records that are not leaves

    def collect(
        self, rows: Mapping[str, Row], leaves: _Leaves, verdicts: Mapping[str, Verdict], options: Examination
    ) -> list[Finding]:
        """Collect the litter, without anything that may be the rest of a document, and return the findings about it."""
        findings: list[Finding] = []
        is_certain = all(verdict.repairs for verdict in verdicts.values())
        for document_id, versions in leaves.items():
            row = rows.get(document_id)
            for version, ordinals in versions.items():
                if row is None and not options.derived:
                    is_certain = False
                    problem = f"{len(ordinals)} leaves of a document that is not in the manifest; {options.remedy}"
                    findings.append(Finding(document_id, problem, False))
                elif row is None or (document_id not in verdicts and row.damage is None and not _is_of(row, version)):
                    self.leaves[document_id, version] = ordinals
                    problem = f"{len(ordinals)} leaves of version {version}, which does not count"
                    findings.append(Finding(document_id, problem, options.repair))
        is_litter = options.derived or is_certain  # otherwise it may be a missing leaf under another id
        of_strange = [Finding(id_, "a record that is no leaf", options.repair and is_litter) for id_ in self.strange]
        if not is_litter:
            self.strange.clear()
        return of_strange + findings


def _is_of(row: Row, version: str) -> bool:
    return version == row.version or version in dict(row.leftovers)


def _repair(
    store: Store, rows: Mapping[str, Row], verdicts: Mapping[str, Verdict], litter: _Litter, timeout: float
) -> Flow[None]:
    """Carry out the verdicts on documents that have not been written since, and delete litter."""
    with (yield from store.start_writing(timeout, None)) as writer:
        unchanged = [each for id_, each in verdicts.items() if writer.rows.get(id_) == rows.get(id_)]
        ids = [*litter.strange, *(id_ for each in unchanged for id_ in each.litter)]
        for (document_id, version), ordinals in litter.leaves.items():
            if document_id not in writer.rows or not _is_of(writer.rows[document_id], version):
                ids += leaf_ids(document_id, version, sorted(ordinals))
        if ids:
            yield from writer.delete_leaves(ids)
        if new := [each.row for each in unchanged if each.row is not None]:
            yield from writer.write_rows(new)
            yield from writer.advance()


CheckLeaf: TypeAlias = Callable[[Row, LeafId, str, Mapping[str, Any] | None], Any]
"""A function that reads a leaf of a row's document, and raises ValueError if the leaf differs from what was written."""


class DocumentToCheck(NamedTuple):
    row: Row  # its row in the manifest
    leaves: Mapping[str, set[int]]  # ordinals of its stored leaves, by version

    @property
    def size(self) -> int:
        return sum(map(len, self.leaves.values()))

    @property
    def has_all_ids(self) -> bool:
        """Whether its row is whole, and its current version has exactly the right leaves."""
        row = self.row
        return row.damage is None and self.leaves.get(row.version or "", set()) == set(range(row.leaves))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a document, and how to repair it."""

    problem: str  # what is wrong
    repairs: bool  # whether the repair makes it whole
    row: Row | None = None  # the row that replaces its own, or None to keep that
    litter: Sequence[str] = ()  # ids of leaves of its current version that certainly do not belong to it


def check_documents(
    reader: Reader, documents: Sequence[DocumentToCheck], check_leaf: CheckLeaf
) -> Flow[dict[str, Verdict]]:
    """Return what is wrong with each damaged document, by its id."""
    now = yield from reader.rows([each.row.document_id for each in documents])
    unchanged = [each for each in documents if now.get(each.row.document_id) == each.row]
    ids = [
        id_
        for row, leaves in unchanged
        for version, ordinals in leaves.items()
        for id_ in leaf_ids(row.document_id, version, sorted(ordinals))
    ]
    records = yield from reader.stored_records(ids, ["text", "metadata"])
    damaged = [each.row.document_id for each in unchanged if each.row.damage is not None]
    stored_rows = (yield from reader.stored_rows(damaged)) if damaged else {}
    verdicts = {}
    for each in unchanged:
        id_ = each.row.document_id
        verdict = yield Call(_verdict, (each, records, stored_rows.get(id_), check_leaf))
        if verdict is not None:
            verdicts[id_] = verdict
    if verdicts and reader.may_be_stale:
        # A missing leaf may have been replaced or deleted since its row was read. Writers change the manifest first.
        rows = yield from reader.stored_rows(list(verdicts))
        still = {id_: Row.unpack(id_, row) for id_, row in rows.items()}
        return {id_: verdict for id_, verdict in verdicts.items() if still.get(id_) == now[id_]}
    return verdicts


def _verdict(
    document: DocumentToCheck, records: Mapping[str, Record], stored_row: Any, check_leaf: CheckLeaf
) -> Verdict | None:
    row, stored = document
    if row.damage is not None:
        repaired = repaired_row(row.document_id, stored_row, records, stored)
        return Verdict(row.damage.problem, repaired is not None, repaired)
    problem = _problem(row, records, check_leaf)
    surplus = stored.get(row.version or "", set()) - set(range(row.leaves))
    if surplus and problem is None:
        ids = leaf_ids(row.document_id, row.version or "", sorted(surplus))
        return Verdict(f"{len(surplus)} leaves beyond its end", True, litter=ids)
    if problem is None:
        return None
    for version, ordinals in stored.items():
        counted = replace(row, version=version, leaves=len(ordinals))
        problem_of_count = _problem(counted, records, check_leaf)
        if counted != row and problem_of_count is None:
            said = f"{row.leaves} leaves of version {row.version}"
            return Verdict(f"its row says {said}, and it has {len(ordinals)} of {version}", True, counted)
    return Verdict(problem, False, replace(row, hash=""))


def _problem(row: Row, records: Mapping[str, Record], check_leaf: CheckLeaf) -> str | None:
    """Return what is wrong with a document's leaves, or None if they are whole."""
    ids = row.record_ids
    if missing := sum(id_ not in records for id_ in ids):
        return f"{missing} of {row.leaves} leaves are missing"
    problems: list[str] = []
    leaves: list[tuple[Leaf, str, Mapping[str, Any]]] = []
    for ordinal, id_ in enumerate(ids):
        _, text, metadata, _ = records[id_]
        if text is None:
            problems.append(f"the text of its leaf {ordinal} is missing")
            continue
        try:
            leaf = check_leaf(row, LeafId(row.document_id, row.version or "", ordinal), text, metadata)
        except ValueError as error:
            problems.append(str(error))
            continue
        leaves.append((leaf, text, metadata or {}))
        if not _is_shared(row, metadata):
            problems.append(f"the metadata of its leaf {ordinal} differ from the document's metadata")
    if problems:
        return problems[0] + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else "")
    document = put_together(row, leaves)
    return None if document is None else problem_of_content(row, document)


def _is_shared(row: Row, metadata: Mapping[str, Any] | None) -> bool:
    """Whether a leaf's metadata equal its document's. The document's hash covers the metadata of chunks."""
    own = {key: value for key, value in (metadata or {}).items() if key != STRUCTURE_KEY}
    if not row.extra.get("chunks") and not own.keys() <= row.metadata.keys():
        return False
    return all(row.metadata[key] == value for key, value in own.items() if key in row.metadata)


def repaired_row(
    document_id: str, stored_row: Any, records: Mapping[str, Record], leaves: Mapping[str, set[int]]
) -> Row | None:
    """Return a document's row, made from its leaves and its damaged row, or None if the row may have been another one.

    The row is certain if its checksum is the same.
    """
    loose = read_loosely(stored_row)
    if loose is None:
        return None
    for version, ordinals in leaves.items():
        row = _made_again(document_id, loose, records, leaf_ids(document_id, version, range(len(ordinals))))
        if row is not None and row.crc == loose.crc:
            return row
    return None


def _made_again(document_id: str, loose: LooseRow, records: Mapping[str, Record], ids: list[str]) -> Row | None:
    """Return the row of a document with these leaves, or None if they do not form a document."""
    try:
        leaves = [_leaf(id_, records[id_]) for id_ in ids]
    except (KeyError, ValueError):
        return None
    places = [leaf for leaf, _, _ in leaves]
    starts = [0, *(leaf.end for leaf in places[:-1])]
    if not places or [leaf.start for leaf in places] != starts or places[-1].ancestors[-1].last != len(ids) - 1:
        return None
    version, extra = places[0].version, loose.extra
    plain = Row(document_id, "", version, len(ids), title=loose.title, metadata=loose.metadata, extra=extra)
    document = put_together(plain, leaves)
    if document is None:
        return None
    hash_, layout = content_hash(document, content_in_file(extra)), layout_of(document.text, markup_of(extra))
    row = row_of(document, hash_, places, layout, lines_before(extra), language_of(document), extra, version)
    return replace(row, checksums=pack_checksums((text, metadata[STRUCTURE_KEY]) for _, text, metadata in leaves))


def _leaf(id_: str, record: Record) -> tuple[Leaf, str, Mapping[str, Any]]:
    _, text, metadata, _ = record
    leaf = unpack_place(LeafId.parse(id_), metadata.get(STRUCTURE_KEY) if metadata else None)
    if text is None or leaf.end - leaf.start != len(text) or not leaf.ancestors:
        raise ValueError("it is damaged")
    return leaf, text, metadata or {}
