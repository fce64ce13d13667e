"""Which documents have layers above their trees in common."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from leafspan.errors import InvalidArgument
from leafspan.filters import F, Where, implied
from leafspan.store import Catalogue
from leafspan.tree._growing import TreeDraft, TreeNode
from leafspan.tree._stored_trees import LAYERS, layer_id

_ALL = "all documents"


def layers_to_grow(
    roots: Mapping[str, Sequence[TreeNode]], documents: Catalogue, partition_by: str | None
) -> list[TreeDraft]:
    """What grows above the roots of trees, by shown ids: over all of them, or for each value of a metadata key.

    A document is in none where it lacks the key; one with a list is in those of each of its values, beside other documents
    with a list.
    """
    parts: dict[str, list[TreeNode]] = {}
    for id_, nodes in sorted(roots.items()):
        # A root that stands for its whole document says so in a word, so that what is above need not list every run.
        whole = [replace(node, covers=(documents.stored_id(id_) or id_,)) for node in nodes] if len(nodes) == 1 else nodes
        for label in _labels(documents.rows[id_].metadata, partition_by):
            parts.setdefault(label, []).extend(whole)
    return [TreeDraft(label, LAYERS, nodes, layer_id) for label, nodes in sorted(parts.items())]


def _labels(metadata: Mapping[str, object], key: str | None) -> list[str]:
    if key is None:
        return [_ALL]
    value = metadata.get(key)
    if isinstance(value, list):
        return list(dict.fromkeys(f"{key} has {json.dumps(each, ensure_ascii=False)}" for each in value))
    return [] if value is None else [_equal(key, value)]


def label_of(where: Where) -> str | None:
    """The label of the layers over just the documents that match, where the filter says that a key has a value, no more."""
    try:
        values = implied(where)
    except InvalidArgument:  # none can match
        return None
    if len(values) != 1:
        return None
    ((key, value),) = values.items()
    return _equal(key, value) if where == (F(key) == value) else None


def _equal(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
