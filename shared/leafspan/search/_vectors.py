"""Vector search: finding the leaves nearest to vectors, among all or some of the documents.

Chroma's own filter is slow if many leaves match, and its conditions mean something else than those of ``leafspan.filters``.
So filters are evaluated here, on documents, and their nearest leaves are found in one of three ways:

- If all documents match, Chroma's search gives the result.
- If few leaves match, an exact search compares all of their vectors with the query.
- If many leaves match, Chroma is asked for more leaves than are wanted, and those that do not match are left out
  (over-fetching). If too few remain to be sure of the nearest, the exact search follows.

The exact search reads the vectors from the mirror of an index in a folder, and fetches them from a server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from leafspan.embedding import normalize
from leafspan.engine import Call, Flow
from leafspan.filters import Where
from leafspan.mirror import Mirror, MirrorSnapshot
from leafspan.store import MOST_RESULTS, Catalogue, Reader, Selection
from leafspan.values import Hit, LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 30_000  # leaves that the mirror searches exactly within 5 ms; over-fetching hundreds is not exact, and no faster
_FEW_FETCHED = 200  # leaves whose vectors a server sends as fast as it searches
_MIN_SHARE = 0.05  # share of matching leaves from which on over-fetching is faster than the exact search of any number
_MORE = 2.5  # factor of over-fetching, over what would do if the matching leaves were spread evenly among the nearest
_BLOCK = 512  # vectors that fit into a processor's cache
_MIN_CACHED = 500  # leaves from which on their rows are cached
_CACHE_SIZE = 16
_CACHE: WeakKeyDictionary[MirrorSnapshot, dict[tuple[Catalogue, tuple[str, ...]], NDArray[np.intp]]] = WeakKeyDictionary()
_ROUNDING = 1e-5  # more than rounding can change a cosine of 32-bit numbers


def nearest_leaves(
    reader: Reader, copy: Mirror | None, vectors: Any, count: int, where: Where | None
) -> Flow[list[list[Hit]]]:
    """The leaves nearest to each vector, among the visible documents that match a filter, best first.

    Scores are cosine similarities. Ties are ordered by document, then position.

    Args:
        reader: Reader of the index.
        copy: Mirror of the index's vectors; None to fetch them.
        vectors: Matrix with a row for each query.
        count: Number of leaves for each query.
        where: The filter. None for all documents.

    Raises:
        StaleRead: if a leaf was met that may just have been replaced.
    """
    if where is None and reader.scope is None:
        return (yield from reader.search_hits(vectors, count))
    everything = yield from reader.everything()
    visible = yield from reader.whole_catalogue(where)
    chosen = visible.select(where)
    if not chosen.leaves:
        return [[] for _ in vectors]
    share = chosen.leaves / everything.leaves
    if share == 1 or (share >= _MIN_SHARE and chosen.leaves > (_FEW_FETCHED if copy is None else _FEW)):
        rows = yield from _overfetch(reader, vectors, count, chosen, share=share, most=MOST_RESULTS if copy is None else 0)
        if all(_is_complete(row, count, chosen) for row in rows):
            return [row[:count] for row in rows]
    if copy is not None:
        snapshot = yield from copy.current(reader)
        return (yield Call(_scan, (snapshot, visible, chosen, vectors, count)))  # type: ignore[no-any-return]
    leaves, stored = yield from _fetch_vectors(reader, visible, chosen)
    return (yield Call(_rank, (leaves, stored, vectors, count)))  # type: ignore[no-any-return]


def similarities(reader: Reader, copy: Mirror | None, vectors: Any, ids: Sequence[str]) -> Flow[NDArray[np.float64]]:
    """The cosine similarities of leaves to vectors.

    Args:
        reader: Reader of the index.
        copy: Mirror of the index's vectors; None to fetch them.
        vectors: Matrix with a row for each query.
        ids: Shown ids of the leaves.

    Returns:
        A matrix with a row for each vector and a column for each leaf.

    Raises:
        StaleRead: if one of the leaves has been replaced.
    """
    if copy is None:
        stored = yield from reader.fetch_vectors(ids)
        return (yield Call(_cosines_of, ([stored[id_] for id_ in ids], vectors)))  # type: ignore[no-any-return]
    visible = yield from reader.catalogue()
    snapshot = yield from copy.current(reader)
    return (yield Call(_cosines_in, (snapshot, visible, vectors, ids)))  # type: ignore[no-any-return]


def leaf_vectors(reader: Reader, copy: Mirror | None, ids: Sequence[str]) -> Flow[NDArray[np.float32]]:
    """The vectors of leaves, a row for each.

    Args:
        reader: Reader of the index.
        copy: Mirror of the index's vectors; None to fetch them.
        ids: Shown ids of the leaves, at least one.

    Raises:
        StaleRead: if one of the leaves has been replaced.
    """
    import numpy as np

    if copy is None:
        stored = yield from reader.fetch_vectors(ids)
        return np.asarray([stored[id_] for id_ in ids], dtype=np.float32)
    visible = yield from reader.catalogue()
    snapshot = yield from copy.current(reader)
    return (yield Call(_vectors_in, (snapshot, visible, ids)))  # type: ignore[no-any-return]


def _cosines_in(snapshot: MirrorSnapshot, visible: Catalogue, vectors: Any, ids: Sequence[str]) -> NDArray[np.float64]:
    return _cosines_of(_vectors_in(snapshot, visible, ids) if ids else (), vectors)


def _vectors_in(snapshot: MirrorSnapshot, visible: Catalogue, ids: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of leaves, of which there is at least one, in the mirror."""
    import numpy as np

    rows = _rows(snapshot, visible, tuple(ids))
    order = np.argsort(rows, kind="stable")
    sorted_vectors = np.concatenate(list(_matrices(snapshot, rows[order])))
    stored = np.empty_like(sorted_vectors)
    stored[order] = sorted_vectors
    return stored


