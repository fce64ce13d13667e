"""Exact search for the leaves nearest to vectors, among all leaves or some. It compares each of them.

It compares 8-bit codes first. The error of each code is known, so they give an upper bound for each cosine. Vectors are
compared in full only if their bound reaches the last place. So the result is exact for all vectors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from leafspan.embedding import normalize
from leafspan.errors import DamagedIndex
from leafspan.flows import on_other_core
from leafspan.lexical import score_reached_by
from leafspan.segments import Codes, MirrorSnapshot, in_parts
from leafspan.store import Catalogue, Selection
from leafspan.values import Hit, LeafId, to_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Part = tuple[Mapping[str, NDArray[Any]], NDArray[np.intp]]
    Finish = Callable[[], NDArray[np.float32]]
    Block = tuple[slice, Callable[[], Finish]]


_MOST_BOUNDS = 4_000_000  # number of bounds to compute at once: 16 MB
_FIRST = 2  # at first, twice the wanted number of leaves and some more are compared in full
_MORE = 24


class Scan:
    """A running search for the leaves of a selection nearest to each vector. The caller does other work in between."""

    def __init__(
        self,
        snapshot: MirrorSnapshot,
        visible: Catalogue,
        chosen: Selection,
        vectors: Any,
        count: int,
        *,
        ahead: bool = True,
    ) -> None:
        import numpy as np

        self._snapshot = snapshot
        self._visible = visible
        self._rows = snapshot.rows_in(chosen)
        self._count = count
        queries = normalize(np.asarray(vectors, dtype=np.float32))
        at_once = max(1, _MOST_BOUNDS // len(self._rows))
        self._queries = [queries[start : start + at_once] for start in range(0, len(queries), at_once)]
        self._begun = self._bounds_of(self._queries[0], ahead=ahead) if self._queries else None

    def hits(self) -> list[list[Hit]]:
        """The leaves, best first.

        Ties are ordered by document, then position, even at the last place. No score depends on other leaves.
        """
        hits = []
        for queries in self._queries:
            bounds, self._begun = self._begun or self._bounds_of(queries), None
            hits += [
                best(row, self._vectors_at, query, self._leaves_at, self._count)
                for row, query in zip(bounds.computed(), queries, strict=True)
            ]
        return hits

    def _bounds_of(self, queries: NDArray[np.float32], *, ahead: bool = False) -> Bounds:
        return Bounds(_parts(self._snapshot, self._rows), queries, ahead=ahead)

    def _leaves_at(self, places: NDArray[np.intp]) -> list[LeafId]:
        return self._visible.shown_leaves(self._snapshot.leaves_in(self._rows[places]))

    def _vectors_at(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        return _vectors_in_order(self._snapshot, self._rows[places])


def scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """Run a ``Scan`` and return its hits."""
    return Scan(snapshot, visible, chosen, vectors, count, ahead=False).hits()


def rank(leaves: Sequence[LeafId], stored: NDArray[np.float32], vectors: Any, count: int) -> list[list[Hit]]:
    """Like ``scan``, for leaves whose vectors are in memory, as a matrix with a row for each."""
    import numpy as np

    stored, queries = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    if stored.shape[1] != queries.shape[1]:
        raise DamagedIndex(f"stored vectors must have {queries.shape[1]} numbers, got {stored.shape[1]}: run repair()")
    bounds = queries @ stored.T + ROUNDING
    pairs = zip(bounds, queries, strict=True)

    def leaves_at(places: NDArray[np.intp]) -> list[LeafId]:
        return [leaves[place] for place in places]

    return [best(row, stored.__getitem__, query, leaves_at, count) for row, query in pairs]


def vectors_of(snapshot: MirrorSnapshot, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """The vectors of at least one row, in the order of the rows."""
    import numpy as np

    order = np.argsort(rows, kind="stable")
    in_order = _vectors_in_order(snapshot, rows[order])
    stored = np.empty_like(in_order)
    stored[order] = in_order
    return stored


def _vectors_in_order(snapshot: MirrorSnapshot, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Like ``vectors_of``, for rows in ascending order."""
    import numpy as np

    pieces = [in_parts(arrays, "vectors")[within] for arrays, within in _parts(snapshot, rows)]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def best(
    bounds: NDArray[np.float32],
    vectors_at: Callable[[NDArray[np.intp]], NDArray[np.float32]],
    query: NDArray[np.float32],
    leaves_at: Callable[[NDArray[np.intp]], list[LeafId]],
    count: int,
) -> list[Hit]:
    """The ``count`` best leaves, best first. Ties are ordered as above."""
    import numpy as np

    def cosines_at(places: NDArray[np.intp]) -> NDArray[np.float64]:
        # Not as a matrix product, whose result for a vector depends on its row: equal vectors must tie.
        return np.multiply(vectors_at(places), exact_query).sum(axis=1).clip(-1.0, 1.0)  # type: ignore[no-any-return]

    exact_query = query.astype(np.float64)
    least = score_reached_by(_FIRST * count + _MORE, bounds)
    places = np.flatnonzero(bounds >= least)
    cosines = cosines_at(places)
    if len(places) > count:
        last = np.partition(cosines, len(places) - count)[len(places) - count]
        if least > last:  # then there may be more
            places = np.flatnonzero(bounds >= last)
            cosines = cosines_at(places)
        near = cosines >= last
        places, cosines = places[near], cosines[near]
    # Like Hit.order, in a third of the time.
    scored = zip(leaves_at(places), cosines.tolist(), strict=True)
    ordered = sorted([(-score, leaf[0], leaf[2], leaf) for leaf, score in scored])[:count]
    return to_hits([each[-1] for each in ordered], [-each[0] for each in ordered])


