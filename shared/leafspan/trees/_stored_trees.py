"""Trees as they are stored, in an index of their own, and the texts of earlier summaries.

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
from leafspan.store import DocumentToWrite, Reader, Row, Scope, Store, read_consistently
from leafspan.trees._growing import TreeDraft, TreeNode
from leafspan.trees._records import SummaryRecord, TreeRecord, fetch_summaries
from leafspan.values import SUMMARY_VERSION, Covered, Leaf, LeafId, leaf_ids

UPPER_LAYERS = f"{RESERVED_ID_PREFIX}layers"
"""The owner of cached texts for summaries of several documents."""

_SEPARATOR = ":"  # in a key, after the name of the view that may read it


def leaf_nodes(reader: Reader, wanted: Mapping[str, Iterable[int]]) -> Flow[dict[str, list[TreeNode]]]:
    """Leaves as nodes, by the shown ids of their documents."""
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


def upper_summary_id(number: int, children: Sequence[str], key: str) -> str:
    """The id of a summary of several documents.

    It stays the same as long as the summary's children and their texts do. If two views build a summary from the same
    children, each view has its own.
    """
    view = key.partition(_SEPARATOR)[0]
    name = hashlib.sha256(json.dumps([view, children]).encode()).hexdigest()[:16]
    version = hashlib.sha256(json.dumps([children, key]).encode()).hexdigest()[:7]
    return str(LeafId(f"{RESERVED_ID_PREFIX}layer:{name}", SUMMARY_VERSION + version, 0))


def document_tree(row: Row, draft: TreeDraft, summarizer: str) -> DocumentToWrite:
    """The tree of a document, ready to be written."""
    summaries = draft.summaries
    record = TreeRecord(
        layers=[node.layer for node in summaries],
        tops=[place - draft.base for place in draft.roots if place >= draft.base],
        bare=[place for place in draft.roots if place < draft.base],
        keys=[node.record.key for node in summaries if node.record],
        summarizer=summarizer,
        document_version=row.extra["of"],
    )
    words = sum(node.words for node in summaries)
    return _to_write(replace(row, leaves=len(summaries), words=words, extra=record.pack()), summaries)


def layer_tree(node: TreeNode, view: str, summarizer: str) -> DocumentToWrite:
    """A summary of several documents, ready to be written."""
    assert node.record is not None
    leaf = LeafId.parse(node.id)
    children, key = list(node.record.children), node.record.key
    record = TreeRecord([node.layer], tops=[0], bare=[], keys=[key], summarizer=summarizer, view=view, children=children)
    return _to_write(Row(leaf.document_id, key, leaf.version, 1, words=node.words, extra=record.pack()), [node])


def _to_write(row: Row, nodes: Sequence[TreeNode]) -> DocumentToWrite:
    metadatas = [{STRUCTURE_KEY: node.record.pack()} for node in nodes if node.record]
    return DocumentToWrite(row, [node.text for node in nodes], metadatas, [node.vector for node in nodes])


class LayerCache:
    """Uses stored summaries of several documents as the cache for summarizers whose answers are not stored.

    Without it, every build would make all layers above the documents' trees again.
    """

    def __init__(self, store: Store, rows: Mapping[str, Row]) -> None:
        self._store = store
        upper = [row for row in rows.values() if row.version is not None and not TreeRecord.of(row).is_of_document]
        self._ids = {row.hash: str(LeafId(row.document_id, row.version or "", 0)) for row in upper}

    def get(self, keys: Sequence[str]) -> Flow[dict[str, str]]:
        """The texts of the stored summaries with these keys. Damaged summaries are left out, and so made again."""
        key_of = {self._ids[key]: key for key in keys if key in self._ids}
        if not key_of:
            return {}
        records = yield from read_consistently(
            self._store, lambda reader: Reader.fetch_records(reader, list(key_of)), leave_out=True
        )
        return {key_of[id_]: text for id_, (text, _) in records.items()}

    def put(self, key: str, text: str, owner: str) -> Flow[None]:
        """No write: the stored summaries are the cache."""
        yield from ()


def key_prefix(scope: Scope | None) -> str:
    """The first part of a view's keys.

    It keeps a tenant from finding another tenant's summary, which would reveal that both have the same texts.
    """
    return view_name(scope) + _SEPARATOR


def view_name(scope: Scope | None) -> str:
    """The name of a view, stored with the trees that only this view has; "" for the whole index."""
    return scope.suffix if scope else ""