def _rows(snapshot: MirrorSnapshot, visible: Catalogue, ids: tuple[str, ...]) -> NDArray[np.intp]:
    """The rows of leaves in the mirror. Those of many leaves are cached, since strategies often compare the same leaves."""
    import numpy as np

    cache = _CACHE.setdefault(snapshot, {}) if len(ids) >= _MIN_CACHED else {}
    if (rows := cache.get((visible, ids))) is None:
        leaves = [(visible.stored_id(leaf.document_id) or "", leaf.ordinal) for leaf in map(LeafId.parse, ids)]
        rows = np.asarray(snapshot.rows(leaves), dtype=np.intp)
        if len(cache) >= _CACHE_SIZE:
            cache.clear()
        cache[visible, ids] = rows
    return rows


def _cosines_of(stored: Any, vectors: Any) -> NDArray[np.float64]:
    import numpy as np

    queries = normalize(np.asarray(vectors, dtype=np.float32))
    matrix = normalize(np.asarray(stored, dtype=np.float32).reshape(-1, queries.shape[1])).astype(np.float64)
    # Not as one product of matrices: its result for a vector depends on the row it is in, but equal vectors must tie.
    cosines = np.array([(matrix * query).sum(axis=1) for query in queries]).reshape(len(queries), len(matrix))
    return cosines.clip(-1.0, 1.0)


def _overfetch(
    reader: Reader, vectors: Any, count: int, chosen: Selection, *, share: float, most: int
) -> Flow[list[list[Hit]]]:
    """The leaves of a selection that are among the nearest to each vector, best first.

    Args:
        reader: Reader of the index.
        vectors: Matrix with a row for each query.
        count: Number of leaves that are wanted for each query.
        chosen: The selection.
        share: Share of the index's leaves that are in the selection.
        most: Number of nearest leaves beyond which no more are asked for, if those found are not complete yet.
    """
    asked = min(MOST_RESULTS, math.ceil(count / share * (_MORE if share < 1 else 1)) + 1)
    while True:
        found = yield from reader.nearest(vectors, asked, chosen)
        if asked >= most or all(_is_complete(row, count, chosen) for row in found):
            return found
        asked = min(asked * 4, MOST_RESULTS)


def _is_complete(row: Sequence[Hit], count: int, chosen: Selection) -> bool:
    """Whether the ``count`` best leaves of the selection are sure to be among these.

    They are if all of the selection is here, or if the last leaf scores lower than the one in place ``count``: then no leaf
    that ties with that one is missing.
    """
    return len(row) >= chosen.leaves or (len(row) > count and row[-1].score < row[count - 1].score)


