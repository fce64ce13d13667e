"""Loading what the first query would load, and before threads ask what they cannot load beside each other."""

from __future__ import annotations

from functools import partial

from leafspan.embedding import EmbedderIdentity
from leafspan.flows import Flow
from leafspan.retrieval._sources import Sources
from leafspan.search import SearchIndexes, nearest_leaves
from leafspan.store import Reader, read_consistently


def import_numpy() -> None:
    """Import numpy, before threads can ask.

    Its modules import each other in circles: where two threads begin at different ones, Python lets them see half-made
    modules. So it is imported by way of the module at which Chroma begins, for which Python lets one thread wait.
    """
    import numpy.typing  # noqa: F401


def warm(sources: Sources) -> Flow[None]:
    """Load the embedder, and the mirrors of the documents and of the trees.

    Raises:
        IndexMismatch: if the index was made with another embedder.
        ConcurrentUpdate: if what was read was replaced at every one of ten attempts.
    """
    identity = yield from sources.embedder.warm()
    if identity is None:  # nothing is stored
        return
    trees = yield from sources.trees.existing()
    for indexes in (sources.indexes, trees):
        if indexes is not None:
            yield from read_consistently(indexes.store, partial(_load, indexes=indexes, identity=identity))


def _load(reader: Reader, *, indexes: SearchIndexes, identity: EmbedderIdentity) -> Flow[None]:
    yield from indexes.words.warm(reader)
    if indexes.vectors is not None:
        yield from indexes.vectors.current(reader)
    yield from indexes.keep_up(reader)
    # A server loads its vectors at the first search that it is asked for.
    yield from nearest_leaves(reader, indexes.vectors, identity.vector[None], 1, None)
