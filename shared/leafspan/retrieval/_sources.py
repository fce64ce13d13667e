"""The parts of an open index that a retrieval uses, and loading them before the first question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from leafspan.embedding import CheckedEmbedder, EmbedderIdentity
from leafspan.flows import Flow
from leafspan.retrieval._limits import Defaults
from leafspan.search import SearchIndexes, nearest_leaves
from leafspan.store import Reader, Store, read_consistently
from leafspan.text import UnicodeErrors
from leafspan.trees import Trees


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of an open index."""

    indexes: SearchIndexes  # the store of the documents, and the indexes that search it
    embedder: CheckedEmbedder
    trees: Trees
    defaults: Defaults  # strategy and limits for calls without their own
    reopen: Callable[[], Any] | None = None
    unicode_errors: UnicodeErrors = "strict"  # how to treat documents and questions with half of a surrogate pair

    @property
    def store(self) -> Store:
        """The store of the documents."""
        return self.indexes.store

    def close(self) -> None:
        """Close the stores."""
        self.indexes.close()
        self.trees.close()


def import_numpy() -> None:
    """Import numpy before threads need it.

    numpy's modules import each other in circles. If two threads start at different modules, Python lets them see half-made
    modules. So this imports the module that Chroma starts with, and Python lets other threads wait for it.
    """
    import numpy.typing  # noqa: F401


def warm(sources: Sources) -> Flow[None]:
    """Load the embedder, and the segments of the documents and of the trees."""
    identity = yield from sources.embedder.confirm(record=False)
    if identity is None:  # the index is empty
        return
    trees = yield from sources.trees.existing()
    for indexes in (sources.indexes, trees):
        if indexes is not None:
            yield from read_consistently(indexes.store, partial(_load, indexes=indexes, identity=identity))


def _load(reader: Reader, *, indexes: SearchIndexes, identity: EmbedderIdentity) -> Flow[None]:
    yield from indexes.words.warm(reader)
    if indexes.vectors is not None:
        yield from indexes.vectors.current(reader)
    yield from indexes.refresh(reader)
    # A server loads its vectors at its first search.
    yield from nearest_leaves(reader, indexes.vectors, identity.vector[None], 1, None)
