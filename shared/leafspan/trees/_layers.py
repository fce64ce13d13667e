"""Divides documents into groups that get layers above their trees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from leafspan.errors import InvalidArgument
from leafspan.filters import F, Where, implied
from leafspan.store import Catalogue
from leafspan.trees._growing import TreeDraft, TreeNode
from leafspan.trees._stored_trees import UPPER_LAYERS, upper_summary_id

_ALL = "all documents"


def layers_to_grow(
    roots: Mapping[str, Sequence[TreeNode]], documents: Catalogue, partition_by: str | None
) -> list[TreeDraft]:
    """Drafts of the layers above the documents' trees: one over all documents, or one for each value of a metadata key.

    A document without the key is in no draft. A document whose value is a list is in a draft for each of its items,
    together with other documents that have the item in a list.
    """
    nodes_of: dict[str, list[TreeNode]] = {}
    for id_, nodes in sorted(roots.items()):
        # A single root covers its whole document. Summaries above list the document's id instead of every run.
        whole = [replace(nodes[0], covers=(documents.stored_id(id_) or id_,))] if len(nodes) == 1 else nodes
        for label in _labels(documents.rows[id_].metadata, partition_by):
            nodes_of.setdefault(label, []).extend(whole)
    return [TreeDraft(label, UPPER_LAYERS, nodes, upper_summary_id) for label, nodes in sorted(nodes_of.items())]


def _labels(metadata: Mapping[str, object], key: str | None) -> list[str]:
    """The labels of a document's drafts."""
    if key is None:
        return [_ALL]
    value = metadata.get(key)
    if isinstance(value, list):
        return list(dict.fromkeys(f"{key} has {json.dumps(each, ensure_ascii=False)}" for each in value))
    return [] if value is None else [_equal(key, value)]


def label_of(where: Where) -> str | None:
    """The label of the layers over exactly the documents that match, None if no layers can have exactly these documents.

    Layers can have them if the filter only requires one metadata key to have one value.
    """
    try:
        values = implied(where)
    except InvalidArgument:  # no document can match
        return None
    if len(values) != 1:
        return None
    ((key, value),) = values.items()
    return _equal(key, value) if where == (F(key) == value) else None


def _equal(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
