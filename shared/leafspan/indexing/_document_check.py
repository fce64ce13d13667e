"""Compares each leaf of a stored document with what was added, and chooses the repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from leafspan.checks import STRUCTURE_KEY
from leafspan.engines import Record
from leafspan.flows import Call, Flow
from leafspan.indexing._row_repair import repaired_row
from leafspan.indexing._whole_document import problem_of_content, put_together
from leafspan.store import Reader, Row
from leafspan.values import Leaf, LeafId, leaf_ids

CheckLeaf: TypeAlias = Callable[[Row, LeafId, str, Mapping[str, Any] | None], Any]
"""A function that reads a leaf of a row's document, and raises ValueError if the leaf differs from what was written."""


class DocumentToCheck(NamedTuple):
    """A document with its stored leaves.

    Attributes:
        row: Its row in the manifest.
        there: Ordinals of its stored leaves, by version.
    """

    row: Row
    there: Mapping[str, set[int]]

    @property
    def size(self) -> int:
        """The number of its stored leaves."""
        return sum(map(len, self.there.values()))

    @property
    def has_all_ids(self) -> bool:
        """Whether its row is whole, and its current version has exactly the right leaves."""
        row = self.row
        return row.damage is None and self.there.get(row.version or "", set()) == set(range(row.leaves))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a document, and how to repair it.

    Attributes:
        problem: What is wrong.
        repairs: Whether the repair makes it whole.
        row: The row that replaces its own, or None to keep that.
        litter: Ids of leaves of its current version that certainly do not belong to it.
    """

    problem: str
    repairs: bool
    row: Row | None = None
    litter: Sequence[str] = ()


def check_documents(
    reader: Reader, documents: Sequence[DocumentToCheck], check_leaf: CheckLeaf
) -> Flow[dict[str, Verdict]]:
    """Return what is wrong with each damaged document, by its id."""
    now = yield from reader.rows([each.row.document_id for each in documents])
    unchanged = [each for each in documents if now.get(each.row.document_id) == each.row]
    ids = [
        id_
        for row, there in unchanged
        for version, ordinals in there.items()
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
        written = {each.row.document_id for each in unchanged if _is_written(each.row, rows)}
        return {id_: verdict for id_, verdict in verdicts.items() if id_ not in written}
    return verdicts


def _is_written(row: Row, stored: Mapping[str, Any]) -> bool:
    """Whether the manifest has another row of this document by now."""
    return row.document_id not in stored or Row.unpack(row.document_id, stored[row.document_id]) != row


def _verdict(
    document: DocumentToCheck, records: Mapping[str, Record], stored_row: Any, check_leaf: CheckLeaf
) -> Verdict | None:
    row, there = document
    if row.damage is not None:
        repaired = repaired_row(row.document_id, stored_row, records, there)
        return Verdict(row.damage.problem, repaired is not None, repaired)
    problem = _problem(row, records, check_leaf)
    surplus = there.get(row.version or "", set()) - set(range(row.leaves))
    if surplus and problem is None:
        ids = leaf_ids(row.document_id, row.version or "", sorted(surplus))
        return Verdict(f"{len(surplus)} leaves beyond its end", True, litter=ids)
    if problem is None and not surplus:
        return None
    for version, ordinals in there.items():
        counted = replace(row, version=version, leaves=len(ordinals))
        problem_of_count = _problem(counted, records, check_leaf)
        if counted != row and problem_of_count is None:
            said = f"{row.leaves} leaves of version {row.version}"
            return Verdict(f"its row says {said}, and it has {len(ordinals)} of {version}", True, counted)
    return Verdict(problem or f"{len(surplus)} leaves beyond its end", False, replace(row, hash=""))


def _problem(row: Row, records: Mapping[str, Record], check_leaf: CheckLeaf) -> str | None:
    """Return what is wrong with a document's leaves, or None if they are whole."""
    ids = row.leaf_ids
    missing = sum(id_ not in records for id_ in ids)
    if missing:
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
    of_chunks = bool(row.extra.get("chunks"))
    for key, value in (metadata or {}).items():
        if key not in row.metadata:
            if key != STRUCTURE_KEY and not of_chunks:
                return False
        elif key != STRUCTURE_KEY and row.metadata[key] != value:
            return False
    return True
