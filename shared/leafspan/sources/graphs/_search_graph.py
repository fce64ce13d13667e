"""Searches a property graph: from the entities that match a question, along their relations, to chunks."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from leafspan.checks import shown
from leafspan.embedding import Embedder, check_vectors, default_embedder, embed_in_batches, normalize, to_embedder
from leafspan.errors import InvalidArgument
from leafspan.flows import np, run
from leafspan.sources.graphs._graph import GraphResult, leaf_or_none, plain
from leafspan.strategies import HostResult
from leafspan.text import WITHOUT_SPACES, fold

_STEP = 0.5  # the score after one more step along a relation, as a part of the score before it
_MOST_READ = 10_000  # one step reads at most this number of relations
_WITHOUT_SPACES = re.compile(f"[{WITHOUT_SPACES}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSearch:
    """The options of a search in a property graph."""

    entities: int  # to start from
    depth: int  # steps along relations
    limit: int  # most relations
    embedder: object  # None for the default one

    def find(self, store: Any, question: str, keywords: Sequence[str]) -> GraphResult:
        """Find the entities that match a question best, the relations around them, and the chunks of both."""
        entities = {entity.id: entity for entity in read_entities(store)}
        if not entities:
            return GraphResult()
        scores = self._start(store, list(entities.values()), question, keywords)
        start = set(scores)
        relations = self._walk(store, scores)
        wanted = start.union(*((each.source, each.target) for each in relations))
        reached = {id_: entities[id_] for id_ in wanted if id_ in entities}
        return GraphResult(
            chunks=tuple(_chunks(store, _chunk_scores(reached, scores, relations))),
            entities=tuple(_entity(each, scores[each.id], relations) for each in _best_first(reached.values(), scores)),
            relations=tuple(_relation(each, score) for each, score in relations.items()),
        )

    def _start(self, store: Any, entities: Sequence[Entity], question: str, keywords: Sequence[str]) -> dict[str, float]:
        """The entities to start from. A named entity has the score 1, a similar entity its cosine with the question."""
        cosines = similarities(store, self.embedder, question, [each.text for each in entities])
        nearest = sorted(zip(entities, cosines, strict=True), key=lambda pair: (-pair[1], pair[0].id))[: self.entities]
        scores = {each.id: cosine for each, cosine in nearest if cosine > 0}
        said = _folded("\n".join([question, *keywords]))
        scores |= {each.id: 1.0 for each in entities if _names(said, each.name)}
        return scores

    def _walk(self, store: Any, scores: dict[str, float]) -> dict[Relation, float]:
        """The best relations within reach, with scores. Adds the entities at their ends to ``scores``."""
        relations: dict[Relation, float] = {}
        edge = list(scores)
        for _ in range(self.depth):
            reached: dict[str, float] = {}
            for relation in read_relations(store, edge, _MOST_READ):
                ends = (relation.source, relation.target)
                score = max((scores[end] for end in ends if end in scores), default=0.0)
                relations.setdefault(relation, score)
                for end in ends:
                    if end not in scores:
                        reached[end] = max(_STEP * score, reached.get(end, 0.0))
            scores |= reached
            edge = list(reached)
        best = sorted(relations.items(), key=lambda item: (-item[1], item[0]))[: self.limit]
        return dict(best)


def _names(said: str, name: str) -> bool:
    """Whether the folded question has the name: in whole words, or anywhere in scripts without spaces."""
    wanted = _folded(name)
    if not wanted or wanted not in said:
        return False
    before = "" if _WITHOUT_SPACES.match(wanted[0]) else r"(?<!\w)"
    after = "" if _WITHOUT_SPACES.match(wanted[-1]) else r"(?!\w)"
    return re.search(f"{before}{re.escape(wanted)}{after}", said) is not None


def _folded(text: str) -> str:
    """The text, folded, with one space between words."""
    return " ".join(fold(text).split())


def _best_first(entities: Any, scores: Mapping[str, float]) -> list[Entity]:
    return sorted(entities, key=lambda each: (-scores[each.id], each.id))


def _chunk_scores(
    entities: Mapping[str, Entity], scores: Mapping[str, float], relations: Mapping[Relation, float]
) -> dict[str, float]:
    """The ids of the entities' and relations' chunks, each with the best score of its entities and relations."""
    best: dict[str, float] = {}
    pairs = [(each.chunk, score) for each, score in relations.items()]
    pairs += [(each.chunk, scores[each.id]) for each in entities.values()]
    for id_, score in pairs:
        if id_:
            best[id_] = max(score, best.get(id_, score))
    return best


def _chunks(store: Any, scores: Mapping[str, float]) -> list[HostResult]:
    stored = read_chunks(store, scores)
    chunks = []
    for id_, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        leaf = leaf_or_none(id_)
        chunk = stored.get(id_) or (Chunk(leaf, "", {"chunk_id": id_, "source_ids": [leaf]}) if leaf else None)
        if chunk is not None:  # a chunk without a text can be shown only if it is a leaf of an index
            chunks.append(HostResult(chunk.id, chunk.text, score, chunk.metadata, "chunk"))
    return chunks


def _entity(entity: Entity, score: float, relations: Mapping[Relation, float]) -> HostResult:
    around = [each.chunk for each in relations if entity.id in (each.source, each.target)]
    metadata = {
        **entity.properties,
        "name": entity.name,
        "type": entity.type,
        "description": entity.description,
        "source_ids": [id_ for id_ in dict.fromkeys((entity.chunk, *around)) if id_],
    }
    title = f"{entity.name} ({entity.type})"
    text = f"{title}: {entity.description}" if entity.description else title
    return HostResult(f"entity:{entity.id}", text, score, plain(metadata), "entity")


def _relation(relation: Relation, score: float) -> HostResult:
    text = f"{relation.source} -> {relation.label} -> {relation.target}"
    metadata = {
        "source": relation.source,
        "label": relation.label,
        "target": relation.target,
        "source_ids": [relation.chunk] if relation.chunk else [],
    }
    return HostResult(f"relation:{text}", text, score, plain(metadata), "relation")


class Relation(NamedTuple):
    """An edge: the ids of its ends, its label, and the id of the chunk where it was found, or "" if that is unknown."""

    source: str
    label: str
    target: str
    chunk: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A node that is not a chunk."""

    id: str
    name: str
    type: str  # its label
    description: str
    chunk: str  # id of the last chunk where it was found, or ""
    properties: dict[str, Any]

    @property
    def text(self) -> str:
        """The text to compare with a question."""
        return f"{self.name}: {self.description}" if self.description else self.name


