"""Entities, relations and chunks of a property graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Relation(NamedTuple):
    """An edge: the ids of its ends, its label, and the id of the chunk where it was found, or "" if that is unknown."""

    source: str
    label: str
    target: str
    chunk: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A node that is not a chunk.

    Attributes:
        id: Its id.
        name: Its name.
        type: Its label.
        description: Its description, or "".
        chunk: Id of the last chunk where it was found, or "" if that is unknown.
        properties: Its other stored properties.
    """

    id: str
    name: str
    type: str
    description: str
    chunk: str
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
