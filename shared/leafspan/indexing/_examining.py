"""Finding and repairing damage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from leafspan.flows import Flow, Progress
from leafspan.indexing._document_check import CheckLeaf, DocumentToCheck, Verdict, check_documents
from leafspan.store import Row, Store, Writer, grouped, read_consistently, read_place
from leafspan.values import LeafId, leaf_ids

_Ordinals: TypeAlias = Mapping[str, Mapping[str, set[int]]]
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
    derived: bool = False
    check_leaf: CheckLeaf = read_place  # reads a leaf, and raises ValueError if it differs from what was written


def examine(store: Store, how: Examination) -> Flow[list[Finding]]:
    """Compare the manifest with the leaves and their texts with their checksums, and repair what can be repaired.

    Only leftovers of killed writers, and leaves that certainly belong to no document, are deleted. A document with
    doubtful content loses its hash, so that the next ``add`` writes it again, even with the same content.
    """
    writer = yield from store.start_writing(how.timeout, None)
    try:
        findings = [
            Finding(row.document_id, _describe(row), how.repair) for row in writer.rows.values() if row.is_half_done
        ]
        if how.repair:
            yield from writer.recover()
        elif findings:
            writer.leave_unfinished()
        rows = dict(writer.rows)
        there, strange = _sorted_out((yield from read_consistently(store, lambda reader: reader.leaf_ids())))
    finally:
        writer.stop()
    verdicts = yield from _verdicts(store, rows, there, how)
    litter = _Litter.of(rows, there, strange, verdicts, how)
    findings += litter.findings
    findings += [_finding(id_, verdict, how) for id_, verdict in verdicts.items()]
    if how.repair:
        yield from _mend(store, rows, verdicts, litter, how)
    return findings


def _describe(row: Row) -> str:
    if row.version is None:
        return "was half written or half deleted by an interrupted writer: it is not shown, and can be added again"
    return "was being replaced by an interrupted writer: the version that is shown is whole, leaves of another may be left"


def _sorted_out(ids: list[str]) -> tuple[_Ordinals, list[str]]:
    """Return the stored leaves, and the ids of records that are not leaves."""
    there: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    strange = []
    for id_ in ids:
        if (leaf := LeafId.of(id_)) is not None:
            there[leaf.document_id][leaf.version].add(leaf.ordinal)
        else:
            strange.append(id_)
    return there, strange


def _verdicts(store: Store, rows: Mapping[str, Row], there: _Ordinals, how: Examination) -> Flow[dict[str, Verdict]]:
    """Return what is wrong with documents, by id. Reads leaves without the lock, so others may write meanwhile."""
    documents = [
        DocumentToCheck(row, there.get(row.document_id, {}))
        for row in rows.values()
        if row.version is not None or row.damage
    ]
    if how.quick:
        documents = [each for each in documents if not each.has_all_ids]
    verdicts: dict[str, Verdict] = {}
    size = attrgetter("size")
    with Progress(sum(map(size, documents)), show=how.show, what="Reading documents") as progress:
        for group in grouped(documents, _GROUP, size):
            check = partial(check_documents, documents=group, check_leaf=how.check_leaf)
            verdicts |= yield from read_consistently(store, check)
            progress.advance(sum(map(size, group)))
    return verdicts


def _finding(id_: str, verdict: Verdict, how: Examination) -> Finding:
    remedy = "" if verdict.repairs else f"; {how.remedy}"
    return Finding(id_, verdict.problem + remedy, how.repair and verdict.repairs)


@dataclass(slots=True)
class _Litter:
    """Records that do not belong to any document's current version, and never will."""

    leaves: dict[tuple[str, str], set[int]] = field(default_factory=dict)  # ordinals of leaves, by document and version
    strange: list[str] = field(default_factory=list)  # ids of records that are not leaves
    findings: list[Finding] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        rows: Mapping[str, Row],
        there: _Ordinals,
        strange: Sequence[str],
        verdicts: Mapping[str, Verdict],
        how: Examination,
    ) -> _Litter:
        """Return the litter, without anything that may be the rest of a document."""
        litter = cls()
        in_doubt = {id_ for id_, verdict in verdicts.items() if not verdict.repairs}
        for document_id, versions in there.items():
            row = rows.get(document_id)
            for version, ordinals in versions.items():
                if row is None and not how.derived:
                    in_doubt.add(document_id)
                    problem = f"{len(ordinals)} leaves of a document that is not in the manifest; {how.remedy}"
                    litter.findings.append(Finding(document_id, problem, False))
                elif row is None or (document_id not in verdicts and row.damage is None and not _is_of(row, version)):
                    litter.leaves[document_id, version] = ordinals
                    problem = f"{len(ordinals)} leaves of version {version}, which does not count"
                    litter.findings.append(Finding(document_id, problem, how.repair))
        is_litter = how.derived or not in_doubt  # otherwise it may be a missing leaf under another id
        litter.strange = list(strange) if is_litter else []
        litter.findings = [
            *(Finding(id_, "a record that is no leaf", how.repair and is_litter) for id_ in strange),
            *litter.findings,
        ]
        return litter

    def ids(self, rows: Mapping[str, Row]) -> list[str]:
        """Return the ids of the records that are still litter, given the current rows."""
        leaves = [
            id_
            for (document_id, version), ordinals in self.leaves.items()
            if document_id not in rows or not _is_of(rows[document_id], version)
            for id_ in leaf_ids(document_id, version, sorted(ordinals))
        ]
        return [*leaves, *self.strange]


def _is_of(row: Row, version: str) -> bool:
    """Whether a row has leaves of this version."""
    return version == row.version or version in dict(row.leftovers)


def _mend(
    store: Store, rows: Mapping[str, Row], verdicts: Mapping[str, Verdict], litter: _Litter, how: Examination
) -> Flow[None]:
    """Carry out the verdicts on documents that have not been written since, and delete litter."""
    if not (verdicts or litter.leaves or litter.strange):
        return
    writer: Writer = yield from store.start_writing(how.timeout, None)
    try:
        unchanged = {id_: each for id_, each in verdicts.items() if writer.rows.get(id_) == rows.get(id_)}
        ids = litter.ids(writer.rows) + [id_ for each in unchanged.values() for id_ in each.litter]
        if ids:
            yield from writer.delete_leaves(ids)
        if new := [each.row for each in unchanged.values() if each.row is not None]:
            yield from writer.write_rows(new)
            yield from writer.advance()
    finally:
        writer.stop()
