"""Reading a property graph from Kuzu.

LlamaIndex's store for it cannot be asked (llama-index-graph-stores-kuzu 0.9): its ``get`` and ``structured_query`` give
nothing where a result has 128 rows or more, its ``get_rel_map`` finds no relations towards an entity, and mixes up the ends
of those on a longer path, and its ``get_llama_nodes`` finds no texts. Its connection can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_ENTITIES = "MATCH (e) WHERE label(e) <> 'Chunk' RETURN e.*"

_CHUNKS = "MATCH (e:Chunk) WHERE e.id IN $ids RETURN e.*"

# Between a chunk and its entities there are relations without a label.
_RELATIONS = """
MATCH (e)-[r]->(t)
WHERE (e.id IN $ids OR t.id IN $ids) AND r.label IS NOT NULL
RETURN e.id AS source, r.label AS label, t.id AS target, r.triplet_source_id AS chunk
ORDER BY source, label, target, chunk
LIMIT $most
"""


def is_kuzu(store: Any) -> bool:
    """Whether a store is LlamaIndex's for Kuzu."""
    return type(store).__name__ == "KuzuPropertyGraphStore"


def kuzu_entities(store: Any) -> list[dict[str, Any]]:
    """The properties of all nodes that are no chunks."""
    return _rows(store, _ENTITIES, {})


def kuzu_chunks(store: Any, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The properties of the chunks with these ids."""
    return _rows(store, _CHUNKS, {"ids": list(ids)})


def kuzu_relations(store: Any, ids: Sequence[str], most: int) -> list[dict[str, Any]]:
    """The ``source``, ``label``, ``target`` and ``chunk`` of the relations from and to the nodes with these ids."""
    return _rows(store, _RELATIONS, {"ids": list(ids), "most": most})


def _rows(store: Any, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    result = store.client.execute(query, parameters=dict(parameters))
    names = [name.removeprefix("e.") for name in result.get_column_names()]
    return [dict(zip(names, row, strict=True)) for row in result]