class Chunk(NamedTuple):
    """A node that is a piece of text. If it was made from a leaf, it has the leaf's id."""

    id: str
    text: str
    metadata: dict[str, Any]


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
    """Check that a graph can be searched."""
    if find_store(graph) is None and find_retriever(graph) is None:
        hint = f"; call {graph.__name__}(...) first" if isinstance(graph, type) else ""
        raise InvalidArgument(
            "graph must be a PropertyGraphIndex of LlamaIndex, one of its property graph stores, or a retriever of such an "
            f"index, got {shown(graph)}{hint}"
        )


def read_entities(store: Any) -> list[Entity]:
    """All entities, by id."""
    nodes = (node for node in store.get() if not _is_chunk(node))
    entities = [_stored_entity(node.id, getattr(node, "name", None), node.label, node.properties) for node in nodes]
    return sorted(entities, key=lambda entity: entity.id)


def read_relations(store: Any, ids: Sequence[str], most: int) -> list[Relation]:
    """The relations from and to the entities with these ids, each once, sorted by their texts."""
    if not ids:
        return []
    nodes = store.get(ids=list(ids))  # without ids it would return all nodes
    triplets = store.get_rel_map(nodes, depth=1, limit=most, ignore_rels=[_SOURCE_RELATION]) if nodes else []
    return sorted({_stored_relation(*triplet) for triplet in triplets if not any(map(_is_chunk, (triplet[0], triplet[2])))})