def _parts(
    snapshot: MirrorSnapshot, rows: NDArray[np.intp]
) -> Iterator[tuple[Mapping[str, NDArray[Any]], NDArray[np.intp]]]:
    """The arrays of each segment that has some of these rows, and the rows in it. The rows are in ascending order."""
    import numpy as np

    start = segment_start = 0
    for arrays, _ in snapshot.parts:
        segment_end = segment_start + len(in_parts(arrays, "vectors"))
        stop = int(np.searchsorted(rows, segment_end))
        if stop > start:
            yield arrays, rows[start:stop] - segment_start if segment_start else rows[start:stop]
        start, segment_start = stop, segment_end


ROUNDING = 1e-5
"""An upper limit for the rounding error of a cosine of 32-bit numbers."""

_DENSE = 4  # a segment is compared as a whole if at least a quarter of its leaves are wanted
_MOST_CODED = 4  # number of queries up to which codes are compared; more are multiplied at once, which is as fast for each
_BLOCK = 6_000_000  # 8-bit numbers that a thread compares at a time, in 0.2 ms: waking another core is worth it from there
_VECTORS = 512  # number of vectors that fit into a processor's cache


class Bounds:
    """Upper bounds of the cosines of queries and leaves. Another core starts computing while the caller does other work.

    Codes are compared in blocks, since that releases Python's lock. Each thread takes the next block when it is done, so no
    thread waits for one that the processor delays. If the caller does other work in between (``ahead``), a segment is one
    block: the other thread would have to wait for the lock between two blocks. If several questions are asked at once, each
    is answered by its own thread, since waking another core for each would take longer in all.
    """

    def __init__(self, parts: Iterable[Part], queries: NDArray[np.float32], *, ahead: bool = False) -> None:
        import numpy as np

        is_alone = not _UNDER_WAY
        _UNDER_WAY.add(self)
        self._left: list[Block] = []
        coded = _CodedQueries.of(queries) if len(queries) <= _MOST_CODED and _cdist() is not None else None
        count = 0
        for arrays, rows in parts:
            for columns, compute in _blocks(arrays, rows, queries, coded, whole=ahead or not is_alone):
                self._left.append((slice(count + columns.start, count + columns.stop), compute))
            count += len(rows)
        self._bounds = np.empty((len(queries), count), np.float32)
        self._blocks = len(self._left)
        self._computed: list[tuple[slice, Finish]] = []
        is_much = self._blocks > 1 or (ahead and self._bounds.size * queries.shape[1] >= _BLOCK)
        self._other = on_other_core(self._compute) if is_alone and is_much else None

    def computed(self) -> NDArray[np.float32]:
        """The bounds: a row for each query, a column for each row of the parts."""
        try:
            self._compute()
            if self._other is not None and len(self._computed) < self._blocks:
                self._other.result()
        finally:
            _UNDER_WAY.discard(self)
        # Not in the other thread, which would have to wait for the lock before each of these steps.
        for columns, finish in self._computed:
            self._bounds[:, columns] = finish()
        return self._bounds

    def _compute(self) -> None:
        while self._left:
            try:
                columns, compute = self._left.pop()
            except IndexError:  # the other thread was faster
                return
            self._computed.append((columns, compute()))


