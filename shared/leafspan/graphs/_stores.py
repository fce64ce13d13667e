"""What a property graph of LlamaIndex holds, by the methods that its stores have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from leafspan.checks import shown
from leafspan.errors import InvalidArgument
from leafspan.graphs._result import leaf_or_none

SOURCE_KEY = "triplet_source_id"  # LlamaIndex's property with the id of the chunk that something was found in
_SOURCE_RELATION = "SOURCE"  # between chunks of one document; it is no fact
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
)


class Relation(NamedTuple):
    """An edge: the ids of its ends, its label, and the id of the chunk that it was found in, "" if that is unknown."""

    source: str
    label: str
    target: str
    chunk: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A node that is no chunk.

    Attributes:
        id: Its id.
        name: Its name.
        type: Its label.
        description: Its description, "" if it has none.
        chunk: Id of the chunk that it was found in last, "" if that is unknown.
        properties: What else is stored of it.
    """

    id: str
    name: str
    type: str
    description: str
    chunk: str
    properties: dict[str, Any]

    @property
    def text(self) -> str:
        """The text that questions are compared with."""
        return f"{self.name}: {self.description}" if self.description else self.name


class Chunk(NamedTuple):
    """A node that is a piece of text. Its id is that of a leaf, if it was made from one."""

    id: str
    text: str
    metadata: dict[str, Any]


def find_store(graph: Any) -> Any:
    """The store of a PropertyGraphIndex, or the store itself; None if it is neither."""
    if isinstance(graph, type):
        return None
    store = getattr(graph, "property_graph_store", graph)
    return store if all(callable(getattr(store, name, None)) for name in ("get", "get_rel_map", "upsert_nodes")) else None


def find_retriever(graph: Any) -> Any:
    """A retriever of LlamaIndex; None if it is none."""
    is_one = not isinstance(graph, type) and all(callable(getattr(graph, name, None)) for name in ("retrieve", "aretrieve"))
    return graph if is_one else None


def check_graph(graph: Any) -> None:
    """Check that a graph is one that can be searched.

    Raises:
        InvalidArgument: if it is not.
    """
    if find_store(graph) is None and find_retriever(graph) is None:
        hint = f"; call {graph.__name__}(...) first" if isinstance(graph, type) else ""
        raise InvalidArgument(
            "graph must be a PropertyGraphIndex of LlamaIndex, one of its property graph stores, or a retriever of such an "
            f"index, got {shown(graph)}{hint}"
        )


def read_entities(store: Any) -> list[Entity]:
    """All entities, by id."""
    return sorted((_entity(node) for node in store.get() if not _is_chunk(node)), key=lambda entity: entity.id)


def read_relations(store: Any, ids: Sequence[str], most: int) -> list[Relation]:
    """The relations from and to the entities with these ids, each once, in the order of their texts."""
    if not ids:
        return []
    if _is_kuzu(store):
        return sorted(set(_read_from_kuzu(store, ids, most)))
    nodes = store.get(ids=list(ids))  # without ids it would give all nodes
    triplets = store.get_rel_map(nodes, depth=1, limit=most, ignore_rels=[_SOURCE_RELATION]) if nodes else []
    return sorted({_relation(*triplet) for triplet in triplets if not any(map(_is_chunk, (triplet[0], triplet[2])))})


def read_chunks(store: Any, ids: Iterable[str]) -> dict[str, Chunk]:
    """The chunks with these ids, as far as the graph has them."""
    wanted = list(dict.fromkeys(ids))
    return {str(node.id): _chunk(node) for node in (store.get(ids=wanted) if wanted else ()) if _is_chunk(node)}


_KUZU_RELATIONS = """
MATCH (e)-[r]->(t)
WHERE (e.id IN $ids OR t.id IN $ids) AND r.label IS NOT NULL
RETURN e.id AS source, r.label AS label, t.id AS target, r.triplet_source_id AS chunk
ORDER BY source, label, target, chunk
LIMIT $most
"""


def _is_kuzu(store: Any) -> bool:
    # Its get_rel_map finds no relations towards an entity, and mixes up the ends of those on a longer path.
    return type(store).__name__ == "KuzuPropertyGraphStore"


def _read_from_kuzu(store: Any, ids: Sequence[str], most: int) -> list[Relation]:
    rows = store.structured_query(_KUZU_RELATIONS, param_map={"ids": list(ids), "most": most})
    return [Relation(str(row["source"]), str(row["label"]), str(row["target"]), _known(row["chunk"])) for row in rows]


def _relation(source: Any, relation: Any, target: Any) -> Relation:
    chunk = _known(relation.properties.get(SOURCE_KEY)) or _known(source.properties.get(SOURCE_KEY))
    return Relation(str(source.id), str(relation.label), str(target.id), chunk)


def _entity(node: Any) -> Entity:
    properties = {key: value for key, value in node.properties.items() if _is_plain(key, value)}
    description = str(properties.pop("description", "") or properties.pop("entity_description", ""))
    name = str(getattr(node, "name", node.id))
    return Entity(str(node.id), name, str(node.label), description, _known(node.properties.get(SOURCE_KEY)), properties)


def _chunk(node: Any) -> Chunk:
    document = _known(node.properties.get("ref_doc_id"))
    # LlamaIndex may have split a leaf further, and then its pieces name the leaf as their document.
    id_ = leaf_or_none(str(node.id)) or leaf_or_none(document) or str(node.id)
    metadata = {key: value for key, value in node.properties.items() if _is_plain(key, value)}
    metadata |= {"chunk_id": str(node.id), "source_ids": [document or id_]}
    return Chunk(id_, str(node.text or ""), metadata)


def _is_chunk(node: Any) -> bool:
    return isinstance(getattr(node, "text", None), str)


def _is_plain(key: str, value: Any) -> bool:
    return key not in _OF_LLAMAINDEX and value is not None


def _known(id_: Any) -> str:
    return "" if id_ in (None, "None") else str(id_)  # LlamaIndex stores None as a text
