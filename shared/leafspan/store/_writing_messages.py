"""What a process and the one that writes for it say to each other, through pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from leafspan.store._catalogue_records import KnownIndex
from leafspan.store._manifest import Row

LOCK = "leafspan.writing"
"""Name of the file that a writing process has locked while it writes."""


class Place(NamedTuple):
    """Where to write, said once.

    Attributes:
        path: Folder of the index.
        leaves: Name of the collection that is to be loaded before anything is asked.
    """

    path: Path
    leaves: str


class Begin(NamedTuple):
    """Begin to write, while the asking process holds the writer's lock.

    Attributes:
        name: Name of the index.
        id: Id of the collection of its leaves.
        settings: What it was made with.
        timeout: Seconds to wait for other processes.
    """

    name: str
    id: str
    settings: Mapping[str, Any]
    timeout: float


class Ask(NamedTuple):
    """Call a method of a collection.

    Attributes:
        collection: Name of the collection.
        method: Name of the method of ``Collection``.
        arguments: Its positional arguments.
        options: Its keyword arguments.
    """

    collection: str
    method: str
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


class ReadIndex(NamedTuple):
    """Read the index as Chroma has it. The answer is a ``StoredIndex``."""


class StoredIndex(NamedTuple):
    """An index as Chroma has it.

    Attributes:
        embedder: The embedder that it was made with, as it is stored.
        rows: The rows of its manifest, by stored id.
        names: The names of all indexes of the folder.
    """

    embedder: str | None
    rows: Mapping[str, Row]
    names: Sequence[str]

    @classmethod
    def of(cls, known: KnownIndex, names: Sequence[str]) -> StoredIndex:
        """What is sent of an index."""
        return cls(known.embedder, dict(known.catalogue.rows), list(names))


class End(NamedTuple):
    """The asking process lets go of the writer's lock.

    Attributes:
        changes: The count of changes that it has come to.
    """

    changes: int


Message: TypeAlias = Begin | Ask | ReadIndex | End


class Answer(NamedTuple):
    """What came of a message.

    Attributes:
        value: The result.
        error: What was raised instead, None if nothing was.
        trace: Where that was raised.
        warnings: Warnings that were given, as pairs of words and category.
    """

    value: Any = None
    error: BaseException | None = None
    trace: str = ""
    warnings: Sequence[tuple[str, type[Warning]]] = ()