def _fetch_vectors(reader: Reader, visible: Catalogue, chosen: Selection) -> Flow[tuple[list[LeafId], Any]]:
    """The leaves of a selection, and a matrix with the vector of each."""
    import numpy as np

    rows = [row for row in visible.rows.values() if visible.stored_id(row.document_id) in chosen.ids]
    vectors = yield from reader.fetch_vectors([id_ for row in rows for id_ in row.leaf_ids])
    leaves = [LeafId(row.document_id, row.version or "", ordinal) for row in rows for ordinal in range(row.leaves)]
    return leaves, np.asarray([vectors[str(leaf)] for leaf in leaves], dtype=np.float32)


def _rank(leaves: Sequence[LeafId], stored: NDArray[np.float32], vectors: Any, count: int) -> list[list[Hit]]:
    """The nearest of the leaves to each vector, from a matrix of their vectors."""
    import numpy as np

    stored, queries = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    scores = zip((stored @ queries.T).T, queries, strict=True)
    return [_best(column, stored.__getitem__, query, leaves.__getitem__, count) for column, query in scores]


def _scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """The leaves of a selection that are nearest to each vector, from the vectors in the mirror."""
    import numpy as np

    rows = np.flatnonzero(snapshot.mask(chosen))
    queries = normalize(np.asarray(vectors, dtype=np.float32))
    scores = np.empty((len(rows), len(queries)), dtype=np.float32)
    # In blocks: copying all rows into fresh memory at once would take ten times as long as multiplying them.
    for start in range(0, len(rows), _BLOCK):
        done = start
        for matrix in _matrices(snapshot, rows[start : start + _BLOCK]):
            np.matmul(matrix, queries.T, out=scores[done : done + len(matrix)])
            done += len(matrix)

    def leaf_at(place: int) -> LeafId:
        leaf = snapshot.leaf(int(rows[place]))
        return leaf._replace(document_id=visible.shown_id(leaf.document_id) or "")

    def vectors_at(places: NDArray[np.intp]) -> NDArray[np.float32]:
        return np.concatenate(list(_matrices(snapshot, rows[places])))  # at least one, since the selection is not empty

    return [_best(column, vectors_at, query, leaf_at, count) for column, query in zip(scores.T, queries, strict=True)]


def _matrices(snapshot: MirrorSnapshot, rows: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
    """The vectors of rows of the mirror, given in ascending order: a matrix for each segment that has some of them."""
    import numpy as np

    start = segment_start = 0
    for arrays, _ in snapshot.parts:
        matrix = arrays["vectors"]
        stop = int(np.searchsorted(rows, segment_start + len(matrix)))
        if stop > start:
            yield matrix[rows[start:stop] - segment_start]
        start, segment_start = stop, segment_start + len(matrix)


def _best(
    scores: NDArray[np.float32],
    vectors_at: Callable[[NDArray[np.intp]], NDArray[np.float32]],
    query: NDArray[np.float32],
    leaf_at: Callable[[int], LeafId],
    count: int,
) -> list[Hit]:
    """The ``count`` best leaves, best first. Ties are ordered by document, then position, also at the last place.

    Args:
        scores: Approximate score of each leaf.
        vectors_at: Function from places in ``scores`` to the vectors of the leaves there, as a matrix.
        query: The vector they are compared with.
        leaf_at: Function from a place in ``scores`` to the id of the leaf there.
        count: Number of leaves that are wanted.
    """
    import numpy as np

    places = np.arange(len(scores))
    if len(scores) > count:
        places = np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count] - _ROUNDING)
    # The result of a product of matrices for a vector depends on the row it is in. So the scores of the best leaves are
    # computed again, each in the same way: equal leaves tie, and no score depends on the other leaves.
    cosines = (vectors_at(places).astype(np.float64) * query).sum(axis=1)
    hits = [Hit(leaf_at(int(at)), max(-1.0, min(1.0, float(cosine)))) for at, cosine in zip(places, cosines, strict=True)]
    return sorted(hits, key=lambda hit: hit.order)[:count]
