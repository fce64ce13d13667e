"""Exact search: the leaves nearest to vectors, among all leaves of a mirror or some, found by looking at each of them.

Codes of 8 bits are compared first. The error of each code is known, so they give an upper bound of each cosine; only
vectors whose bound reaches the last place are compared in full. So the result is exact, whatever the vectors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from leafspan.embedding import normalize
from leafspan.engine import in_spare_thread
from leafspan.lexical import score_reached_by
from leafspan.mirror import Codes, MirrorSnapshot, in_parts
from leafspan.store import Catalogue, Selection
from leafspan.values import Hit, LeafId

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_BOUNDS = 4_000_000  # that are computed at once: 16 MB
_DENSE = 4  # a segment is compared as a whole if at least one in so many of its leaves is wanted
_FIRST = 2  # times as many leaves as are wanted, and some more, are compared in full at first
_MORE = 24
_MOST_CODED = 4  # queries: the vectors of more are multiplied at once, which is as fast for each
_BLOCK_OF_CODES = 6_000_000  # numbers of 8 bits that are compared within 0.2 ms
_BLOCK = 512  # vectors that fit into a processor's cache
_ROUNDING = 1e-5  # more than rounding can change a cosine of 32-bit numbers


def scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """The leaves of a selection that are nearest to each vector, best first.

    Ties are ordered by document, then position, also at the last place. No score depends on the other leaves.

    Args:
        snapshot: The mirror of the vectors.
        visible: The visible documents.
        chosen: The selection, which is not empty.
        vectors: Matrix with a row for each query.
        count: Number of leaves for each query.
    """
    import numpy as np

    rows = snapshot.rows_in(chosen)

    def leaves_at(places: NDArray[np.intp]) -> list[LeafId]:
        return visible.shown_leaves(snapshot.leaves_in(rows[places].tolist()))

    def vectors_at(places: NDArray[np.intp]) -> NDArray[np.float32]:
        return vectors_of(snapshot, rows[places])

    queries = normalize(np.asarray(vectors, dtype=np.float32))
    at_once = max(1, _MOST_BOUNDS // len(rows))
    found = []
    for start in range(0, len(queries), at_once):
        some = queries[start : start + at_once]
        of_parts = [_bounds(arrays, within, some) for arrays, within in _parts(snapshot, rows)]
        bounds = of_parts[0] if len(of_parts) == 1 else np.concatenate(of_parts, axis=1)
        found += [best(row, vectors_at, query, leaves_at, count) for row, query in zip(bounds, some, strict=True)]
    return found


def rank(leaves: Sequence[LeafId], stored: NDArray[np.float32], vectors: Any, count: int) -> list[list[Hit]]:
    """Like ``scan``, for leaves whose vectors are at hand, as a matrix with a row for each."""
    import numpy as np

    stored, queries = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    bounds = queries @ stored.T + _ROUNDING
    pairs = zip(bounds, queries, strict=True)

    def leaves_at(places: NDArray[np.intp]) -> list[LeafId]:
        return [leaves[place] for place in places]

    return [best(row, stored.__getitem__, query, leaves_at, count) for row, query in pairs]


def vectors_of(snapshot: MirrorSnapshot, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """The vectors of rows of the mirror, of which there is at least one, in the order of the rows."""
    import numpy as np

    order = np.argsort(rows, kind="stable")
    in_order = np.concatenate([in_parts(arrays, "vectors")[within] for arrays, within in _parts(snapshot, rows[order])])
    stored = np.empty_like(in_order)
    stored[order] = in_order
    return stored


def best(
    bounds: NDArray[np.float32],
    vectors_at: Callable[[NDArray[np.intp]], NDArray[np.float32]],
    query: NDArray[np.float32],
    leaves_at: Callable[[NDArray[np.intp]], list[LeafId]],
    count: int,
) -> list[Hit]:
    """The ``count`` best leaves, best first. Ties are ordered as above.

    Args:
        bounds: A number for each leaf that its cosine does not exceed.
        vectors_at: Function from places in ``bounds`` to the vectors of the leaves there, as a matrix.
        query: The vector they are compared with.
        leaves_at: Function from places in ``bounds`` to the ids of the leaves there.
        count: Number of leaves that are wanted.
    """
    import numpy as np

    def cosines_at(places: NDArray[np.intp]) -> NDArray[np.float64]:
        # Not as a product of matrices, whose result for a vector depends on the row that it is in: equal vectors must tie.
        return (vectors_at(places).astype(np.float64) * query).sum(axis=1).clip(-1.0, 1.0)  # type: ignore[no-any-return]

    least = score_reached_by(_FIRST * count + _MORE, bounds)
    places = np.flatnonzero(bounds >= least)
    cosines = cosines_at(places)
    if len(places) > count:
        last = np.partition(cosines, len(places) - count)[len(places) - count]
        if least > last:  # then there may be others
            places = np.flatnonzero(bounds >= last)
            cosines = cosines_at(places)
        near = cosines >= last
        places, cosines = places[near], cosines[near]
    hits = list(map(Hit, leaves_at(places), cosines.tolist()))
    return sorted(hits, key=lambda hit: hit.order)[:count]


def _parts(
    snapshot: MirrorSnapshot, rows: NDArray[np.intp]
) -> Iterator[tuple[Mapping[str, NDArray[Any]], NDArray[np.intp]]]:
    """The segments that have some of these rows, given in ascending order: their arrays, and which rows of theirs."""
    import numpy as np

    start = segment_start = 0
    for arrays, _ in snapshot.parts:
        segment_end = segment_start + len(in_parts(arrays, "vectors"))
        stop = int(np.searchsorted(rows, segment_end))
        if stop > start:
            yield arrays, rows[start:stop] - segment_start if segment_start else rows[start:stop]
        start, segment_start = stop, segment_end


def _bounds(
    arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.intp], queries: NDArray[np.float32]
) -> NDArray[np.float32]:
    """What the cosines of each query with these rows of a segment do not exceed: a row for each query."""
    if len(queries) > _MOST_CODED or _cdist() is None:
        return _products(arrays["vectors"], rows, queries) + _ROUNDING
    codes = Codes.in_arrays(arrays)
    coded = Codes.of(queries)
    if len(rows) * _DENSE < len(codes.scales):
        return _bounds_of(coded, codes.at(rows))
    bounds = _bounds_of(coded, codes)
    return bounds if len(rows) == len(codes.scales) else bounds[:, rows]


def _bounds_of(queries: Codes, codes: Codes) -> NDArray[np.float32]:
    """What the cosines do not exceed.

    Many are compared in blocks, by this thread and a spare one, since comparing codes does not hold Python's lock. Each
    takes a block whenever it is done with another, so nobody waits for a thread that the processor has no time for.
    """
    import numpy as np

    size = max(1, _BLOCK_OF_CODES // codes.numbers.shape[1])
    blocks = [slice(start, start + size) for start in range(0, len(codes.numbers), size)]
    if len(blocks) == 1 or _cores() == 1:
        return _bounds_of_block(queries, codes)
    bounds = np.empty((len(queries.numbers), len(codes.numbers)), np.float32)
    count, done = len(blocks), list[slice]()

    def compare() -> None:
        while blocks:
            try:
                block = blocks.pop()
            except IndexError:  # the other thread was faster
                return
            bounds[:, block] = _bounds_of_block(queries, codes.at(block))
            done.append(block)

    other = in_spare_thread(compare)
    compare()
    if other is not None and len(done) < count:
        other.result()
    return bounds


def _bounds_of_block(queries: Codes, codes: Codes) -> NDArray[np.float32]:
    import numpy as np

    cdist = _cdist()
    assert cdist is not None
    # Not with out=: simsimd 6.5 then returns None without a reference to it, and before Python 3.12 a process that has lost
    # its last one is aborted.
    bounds = np.asarray(cdist(queries.numbers, np.ascontiguousarray(codes.numbers), "inner", out_dtype="float32"))
    # The product of a query q and a vector v, coded as q' and v', is q'v' + (q - q')v' + q(v - v'), and q has length 1.
    bounds *= codes.scales
    bounds *= queries.scales[:, None]
    bounds += codes.errors * (1 + queries.errors.max())
    bounds += (queries.errors + _ROUNDING)[:, None]
    return bounds


@cache
def _cores() -> int:
    """The processor's cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _cdist() -> Callable[..., Any] | None:
    """What compares codes, with the instructions that the processor has for it; None where it cannot be installed."""
    try:
        from simsimd import cdist
    except ImportError:
        return None
    return cdist


def _products(vectors: NDArray[np.float32], rows: NDArray[np.intp], queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of each query with these rows of a matrix, rounded."""
    import numpy as np

    if len(rows) == len(vectors):
        return queries @ vectors.T
    products = np.empty((len(queries), len(rows)), dtype=np.float32)
    # In blocks: copying all rows into fresh memory at once would take ten times as long as multiplying them.
    for start in range(0, len(rows), _BLOCK):
        some = slice(start, start + _BLOCK)
        np.matmul(queries, vectors[rows[some]].T, out=products[:, some])
    return products
