"""Compares each leaf of a stored document with what was added, and chooses the repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import (
    content_hash,
    find_sections,
    language_of,
    moved_down,
    pack_lines,
    place_of,
    unpack_place,
)
from leafspan.engines import Record
from leafspan.flows import Call, Flow
from leafspan.indexing._contents import chunks_of_leaves, problem_of_content, put_together
from leafspan.indexing._known_files import content_in_file, lines_before, markup_of
from leafspan.splitting import layout_of
from leafspan.store import LooseRow, Reader, Row, pack_checksums, read_loosely
from leafspan.values import Document, Leaf, LeafId, leaf_ids

CheckLeaf: TypeAlias = Callable[[Row, LeafId, str, Mapping[str, Any] | None], Any]
"""A function that reads a leaf of a row's document, and raises ValueError if the leaf differs from what was written."""


class DocumentToCheck(NamedTuple):
    """A document with its stored leaves."""

    row: Row  # its row in the manifest
    leaves: Mapping[str, set[int]]  # ordinals of its stored leaves, by version

    @property
    def size(self) -> int:
        """The number of its stored leaves."""
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
        written = {each.row.document_id for each in unchanged if _is_written(each.row, rows)}
        return {id_: verdict for id_, verdict in verdicts.items() if id_ not in written}
    return verdicts


def _is_written(row: Row, stored: Mapping[str, Any]) -> bool:
    """Whether the manifest has another row of this document by now."""
    return row.document_id not in stored or Row.unpack(row.document_id, stored[row.document_id]) != row


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
    if problem is None and not surplus:
        return None
    for version, ordinals in stored.items():
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
        leaves = [(_leaf(LeafId.parse(id_), records[id_]), records[id_].metadata or {}) for id_ in ids]
    except (KeyError, ValueError):
        return None
    texts = [records[id_].text or "" for id_ in ids]
    ends = [leaf.end for leaf, _ in leaves]
    if (
        not leaves
        or [leaf.start for leaf, _ in leaves] != [0, *ends[:-1]]
        or leaves[-1][0].ancestors[-1].last != len(ids) - 1
    ):
        return None
    version, top = leaves[0][0].version, leaves[0][0].ancestors[-1]
    plain = Row(document_id, "", version, len(ids), title=loose.title, metadata=loose.metadata, extra=loose.extra)
    chunks = chunks_of_leaves(plain, leaves) if loose.extra.get("chunks") else ()
    document = Document(document_id, "".join(texts), loose.title, loose.metadata, chunks, hidden=plain.hidden)
    places, layout = [leaf for leaf, _ in leaves], layout_of(document.text, markup_of(loose.extra))
    before = lines_before(loose.extra)
    checksums = pack_checksums((text, metadata[STRUCTURE_KEY]) for text, (_, metadata) in zip(texts, leaves, strict=True))
    return replace(
        plain,
        hash=content_hash(document, content_in_file(loose.extra)),
        language=language_of(document),
        sections=tuple(find_sections(places, layout.headings, layout.tables)),
        characters=len(document.text),
        words=top.words,
        lines="" if chunks or place_of(loose.metadata) else moved_down(pack_lines(document.text, places), before),
        checksums=checksums,
    )


def _leaf(id_: LeafId, record: Record) -> Leaf:
    _, text, metadata, _ = record
    leaf = unpack_place(id_, metadata.get(STRUCTURE_KEY) if metadata else None)
    if text is None or leaf.end - leaf.start != len(text) or not leaf.ancestors:
        raise ValueError("it is damaged")
    return leaf
