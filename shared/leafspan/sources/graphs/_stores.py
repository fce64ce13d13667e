"""Reads LlamaIndex's property graphs, by methods that all of their stores have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.sources.graphs._facts import Chunk, Entity, Relation
from leafspan.sources.graphs._result import leaf_or_none

SOURCE_KEY = "triplet_source_id"  # LlamaIndex's property with the id of the chunk where something was found
_OF_RETRIEVERS = ("retrieve", "aretrieve", "get_prompts")  # leafspan's own index has the first two
_SOURCE_RELATION = "SOURCE"  # an edge between chunks of one document, which is not a fact
_OF_LLAMAINDEX = (
    "_node_content",
    "_node_type",
    "document_id",
    "doc_id",
    "ref_doc_id",
    SOURCE_KEY,
    "label",
    "name",
    "id",
    "embedding",
    "text",
)


def find_store(graph: Any) -> Any:
    """Return the store of a PropertyGraphIndex, or ``graph`` itself if it is a store, or None if it is neither."""
    if isinstance(graph, type):
        return None
    store = getattr(graph, "property_graph_store", graph)
    return store if all(callable(getattr(store, name, None)) for name in ("get", "get_rel_map", "upsert_nodes")) else None


def find_retriever(graph: Any) -> Any:
    """Return ``graph`` if it is a LlamaIndex retriever, or None if it is not one."""
    is_one = not isinstance(graph, type) and all(callable(getattr(graph, name, None)) for name in _OF_RETRIEVERS)
    return graph if is_one else None


def check_graph(graph: Any) -> None:
    """Check that a graph can be searched.

    Raises:
        InvalidArgument: if the graph cannot be searched.
    """
    if find_store(graph) is None and find_retriever(graph) is None:
        hint = f"; call {graph.__name__}(...) first" if isinstance(graph, type) else ""
        raise InvalidArgument(
            "graph must be a PropertyGraphIndex of LlamaIndex, one of its property graph stores, or a retriever of such an "
            f"index, got {shown(graph)}{hint}"
        )


def read_entities(store: Any) -> list[Entity]:
    """All entities, by id."""
    nodes = (node for node in store.get() if not _is_chunk(node))
    found = [_entity(node.id, getattr(node, "name", None), node.label, node.properties) for node in nodes]
    return sorted(found, key=lambda entity: entity.id)


def read_relations(store: Any, ids: Sequence[str], most: int) -> list[Relation]:
    """The relations from and to the entities with these ids, each once, sorted by their texts."""
    if not ids:
        return []
    nodes = store.get(ids=list(ids))  # without ids it would return all nodes
    triplets = store.get_rel_map(nodes, depth=1, limit=most, ignore_rels=[_SOURCE_RELATION]) if nodes else []
    return sorted({_relation(*triplet) for triplet in triplets if not any(map(_is_chunk, (triplet[0], triplet[2])))})


def read_chunks(store: Any, ids: Iterable[str]) -> dict[str, Chunk]:
    """The chunks with these ids, by id. Chunks that the graph does not have are left out."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    nodes = (node for node in store.get(ids=wanted) if _is_chunk(node))
    return {str(node.id): _chunk(node.id, node.text, node.properties) for node in nodes}


def _relation(source: Any, relation: Any, target: Any) -> Relation:
    chunk = _known(relation.properties.get(SOURCE_KEY)) or _known(source.properties.get(SOURCE_KEY))
    return Relation(str(source.id), str(relation.label), str(target.id), chunk)


def _entity(id_: Any, name: Any, label: Any, stored: Mapping[str, Any]) -> Entity:
    properties = {key: value for key, value in stored.items() if _is_plain(key, value)}
    description = str(properties.pop("description", "") or properties.pop("entity_description", ""))
    return Entity(str(id_), str(name or id_), str(label), description, _known(stored.get(SOURCE_KEY)), properties)


def _chunk(id_: Any, text: Any, stored: Mapping[str, Any]) -> Chunk:
    document = _known(stored.get("ref_doc_id"))
    # LlamaIndex may have split a leaf further; each piece then names the leaf as its document.
    known = leaf_or_none(str(id_)) or leaf_or_none(document) or str(id_)
    metadata = {key: value for key, value in stored.items() if _is_plain(key, value)}
    metadata |= {"chunk_id": str(id_), "source_ids": [document or known]}
    return Chunk(known, str(text or ""), metadata)


def _is_chunk(node: Any) -> bool:
    return isinstance(getattr(node, "text", None), str)


def _is_plain(key: str, value: Any) -> bool:
    return key not in _OF_LLAMAINDEX and value is not None


def _known(id_: Any) -> str:
    return "" if id_ in (None, "None") else str(id_)  # LlamaIndex stores None as a text
