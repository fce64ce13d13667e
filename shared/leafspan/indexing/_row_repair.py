"""Makes a document's row again from its leaves, if it is certain to be the lost row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from leafspan.indexing._known_files import content_in_file, lines_before, markup_of
from leafspan.indexing._whole_document import chunks_of_leaves
from leafspan.splitting import layout_of
from leafspan.store import LooseRow, Row, pack_checksums, read_loosely
from leafspan.values import Document, Leaf, LeafId, leaf_ids


def repaired_row(document_id: str, stored: Any, records: Mapping[str, Record], there: Mapping[str, set[int]]) -> Row | None:
    """Return a document's row, made from its leaves and its damaged row, or None if the row may have been another one.

    The row is certain if its checksum is the same.
    """
    loose = read_loosely(stored)
    if loose is None:
        return None
    for version, ordinals in there.items():
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