_UNDER_WAY: WeakSet[Bounds] = WeakSet()  # bounds that are being computed

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_UNDER_WAY.clear)


class _CodedQueries(NamedTuple):
    """The codes of queries, and the values that all bounds of a query share.

    The product of a query q and a vector v, coded as q' and v', is q'v' + (q - q')v' + q(v - v'), and q has length 1.
    """

    numbers: NDArray[np.int8]  # matrix with a row for each query
    scales: NDArray[np.float32]  # the value of a 1 in each row, as a column
    slope: float  # the factor for the error of a vector's code
    least: NDArray[np.float32]  # the part that does not depend on the vector, as a column

    @classmethod
    def of(cls, queries: NDArray[np.float32]) -> _CodedQueries:
        """Make the codes of queries, given as the rows of a matrix."""
        numbers, scales, errors = Codes.of(queries)
        return cls(numbers, scales[:, None], 1 + float(errors.max()), (errors + ROUNDING)[:, None])


def _blocks(
    arrays: Mapping[str, NDArray[Any]],
    rows: NDArray[np.intp],
    queries: NDArray[np.float32],
    coded: _CodedQueries | None,
    *,
    whole: bool,
) -> Iterator[Block]:
    """The computations for some rows of a segment, as a whole or in blocks: each with its columns and a function."""
    import numpy as np

    if coded is None:
        yield slice(0, len(rows)), partial(_products, arrays["vectors"], rows, queries)
        return
    codes = Codes.in_arrays(arrays)
    if len(rows) * _DENSE < len(codes.scales):
        size = len(rows) if whole else _block_size(len(rows), codes)
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            yield slice(start, start + len(some)), partial(_bounds_of_some, coded, codes, some)
        return
    size = len(codes.scales) if whole else _block_size(len(codes.scales), codes)
    starts = [*range(0, len(codes.scales), size), len(codes.scales)]
    places = starts if len(rows) == len(codes.scales) else np.searchsorted(rows, starts).tolist()
    for block, (first, end) in zip(pairwise(starts), pairwise(places), strict=True):
        if first < end:
            yield slice(first, end), partial(_bounds_within, coded, codes, slice(*block), rows[first:end])


def _block_size(rows: int, codes: Codes) -> int:
    """The number of rows that a thread compares at a time: an even number of blocks, or one for few rows."""
    blocks = 2 * round(rows * codes.numbers.shape[1] / (2 * _BLOCK)) or 1
    return max(1, -(-rows // blocks))


def _bounds_within(queries: _CodedQueries, codes: Codes, block: slice, rows: NDArray[np.intp]) -> Finish:
    """The bounds of some rows of a block. The whole block is compared."""
    finish = _bounds_of_some(queries, codes, block)

    def within() -> NDArray[np.float32]:
        bounds = finish()
        return bounds if len(rows) == bounds.shape[1] else bounds[:, rows - block.start]

    return within


def _bounds_of_some(queries: _CodedQueries, codes: Codes, rows: slice | NDArray[np.intp]) -> Finish:
    import numpy as np

    cdist = _cdist()
    assert cdist is not None
    some = codes.at(rows)
    # Not with out=: simsimd 6.5 then returns None without adding a reference to it, and before Python 3.12 a process that
    # has lost its last reference to None is aborted.
    bounds = np.asarray(cdist(queries.numbers, np.ascontiguousarray(some.numbers), "inner", out_dtype="float32"))

    def finish() -> NDArray[np.float32]:
        nonlocal bounds
        bounds *= some.scales
        bounds *= queries.scales
        bounds += some.errors * queries.slope
        bounds += queries.least
        return bounds

    return finish


def _products(vectors: NDArray[np.float32], rows: NDArray[np.intp], queries: NDArray[np.float32]) -> Finish:
    """The bounds of rows of a matrix, from their rounded products with each query."""
    import numpy as np

    if len(rows) == len(vectors):
        of_all = queries @ vectors.T + ROUNDING
        return lambda: of_all
    products = np.empty((len(queries), len(rows)), dtype=np.float32)
    # In blocks: copying all rows into new memory at once would take ten times as long as multiplying them.
    for start in range(0, len(rows), _VECTORS):
        some = slice(start, start + _VECTORS)
        np.matmul(queries, vectors[rows[some]].T, out=products[:, some])
    products += ROUNDING
    return lambda: products


@cache
def _cdist() -> Callable[..., Any] | None:
    """The function that compares codes with the processor's own instructions, or None if it is not installed."""
    try:
        from simsimd import cdist
    except ImportError:
        return None
    return cdist
