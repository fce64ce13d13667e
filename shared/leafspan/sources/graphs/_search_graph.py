"""Searches a property graph: from the entities that match a question, along their relations, to chunks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leafspan.sources.graphs._entity_vectors import similarities
from leafspan.sources.graphs._facts import Chunk, Entity, Relation
from leafspan.sources.graphs._result import GraphResult, leaf_or_none, plain
from leafspan.sources.graphs._stores import read_chunks, read_entities, read_relations
from leafspan.strategies import HostResult
from leafspan.text import WITHOUT_SPACES, fold

_STEP = 0.5  # the score after one more step along a relation, as a part of the score before it
_MOST_READ = 10_000  # one step reads at most this number of relations
_WITHOUT_SPACES = re.compile(f"[{WITHOUT_SPACES}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphSearch:
    """The options of a search in a property graph.

    Attributes:
        entities: Number of entities to start from.
        depth: Number of steps along relations.
        limit: Largest number of relations.
        embedder: Embeds the question and the entities; None for the default embedder.
    """

    entities: int
    depth: int
    limit: int
    embedder: object

    def find(self, store: Any, question: str, keywords: Sequence[str]) -> GraphResult:
        """Find the entities that match a question best, the relations around them, and the chunks of both."""
        entities = {entity.id: entity for entity in read_entities(store)}
        if not entities:
            return GraphResult()
        scores = self._start(store, list(entities.values()), question, keywords)
        start = set(scores)
        relations = self._walk(store, scores)
        wanted = start.union(*((each.source, each.target) for each in relations))
        met = {id_: entities[id_] for id_ in wanted if id_ in entities}
        return GraphResult(
            chunks=tuple(_chunks(store, _chunk_scores(met, scores, relations))),
            entities=tuple(_entity(each, scores[each.id], relations) for each in _best_first(met.values(), scores)),
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
        found: dict[Relation, float] = {}
        edge = list(scores)
        for _ in range(self.depth):
            reached: dict[str, float] = {}
            for relation in read_relations(store, edge, _MOST_READ):
                ends = (relation.source, relation.target)
                score = max((scores[end] for end in ends if end in scores), default=0.0)
                found.setdefault(relation, score)
                for end in ends:
                    if end not in scores:
                        reached[end] = max(_STEP * score, reached.get(end, 0.0))
            scores |= reached
            edge = list(reached)
        best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[: self.limit]
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
    found: dict[str, float] = {}
    pairs = [(each.chunk, score) for each, score in relations.items()]
    pairs += [(each.chunk, scores[each.id]) for each in entities.values()]
    for id_, score in pairs:
        if id_:
            found[id_] = max(score, found.get(id_, score))
    return found


def _chunks(store: Any, scores: Mapping[str, float]) -> list[HostResult]:
    stored = read_chunks(store, scores)
    found = []
    for id_, score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        leaf = leaf_or_none(id_)
        chunk = stored.get(id_) or (Chunk(leaf, "", {"chunk_id": id_, "source_ids": [leaf]}) if leaf else None)
        if chunk is not None:  # a chunk without a text can be shown only if it is a leaf of an index
            found.append(HostResult(chunk.id, chunk.text, score, chunk.metadata, "chunk"))
    return found


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
