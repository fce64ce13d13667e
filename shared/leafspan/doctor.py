"""Finding and mending what is not whole."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from leafspan.adding import recover
from leafspan.engine import Flow
from leafspan.reading import reading
from leafspan.store import Row, Store, Writer
from leafspan.values import leaf_id


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was not whole, and whether it is now."""

    document_id: str
    problem: str
    mended: bool


def examining(
    store: Store, *, mend: bool, timeout: float, remedy: str = "add the document again to restore it"
) -> Flow[list[Finding]]:
    """Compare the manifest with the leaves that are there, under the writer's lock, and mend what can be.

    ``remedy``: what brings missing leaves back.
    """
    writer = yield from store.start_writing(timeout, None)
    try:
        findings = [Finding(row.document_id, _describe(row), mend) for row in writer.rows.values() if _half_done(row)]
        if mend:
            yield from recover(writer)
        elif findings:
            writer.leave_unfinished()
        ids = yield from reading(store, lambda reader: reader.leaf_ids())
        there: dict[tuple[str, str], set[int]] = defaultdict(set)
        strange = []
        for id_ in ids:
            document_id, version, ordinal = ("", "", *id_.rsplit("#", 2))[-3:]
            if version and ordinal.isdecimal():
                there[document_id, version].add(int(ordinal))
            else:
                strange.append(id_)
        findings += [Finding(id_, "a record that is no leaf", mend) for id_ in strange]
        if mend and strange:
            yield from writer.delete_leaves(strange)
        findings += yield from _orphans(writer, there, mend=mend)
        findings += yield from _incomplete(writer, there, remedy, mend=mend)
        return findings
    finally:
        writer.stop()


def _half_done(row: Row) -> bool:
    return bool(row.litter) or row.version is None


def _describe(row: Row) -> str:
    if row.version is None:
        return "was half written or half deleted"
    return "was replaced, but leaves of the other version may be left"


def _orphans(writer: Writer, there: dict[tuple[str, str], set[int]], *, mend: bool) -> Flow[list[Finding]]:
    """Leaves that no document counts, and none will."""
    findings, ids = [], []
    for (document_id, version), ordinals in there.items():
        row = writer.rows.get(document_id)
        if row is not None and version in dict(row.litter):
            continue
        counts = row is not None and version == row.version
        surplus = ordinals - set(range(row.leaves)) if row is not None and counts else ordinals
        if surplus:
            why = "beyond its end" if counts else f"of version {version}, which does not count"
            findings.append(Finding(document_id, f"{len(surplus)} leaves {why}", mend))
            ids += [leaf_id(document_id, version, ordinal) for ordinal in sorted(surplus)]
    if mend and ids:
        yield from writer.delete_leaves(ids)
    return findings


def _incomplete(writer: Writer, there: dict[tuple[str, str], set[int]], remedy: str, *, mend: bool) -> Flow[list[Finding]]:
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
