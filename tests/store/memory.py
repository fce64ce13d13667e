"""A collection of records in a dictionary that replaces Chroma's, records the calls, and can be killed."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot
from typing import Any

from leafspan.engines.chroma._collection import Collection


class Killed(BaseException):
    """The process ends here."""


class Records:
    """The handle of a collection.

    Args:
        name: Its name.
        happened: Called with each change before it is made: the name, the method and the ids. It may raise.
    """

    def __init__(self, name: str, happened: Callable[[str, str, list[str]], None] = lambda *_: None) -> None:
        self.id = self.name = name
        self.metadata: dict[str, Any] | None = None
        self.records: dict[str, dict[str, Any]] = {}
        self._happened = happened

    @property
    def collection(self) -> Collection:
        """It as readers and writers know it, which add at most three records at once."""
        return Collection(self, 3)

    def get(self, *, ids=None, limit=None, include=()):
        found = [id_ for id_ in (self.records if ids is None else ids) if id_ in self.records]
        return {"ids": found, **{name: [self.records[id_].get(name) for id_ in found] for name in include}}

    def query(self, *, query_embeddings, n_results, include=()):
        """The nearest records by the angle, as Chroma finds them in a collection of cosines."""
        rows = []
        for vector in query_embeddings:
            distances = {id_: 1 - _cosine(vector, each["embeddings"]) for id_, each in self.records.items()}
            rows.append(sorted(distances.items(), key=lambda each: each[1])[:n_results])
        answer = self.get(include=[])
        answer["ids"] = [[id_ for id_, _ in row] for row in rows]
        answer["distances"] = [[distance for _, distance in row] for row in rows]
        return answer | {
            name: [[self.records[id_].get(name) for id_, _ in row] for row in rows]
            for name in include
            if name != "distances"
        }

    def add(self, *, ids, **columns):
        self._happened(self.name, "add", ids)
        for place, id_ in enumerate(ids):
            self.records.setdefault(id_, {name: _plain(column[place]) for name, column in columns.items()})

    def upsert(self, *, ids, **columns):
        self._happened(self.name, "upsert", ids)
        for place, id_ in enumerate(ids):
            self.records[id_] = {name: _plain(column[place]) for name, column in columns.items()}

    def delete(self, *, ids):
        self._happened(self.name, "delete", ids)
        for id_ in ids:
            self.records.pop(id_, None)


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True)) / (hypot(*one) * hypot(*other))


def _plain(value: Any) -> Any:
    """A row of a matrix as a list, so that records can be compared."""
    return value.tolist() if hasattr(value, "tolist") else value
