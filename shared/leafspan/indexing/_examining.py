"""Finding and repairing damage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from leafspan.flows import Flow, Progress
from leafspan.indexing._document_check import CheckLeaf, DocumentToCheck, Verdict, check_documents
from leafspan.store import Row, Store, Writer, grouped, read_consistently, read_place
from leafspan.values import LeafId, leaf_ids

_Leaves: TypeAlias = dict[str, dict[str, set[int]]]
"""The ordinals of the stored leaves, by document and version."""

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
    """The options of an examination."""

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
    writer = yield from store.start_writing(options.timeout, None)
    try:
        findings = [
            Finding(row.document_id, _interruption(row), options.repair) for row in writer.rows.values() if row.is_half_done
        ]
        if options.repair:
            yield from writer.recover()
        elif findings:
            writer.leave_unfinished()
        rows = dict(writer.rows)
        ids = yield from read_consistently(store, lambda reader: reader.leaf_ids())
    finally:
        writer.stop()
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
    documents = [
        DocumentToCheck(row, leaves.get(row.document_id, {}))
        for row in rows.values()
        if row.version is not None or row.damage
    ]
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
    """Whether a row has leaves of this version."""
    return version == row.version or version in dict(row.leftovers)


def _repair(
    store: Store, rows: Mapping[str, Row], verdicts: Mapping[str, Verdict], litter: _Litter, timeout: float
) -> Flow[None]:
    """Carry out the verdicts on documents that have not been written since, and delete litter."""
    writer: Writer = yield from store.start_writing(timeout, None)
    try:
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
    finally:
        writer.stop()