def read_chunks(store: Any, ids: Iterable[str]) -> dict[str, Chunk]:
    """The chunks with these ids, by id. Chunks that the graph does not have are left out."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return {}
    nodes = (node for node in store.get(ids=wanted) if _is_chunk(node))
    return {str(node.id): _stored_chunk(node.id, node.text, node.properties) for node in nodes}


def _stored_relation(source: Any, relation: Any, target: Any) -> Relation:
    chunk = _id_or_empty(relation.properties.get(SOURCE_KEY)) or _id_or_empty(source.properties.get(SOURCE_KEY))
    return Relation(str(source.id), str(relation.label), str(target.id), chunk)


def _stored_entity(id_: Any, name: Any, label: Any, stored: Mapping[str, Any]) -> Entity:
    properties = {key: value for key, value in stored.items() if _is_plain(key, value)}
    description = str(properties.pop("description", "") or properties.pop("entity_description", ""))
    return Entity(str(id_), str(name or id_), str(label), description, _id_or_empty(stored.get(SOURCE_KEY)), properties)


def _stored_chunk(id_: Any, text: Any, stored: Mapping[str, Any]) -> Chunk:
    document = _id_or_empty(stored.get("ref_doc_id"))
    # LlamaIndex may have split a leaf further; each piece then names the leaf as its document.
    leaf = leaf_or_none(str(id_)) or leaf_or_none(document) or str(id_)
    metadata = {key: value for key, value in stored.items() if _is_plain(key, value)}
    metadata |= {"chunk_id": str(id_), "source_ids": [document or leaf]}
    return Chunk(leaf, str(text or ""), metadata)


def _is_chunk(node: Any) -> bool:
    return isinstance(getattr(node, "text", None), str)


def _is_plain(key: str, value: Any) -> bool:
    return key not in _OF_LLAMAINDEX and value is not None


def _id_or_empty(id_: Any) -> str:
    return "" if id_ in (None, "None") else str(id_)  # LlamaIndex stores None as a text


_Texts = dict[str, Any]  # from a text to its vector

_kept: weakref.WeakKeyDictionary[Any, dict[int, tuple[object, Embedder, _Texts]]] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def similarities(store: Any, embedder: object, question: str, texts: Sequence[str]) -> list[float]:
    """The cosine of the question with each text. Only new texts are embedded."""
    model, kept = _vectors(store, embedder)
    new = [text for text in dict.fromkeys(texts) if text not in kept]
    vectors = run(embed_in_batches(lambda batch: _embed(model, batch), new))
    if vectors:
        kept = {**kept, **dict(zip(new, vectors, strict=True))}
        _keep(store, embedder, model, {text: kept[text] for text in texts})
    vector = normalize(check_vectors(model.queries([question]), [question], name=model.name))[0]
    matrix = np.stack([kept[text] for text in texts])
    return [float(cosine) for cosine in matrix @ vector]


def _embed(model: Embedder, texts: Sequence[str]) -> Any:
    vectors = yield model.embed_documents(texts)
    return normalize(check_vectors(vectors, texts, name=model.name))


def _vectors(store: Any, embedder: object) -> tuple[Embedder, _Texts]:
    with _lock:
        kept = _of(store).get(id(embedder))
    if kept is not None:
        return kept[1], kept[2]
    return default_embedder() if embedder is None else to_embedder(embedder), {}


def _keep(store: Any, embedder: object, model: Embedder, vectors: _Texts) -> None:
    with _lock:
        # The embedder is kept too, so that no other embedder can get its id.
        _of(store)[id(embedder)] = (embedder, model, vectors)


def _of(store: Any) -> dict[int, tuple[object, Embedder, _Texts]]:
    try:
        return _kept.setdefault(store, {})
    except TypeError:  # the store cannot be hashed or weakly referenced, so that nothing is kept
        return {}
