"""Trees as they are stored: a document's tree has many summaries; each summary above the documents is a tree of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.engine import Flow
from leafspan.reserved import RESERVED_ID_PREFIX, STRUCTURE_KEY
from leafspan.store import DocumentToWrite, Reader, Row, StaleRead
from leafspan.tree._growing import TreeDraft, TreeNode
from leafspan.tree._summary_cache import view_of
from leafspan.tree._summary_record import SummaryRecord
from leafspan.tree._tree_record import TreeRecord
from leafspan.values import SUMMARY_VERSION, Covered, Leaf, LeafId, leaf_ids

LAYERS = f"{RESERVED_ID_PREFIX}layers"
"""The owner of the cached texts of summaries of several documents."""


def leaf_nodes(reader: Reader, wanted: Mapping[str, Iterable[int]]) -> Flow[dict[str, list[TreeNode]]]:
    """Leaves as nodes, by the shown ids of their documents; ``wanted`` has their ordinals.

    Raises:
        StaleRead: if one of them is no longer there.
    """
    visible = yield from reader.catalogue()
    ids_of = {id_: leaf_ids(id_, visible.rows[id_].version or "", ordinals) for id_, ordinals in wanted.items()}
    ids = [each for every in ids_of.values() for each in every]
    leaves = yield from reader.fetch_leaves(ids)
    vectors = yield from reader.fetch_vectors(ids)
    if len(leaves) < len(ids):
        raise StaleRead
    found = {}
    for id_, every in ids_of.items():
        stored = visible.stored_id(id_) or id_
        found[id_] = [_leaf_node(stored, leaves[each].leaf, leaves[each].text, vectors[each]) for each in every]
    return found


def _leaf_node(stored: str, leaf: Leaf, text: str, vector: Any) -> TreeNode:
    cover = Covered(stored, leaf.version, leaf.ordinal, leaf.ordinal, leaf.start, leaf.end)
    return TreeNode(str(LeafId(stored, leaf.version, leaf.ordinal)), text, leaf.words, vector, 0, (cover,))


def root_nodes(reader: Reader, rows: Iterable[Row]) -> Flow[dict[str, list[TreeNode]]]:
    """The summaries at the top of trees as nodes, by tree. Trees that lack one are left out."""
    tops = {row.document_id: leaf_ids(row.document_id, row.version or "", TreeRecord.of(row).tops) for row in rows}
    records = yield from reader.fetch_records([each for every in tops.values() for each in every])
    vectors = yield from reader.fetch_vectors(list(records))
    return {
        id_: [_root_node(each, *records[each], vectors[each]) for each in every]
        for id_, every in tops.items()
        if all(each in records for each in every)
    }


def _root_node(id_: str, text: str, metadata: Mapping[str, Any], vector: Any) -> TreeNode:
    record = SummaryRecord.unpack(metadata[STRUCTURE_KEY])
    return TreeNode(id_, text, record.words, vector, record.layer, record.covers, record)


def numbered(stored: str, version: str, number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary in a document's tree."""
    return str(LeafId(stored, version, number))


def layer_id(number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary of several documents, which stays the same as long as its children and texts do.

    Two views that have the same children in common each have a summary of their own.
    """
    name = hashlib.sha256(json.dumps([view_of(key), children]).encode()).hexdigest()[:16]
    version = hashlib.sha256(json.dumps([children, key]).encode()).hexdigest()[:7]
    return str(LeafId(f"{RESERVED_ID_PREFIX}layer:{name}", SUMMARY_VERSION + version, 0))


def document_tree(row: Row, draft: TreeDraft, summarizer: str) -> DocumentToWrite:
    """A document's tree, ready to be written.

    Args:
        row: The row that the tree will have, without what depends on its summaries.
        draft: The tree.
        summarizer: Identity of the summarizer.
    """
    summaries = draft.summaries
    record = TreeRecord(
        layers=[node.layer for node in summaries],
        tops=[place - draft.given for place in draft.roots if place >= draft.given],
        bare=[place for place in draft.roots if place < draft.given],
        keys=[node.record.key for node in summaries if node.record],
        summarizer=summarizer,
        document_version=row.extra["of"],
    )
    words = sum(node.words for node in summaries)
    return _to_write(replace(row, leaves=len(summaries), words=words, extra=record.pack()), summaries)


def layer_tree(node: TreeNode, view: str, label: str, summarizer: str) -> DocumentToWrite:
    """A summary of several documents, ready to be written.

    Args:
        node: The summary.
        view: Name of the view that it was built in.
        label: Which documents it is about.
        summarizer: Identity of the summarizer.
    """
    assert node.record is not None
    leaf = LeafId.parse(node.id)
    record = TreeRecord(
        layers=[node.layer],
        tops=[0],
        bare=[],
        keys=[node.record.key],
        summarizer=summarizer,
        view=view,
        label=label,
        children=list(node.record.children),
    )
    row = Row(leaf.document_id, node.record.key, leaf.version, 1, words=node.words, extra=record.pack())
    return _to_write(row, [node])


def _to_write(row: Row, nodes: Sequence[TreeNode]) -> DocumentToWrite:
    metadatas = [{STRUCTURE_KEY: node.record.pack()} for node in nodes if node.record]
    return DocumentToWrite(row, [node.text for node in nodes], metadatas, [node.vector for node in nodes])
