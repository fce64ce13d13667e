"""Trees as they are stored, in an index of their own.

That index has a document for each tree, and a leaf for each summary. A summary of several documents is stored as a tree
with one leaf.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.checks import RESERVED_ID_PREFIX, STRUCTURE_KEY
from leafspan.engines import StaleRead
from leafspan.flows import Flow
from leafspan.store import DocumentToWrite, Reader, Row
from leafspan.trees._growing import TreeDraft, TreeNode
from leafspan.trees._stored_summaries import fetch_summaries
from leafspan.trees._summary_cache import view_of
from leafspan.trees._summary_record import SummaryRecord
from leafspan.trees._tree_record import TreeRecord
from leafspan.values import SUMMARY_VERSION, Covered, Leaf, LeafId, leaf_ids

UPPER_LAYERS = f"{RESERVED_ID_PREFIX}layers"
"""The owner of cached texts for summaries of several documents."""


def leaf_nodes(reader: Reader, wanted: Mapping[str, Iterable[int]]) -> Flow[dict[str, list[TreeNode]]]:
    """Leaves as nodes, by the shown ids of their documents.

    Raises:
        StaleRead: if a leaf is no longer there.
    """
    visible = yield from reader.catalogue()
    ids_of = {shown: leaf_ids(shown, visible.rows[shown].version or "", ordinals) for shown, ordinals in wanted.items()}
    ids = [leaf_id for leaf_ids_ in ids_of.values() for leaf_id in leaf_ids_]
    leaves = yield from reader.fetch_leaves(ids)
    vectors = yield from reader.fetch_vectors(ids)
    if len(leaves) < len(ids):
        raise StaleRead
    nodes = {}
    for shown, leaf_ids_ in ids_of.items():
        stored = visible.stored_id(shown) or shown
        nodes[shown] = [_leaf_node(stored, leaves[id_].leaf, leaves[id_].text, vectors[id_]) for id_ in leaf_ids_]
    return nodes


def _leaf_node(stored_id: str, leaf: Leaf, text: str, vector: Any) -> TreeNode:
    cover = Covered(stored_id, leaf.version, leaf.ordinal, leaf.ordinal, leaf.start, leaf.end)
    return TreeNode(str(LeafId(stored_id, leaf.version, leaf.ordinal)), text, leaf.words, vector, 0, (cover,))


def root_nodes(reader: Reader, rows: Iterable[Row]) -> Flow[dict[str, list[TreeNode]]]:
    """The summaries at the tops of trees as nodes, by the id of the tree. A tree with a missing summary is left out."""
    tops = {row.document_id: leaf_ids(row.document_id, row.version or "", TreeRecord.of(row).tops) for row in rows}
    records = yield from fetch_summaries(reader, [id_ for ids in tops.values() for id_ in ids])
    vectors = yield from reader.fetch_vectors(list(records))
    return {
        tree: [_root_node(id_, *records[id_], vectors[id_]) for id_ in ids]
        for tree, ids in tops.items()
        if all(id_ in records for id_ in ids)
    }


def _root_node(id_: str, text: str, record: SummaryRecord, vector: Any) -> TreeNode:
    return TreeNode(id_, text, record.words, vector, record.layer, record.covers, record)


def summary_id(tree_id: str, version: str, number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary in a document's tree: its number identifies it, so children and key are not needed."""
    return str(LeafId(tree_id, version, number))


def upper_summary_id(number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary of several documents.

    It stays the same as long as the summary's children and their texts do. If two views build a summary from the same
    children, each view has its own.
    """
    name = hashlib.sha256(json.dumps([view_of(key), children]).encode()).hexdigest()[:16]
    version = hashlib.sha256(json.dumps([children, key]).encode()).hexdigest()[:7]
    return str(LeafId(f"{RESERVED_ID_PREFIX}layer:{name}", SUMMARY_VERSION + version, 0))


def document_tree(row: Row, draft: TreeDraft, summarizer: str) -> DocumentToWrite:
    """The tree of a document, ready to be written."""
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
    """A summary of several documents, ready to be written."""
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
