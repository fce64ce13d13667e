"""What a property graph holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


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
