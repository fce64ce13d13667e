"""The records of a collection in memory, as chromadb 1.5.9 keeps and returns them (test_records.py compares the two)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from chromadb.errors import InternalError

Vector = tuple[float, ...]

LINKS = 5
"""The links of a record in the simulated graph of vectors: fewer than Chroma has, as there are few leaves here."""

MOST_VALUES = 5_461
"""The most metadata values, and the most items of lists, that Chroma's tables take of a record."""


def are_refused(columns: Mapping[str, Any]) -> bool:
    """Whether Chroma's tables refuse what its log takes."""
    for document, metadata in zip(columns.get("documents") or [None] * 10**6, columns.get("metadatas") or (), strict=False):
        lists = [value for value in (metadata or {}).values() if isinstance(value, list)]
        if len(metadata or ()) + (document is not None) > MOST_VALUES or sum(map(len, lists)) > MOST_VALUES:
            return True
        if any(isinstance(item, float) and not math.isfinite(item) for value in lists for item in value):
            return True
    return False


@dataclass(slots=True)
class Record:
    """A record.

    Attributes:
        document: Its text.
        metadata: Its metadata.
        vector: Its vector.
    """

    document: str | None
    metadata: dict[str, Any] | None
    vector: Vector


class Records:
    """The records of one collection by id, in the order in which they were added."""

    def __init__(self) -> None:
        self.by_id: dict[str, Record] = {}

    def add(self, ids: Sequence[str], columns: Mapping[str, Any]) -> list[str]:
        """Add the records that do not exist yet. Returns their ids."""
        new = []
        for id_, document, metadata, vector in _rows(ids, columns):
            if id_ not in self.by_id:
                self.by_id[id_] = Record(document, metadata, vector)
                new.append(id_)
        return new

    def upsert(self, ids: Sequence[str], columns: Mapping[str, Any]) -> list[str]:
        """Add records, or change those that are there: what is not given stays, and metadata are merged."""
        for id_, document, metadata, vector in _rows(ids, columns):
            old = self.by_id.get(id_)
            if old is None:
                self.by_id[id_] = Record(document, metadata, vector)
            else:
                old.vector = vector
                old.document = old.document if document is None else document
                old.metadata = {**(old.metadata or {}), **(metadata or {})} or None
        return list(ids)

    def delete(self, ids: Sequence[str], columns: Mapping[str, Any]) -> list[str]:
        """Delete records; unknown ids do not matter."""
        if not len(ids):
            raise ValueError("Expected IDs to be a non-empty list, got 0 IDs in delete.")
        for id_ in ids:
            self.by_id.pop(id_, None)
        return list(ids)

    def get(
        self,
        ids: Sequence[str] | None,
        where: Mapping[str, Any] | None,
        limit: int | None,
        include: Iterable[str],
        vector_of: Callable[[str], Vector | None],
    ) -> dict[str, Any]:
        """Chroma's answer to a get.

        Args:
            ids: Ids to get, None for all.
            where: Filter, of the form ``{key: {"$in": values}}``.
            limit: Most records.
            include: The columns.
            vector_of: Function from an id to its vector, as the client knows it.
        """
        if ids is not None and not ids:
            raise ValueError("Expected IDs to be a non-empty list, got 0 IDs in get.")
        wanted = None if ids is None else set(ids)
        chosen = [id_ for id_ in self.by_id if wanted is None or id_ in wanted]
        if where is not None:
            ((key, condition),) = where.items()
            values = condition["$in"]
            chosen = [id_ for id_ in chosen if (self.by_id[id_].metadata or {}).get(key) in values]
        chosen = chosen[:limit]
        columns: dict[str, Any] = {"documents": None, "metadatas": None, "embeddings": None}
        for name in include:
            if name == "embeddings":
                vectors = [vector_of(id_) for id_ in chosen]
                if any(vector is None for vector in vectors):
                    raise InternalError("Error executing plan: Internal error: Error finding id")
                columns[name] = np.array(vectors, dtype=np.float32)
            else:
                columns[name] = [self._column(id_, name) for id_ in chosen]
        return {"ids": chosen, **columns}

    def query(
        self,
        queries: Iterable[Any],
        count: int,
        include: Iterable[str],
        vectors: Mapping[str, Vector],
        *,
        links: int | None = None,
    ) -> dict[str, Any]:
        """Chroma's answer to a query.

        Args:
            queries: The vectors to search with.
            count: Number of records for each.
            include: The columns.
            vectors: Vectors by id, as the client knows them. Records that are there no more have no document then.
            links: Links of a record in the graph: of more equal vectors, only half are found. Default: None, all are.
        """
        answer: dict[str, Any] = {"ids": []}
        for name in ("documents", "metadatas", "embeddings", "distances"):
            answer[name] = [] if name in include else None
        for query in queries:
            distances = sorted(((_distance(query, vector), id_) for id_, vector in vectors.items()), key=lambda it: it[0])
            if links is not None:
                distances = _in_reach(distances, vectors, links)
            found = [id_ for _, id_ in distances[:count]]
            answer["ids"].append(found)
            for name in include:
                if name == "distances":
                    answer[name].append([distance for distance, _ in distances[:count]])
                elif name == "embeddings":
                    answer[name].append([np.array(vectors[id_], dtype=np.float32) for id_ in found])
                else:
                    answer[name].append([self._column(id_, name) for id_ in found])
        return answer

    def _column(self, id_: str, name: str) -> Any:
        record = self.by_id.get(id_)
        if record is None:
            return None
        if name == "documents":
            return record.document
        return None if record.metadata is None else dict(record.metadata)


def _rows(
    ids: Sequence[str], columns: Mapping[str, Any]
) -> Iterable[tuple[str, str | None, dict[str, Any] | None, Vector]]:
    """The records that are written, as (id, document, metadata, vector)."""
    if not len(ids):
        raise ValueError("Expected IDs to be a non-empty list, got 0 IDs.")
    documents = columns.get("documents") or [None] * len(ids)
    metadatas = columns.get("metadatas") or [None] * len(ids)
    vectors = [tuple(map(float, vector)) for vector in columns["embeddings"]]
    copies = [None if metadata is None else dict(metadata) for metadata in metadatas]
    return zip(ids, documents, copies, vectors, strict=True)


def _in_reach(distances: Sequence[tuple[float, str]], vectors: Mapping[str, Vector], links: int) -> list[tuple[float, str]]:
    """What a search of the graph reaches: where more vectors are equal than one has links, half of them and no fewer."""
    equal = Counter(vectors.values())
    reached: Counter[Vector] = Counter()
    found = []
    for distance, id_ in distances:
        vector = vectors[id_]
        reached[vector] += 1
        if reached[vector] <= max(links + 1, equal[vector] // 2):
            found.append((distance, id_))
    return found


def _distance(one: Any, other: Vector) -> float:
    """The cosine distance."""
    product = norm = other_norm = 0.0
    for a, b in zip(one, other, strict=True):
        product += float(a) * b
        norm += float(a) * float(a)
        other_norm += b * b
    return 1.0 - product / math.sqrt(norm * other_norm) if norm and other_norm else 1.0
