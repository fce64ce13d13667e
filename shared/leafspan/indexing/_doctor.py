"""Finding and mending what is not whole."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TypeAlias

from leafspan.engine import Flow
from leafspan.store import Row, Store, Writer, read_consistently
from leafspan.values import LeafId, leaf_ids

_Ordinals: TypeAlias = dict[tuple[str, str], set[int]]
"""The ordinals of the leaves that are there, by document and version."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was not whole.

    Attributes:
        document_id: Id of the document, or of the record.
        problem: What was wrong, and what to do if it was not mended.
        mended: Whether it is whole now.
    """

    document_id: str
    problem: str
    mended: bool


def examine(
    store: Store, *, mend: bool, timeout: float, remedy: str = "add the document again to restore it"
) -> Flow[list[Finding]]:
    """Compare the manifest with the leaves that are there, under the writer's lock, and mend what can be mended.

    Args:
        store: Where to look.
        mend: Whether to mend.
        timeout: Seconds to wait for another writer.
        remedy: What restores missing leaves.

    Raises:
        WriterBusy: if another writer holds the index for longer than the timeout.
    """
    writer = yield from store.start_writing(timeout, None)
    try:
        findings = [Finding(row.document_id, _describe(row), mend) for row in writer.rows.values() if row.is_half_done]
        if mend:
            yield from writer.recover()
        elif findings:
            writer.leave_unfinished()
        ids = yield from read_consistently(store, lambda reader: reader.leaf_ids())
        there, strange = _sorted_out(ids)
        findings += [Finding(id_, "a record that is no leaf", mend) for id_ in strange]
        if mend and strange:
            yield from writer.delete_leaves(strange)
        findings += yield from _orphans(writer, there, mend=mend)
        findings += yield from _incomplete(writer, there, remedy, mend=mend)
        return findings
    finally:
        writer.stop()


def _describe(row: Row) -> str:
    if row.version is None:
        return "was half written or half deleted"
    return "was replaced, but leaves of the other version may be left"


def _sorted_out(ids: list[str]) -> tuple[_Ordinals, list[str]]:
    """The leaves that are there, and the ids of records that are none."""
    there: _Ordinals = defaultdict(set)
    strange = []
    for id_ in ids:
        try:
            leaf = LeafId.parse(id_)
        except ValueError:
            leaf = None
        if leaf is not None and leaf.version and str(leaf) == id_:
            there[leaf.document_id, leaf.version].add(leaf.ordinal)
        else:
            strange.append(id_)
    return there, strange


def _orphans(writer: Writer, there: _Ordinals, *, mend: bool) -> Flow[list[Finding]]:
    """Leaves that belong to no document's current version, and never will."""
    findings, ids = [], []
    for (document_id, version), ordinals in there.items():
        row = writer.rows.get(document_id)
        if row is not None and version in dict(row.leftovers):
            continue
        is_current = row is not None and version == row.version
        surplus = ordinals - set(range(row.leaves)) if row is not None and is_current else ordinals
        if surplus:
            why = "beyond its end" if is_current else f"of version {version}, which does not count"
            findings.append(Finding(document_id, f"{len(surplus)} leaves {why}", mend))
            ids += leaf_ids(document_id, version, sorted(surplus))
    if mend and ids:
        yield from writer.delete_leaves(ids)
    return findings


def _incomplete(writer: Writer, there: _Ordinals, remedy: str, *, mend: bool) -> Flow[list[Finding]]:
    """Documents that have lost leaves: nothing here holds their text, so they must be written anew."""
    findings, rows = [], []
    for row in writer.rows.values():
        missing = set(range(row.leaves)) - there.get((row.document_id, row.version or ""), set())
        if row.version is not None and missing:
            problem = f"{len(missing)} of {row.leaves} leaves are missing; {remedy}"
            findings.append(Finding(row.document_id, problem, False))
            rows.append(replace(row, hash=""))
    if mend and rows:
        yield from writer.write_rows(rows)
        yield from writer.advance()
    return findings
