"""Trees as they are stored: a document's tree is one of many summaries; each summary above them is a tree of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from leafspan.documents import RESERVED_PREFIX
from leafspan.engine import Flow
from leafspan.store import Coming, Gone, Reader, Row
from leafspan.structure import STRUCTURE_KEY
from leafspan.tree.growing import Sapling, Twig
from leafspan.tree.kept import view_of
from leafspan.tree.node import VERSION_MARK, Node
from leafspan.values import Covered, leaf_id

LAYERS = f"{RESERVED_PREFIX}layers"
"""The owner of what is kept of summaries of several documents."""


def leaf_twigs(reader: Reader, wanted: Mapping[str, Iterable[int]]) -> Flow[dict[str, list[Twig]]]:
    """Leaves by the shown ids of their documents and their ordinals, as what a tree grows from.

    Raises:
        Gone: if one of them is no longer there.
    """
    view = yield from reader.catalogue()
    places = {id_: [leaf_id(id_, view.rows[id_].version or "", n) for n in ordinals] for id_, ordinals in wanted.items()}
    ids = [each for every in places.values() for each in every]
    leaves = yield from reader.fetch_leaves(ids)
    vectors = yield from reader.fetch_vectors(ids)
    if len(leaves) < len(ids):
        raise Gone
    found = {}
    for id_, every in places.items():
        stored = view.stored_id(id_) or id_
        found[id_] = [_leaf_twig(stored, leaves[each].leaf, leaves[each].text, vectors[each]) for each in every]
    return found


def _leaf_twig(stored: str, leaf: Any, text: str, vector: Any) -> Twig:
    cover = Covered(stored, leaf.version, leaf.ordinal, leaf.ordinal, leaf.start, leaf.end)
    return Twig(leaf_id(stored, leaf.version, leaf.ordinal), text, leaf.words, vector, 0, (cover,))


def root_twigs(reader: Reader, rows: Iterable[Row]) -> Flow[dict[str, list[Twig]]]:
    """The summaries at the top of trees, by tree, as what a tree grows from; trees that lack one are left out."""
    tops = {row.document_id: [leaf_id(row.document_id, row.version or "", n) for n in row.more["tops"]] for row in rows}
    records = yield from reader.fetch_records([each for every in tops.values() for each in every])
    vectors = yield from reader.fetch_vectors(list(records))
    return {
        id_: [_root_twig(each, *records[each], vectors[each]) for each in every]
        for id_, every in tops.items()
        if all(each in records for each in every)
    }


def _root_twig(id_: str, text: str, metadata: Mapping[str, Any], vector: Any) -> Twig:
    node = Node.unpack(metadata[STRUCTURE_KEY])
    return Twig(id_, text, node.words, vector, node.layer, node.covers, node)


def numbered(stored: str, version: str, place: int, children: Sequence[str], key: str) -> str:
    """The id of a summary in a document's tree."""
    return leaf_id(stored, version, place)


def layer_id(place: int, children: Sequence[str], key: str) -> str:
    """The id of a summary of several documents: it is a tree of its own, the same as long as its children and texts are.

    Two views that have the same children in common each have a summary of their own.
    """
    name = hashlib.sha256(json.dumps([view_of(key), children]).encode()).hexdigest()[:16]
    version = hashlib.sha256(json.dumps([children, key]).encode()).hexdigest()[:7]
    return leaf_id(f"{RESERVED_PREFIX}layer:{name}", VERSION_MARK + version, 0)


def tree_of(row: Row, sapling: Sapling, summarizer: str) -> Coming:
    """A document's tree, ready to be written."""
    nodes = sapling.nodes
    more = {
        **row.more,
        "layers": [twig.layer for twig in nodes],
        "tops": [place - sapling.given for place in sapling.roots if place >= sapling.given],
        "bare": [place for place in sapling.roots if place < sapling.given],
        "keys": [twig.node.key for twig in nodes if twig.node],
        "summarizer": summarizer,
    }
    return _coming(replace(row, leaves=len(nodes), words=sum(twig.words for twig in nodes), more=more), nodes)


def layer_of(twig: Twig, view: str, label: str, summarizer: str) -> Coming:
    """A summary of several documents, ready to be written, which belongs to a view's layers of this label."""
    assert twig.node is not None
    id_, version, _ = twig.id.rsplit("#", 2)
    more = {
        "view": view,
        "label": label,
        "children": list(twig.node.children),
        "layers": [twig.layer],
        "tops": [0],
        "bare": [],
        "keys": [twig.node.key],
        "summarizer": summarizer,
    }
    return _coming(Row(id_, twig.node.key, version, 1, words=twig.words, more=more), [twig])


def _coming(row: Row, twigs: Sequence[Twig]) -> Coming:
    metadatas = [{STRUCTURE_KEY: twig.node.pack()} for twig in twigs if twig.node]
    return Coming(row, [twig.text for twig in twigs], metadatas, [twig.vector for twig in twigs])
