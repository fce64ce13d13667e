"""Exact search for the leaves nearest to vectors, among all leaves or some. It compares each of them.

It compares 8-bit codes first. The error of each code is known, so they give an upper bound for each cosine. Vectors are
compared in full only if their bound reaches the last place. So the result is exact for all vectors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from math import inf
from typing import TYPE_CHECKING, Any
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

    Rows = NDArray[np.intp]
    Floats = NDArray[np.float32]
    Part = tuple[Mapping[str, NDArray[Any]], Rows]
    Finish = Callable[[], Floats]
    Block = tuple[slice, Callable[[], Finish]]


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
        self._queries = normalize(np.asarray(vectors, dtype=np.float32))
        self._begun = [self._bounds_of(query, ahead=ahead) for query in self._queries[:1]]

    def hits(self) -> list[list[Hit]]:
        """The leaves, best first.

        Ties are ordered by document, then position, even at the last place. No score depends on other leaves.
        """
        bounds = chain(self._begun, map(self._bounds_of, self._queries[1:]))
        return [self._nearest(each.computed(), query) for each, query in zip(bounds, self._queries, strict=True)]

    def _bounds_of(self, query: Floats, *, ahead: bool = False) -> Bounds:
        return Bounds(_parts(self._snapshot, self._rows), query, ahead=ahead)

    def _nearest(self, bounds: Floats, query: Floats) -> list[Hit]:
        def vectors_at(places: Rows) -> Floats:
            return _vectors_in_order(self._snapshot, self._rows[places])

        def leaves_at(places: Rows) -> list[LeafId]:
            return self._visible.shown_leaves(self._snapshot.leaves_in(self._rows[places]))

        return best(bounds, vectors_at, query, leaves_at, self._count)


def scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """Run a ``Scan`` and return its hits."""
    return Scan(snapshot, visible, chosen, vectors, count, ahead=False).hits()


def rank(leaves: Sequence[LeafId], stored: Floats, vectors: Any, count: int) -> list[list[Hit]]:
    """Like ``scan``, for leaves whose vectors are in memory, as a matrix with a row for each."""
    import numpy as np

    stored, queries = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    if stored.shape[1] != queries.shape[1]:
        raise DamagedIndex(f"stored vectors must have {queries.shape[1]} numbers, got {stored.shape[1]}: run repair()")
    bounds = queries @ stored.T + ROUNDING
    pairs = zip(bounds, queries, strict=True)

    def leaves_at(places: Rows) -> list[LeafId]:
        return [leaves[place] for place in places]

    return [best(row, stored.__getitem__, query, leaves_at, count) for row, query in pairs]


def vectors_of(snapshot: MirrorSnapshot, rows: Rows) -> Floats:
    """The vectors of at least one row, in the order of the rows."""
    import numpy as np

    order = np.argsort(rows, kind="stable")
    in_order = _vectors_in_order(snapshot, rows[order])
    stored = np.empty_like(in_order)
    stored[order] = in_order
    return stored


def _vectors_in_order(snapshot: MirrorSnapshot, rows: Rows) -> Floats:
    """Like ``vectors_of``, for rows in ascending order."""
    import numpy as np

    pieces = [in_parts(arrays, "vectors")[within] for arrays, within in _parts(snapshot, rows)]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def best(
    bounds: Floats,
    vectors_at: Callable[[Rows], Floats],
    query: Floats,
    leaves_at: Callable[[Rows], list[LeafId]],
    count: int,
) -> list[Hit]:
    """The ``count`` best leaves, best first. Ties are ordered as above."""
    import numpy as np

    least = score_reached_by(_FIRST * count + _MORE, bounds)
    places = np.flatnonzero(bounds >= least)
    scores = cosines(vectors_at(places), query)
    if len(places) > count:
        last = np.partition(scores, len(places) - count)[len(places) - count]
        if least > last:  # then there may be more
            places = np.flatnonzero(bounds >= last)
            scores = cosines(vectors_at(places), query)
        near = scores >= last
        places, scores = places[near], scores[near]
    # Like Hit.order, in a third of the time.
    scored = zip(leaves_at(places), scores.tolist(), strict=True)
    ordered = sorted([(-score, leaf[0], leaf[2], leaf) for leaf, score in scored])[:count]
    return to_hits([each[-1] for each in ordered], [-each[0] for each in ordered])


def cosines(vectors: Floats, query: Floats) -> NDArray[np.float64]:
    """The cosines of vectors, the rows of a matrix, and a query. All have length 1."""
    import numpy as np

    # Not as a matrix product, whose result for a vector depends on its row: equal vectors must tie.
    return np.multiply(vectors, query.astype(np.float64)).sum(axis=1).clip(-1.0, 1.0)  # type: ignore[no-any-return]


def _parts(snapshot: MirrorSnapshot, rows: Rows) -> Iterator[Part]:
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
_BLOCK = 6_000_000  # 8-bit numbers that a thread compares at a time, in 0.2 ms: waking another core is worth it from there


class Bounds:
    """Upper bounds of the cosines of a query and leaves. Another core starts computing while the caller does other work.

    Codes are compared in blocks, since that releases Python's lock. Each thread takes the next block when it is done, so no
    thread waits for one that the processor delays. If the caller does other work in between (``ahead``), a segment is one
    block: the other thread would have to wait for the lock between two blocks. If several questions are asked at once, each
    is answered by its own thread, since waking another core for each would take longer in all.
    """

    def __init__(self, parts: Iterable[Part], query: Floats, *, ahead: bool = False) -> None:
        import numpy as np

        is_alone = not _UNDER_WAY
        _UNDER_WAY.add(self)
        self._left: list[Block] = []
        most = inf if ahead or not is_alone else _BLOCK / len(query)
        compare = _comparing_codes(query)
        count = 0
        for arrays, rows in parts:
            numbers = in_parts(arrays, "codes") if len(rows) * _DENSE < len(arrays["scales"]) else arrays["codes"]
            codes = Codes(numbers, arrays["scales"], arrays["errors"])
            for columns, made in _blocks(compare, codes, rows, most):
                self._left.append((slice(count + columns.start, count + columns.stop), made))
            count += len(rows)
        self._bounds = np.empty(count, np.float32)
        self._blocks = len(self._left)
        self._computed: list[tuple[slice, Finish]] = []
        is_much = self._blocks > 1 or (ahead and count * len(query) >= _BLOCK)
        self._other = on_other_core(self._compute) if is_alone and is_much else None

    def computed(self) -> Floats:
        """The bounds of the rows of the parts."""
        try:
            self._compute()
            if self._other is not None and len(self._computed) < self._blocks:
                self._other.result()
        finally:
            _UNDER_WAY.discard(self)
        # Not in the other thread, which would have to wait for the lock before each of these steps.
        for columns, finish in self._computed:
            self._bounds[columns] = finish()
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


def _comparing_codes(query: Floats) -> Callable[[Codes], Finish]:
    """The function that compares codes with a query. It returns another one, which makes bounds of the result.

    The product of a query q and a vector v, coded as q' and v', is q'v' + (q - q')v' + q(v - v'), and q has length 1.
    """
    numbers, (scale,), (error,) = Codes.of(query[None])

    def compare(codes: Codes) -> Finish:
        (products,) = _compared(numbers, codes.numbers, "inner", "int8")
        return lambda: products * codes.scales * scale + codes.errors * (1 + error) + (error + ROUNDING)

    return compare


def _compared(queries: NDArray[Any], codes: NDArray[Any], metric: Any, kind: Any) -> Floats:
    """Compare each row with each code by the processor's own instructions."""
    import numpy as np
    from simsimd import cdist

    # Not with out=: simsimd 6.5 then returns None without adding a reference to it, and before Python 3.12 a process that
    # has lost its last reference to None is aborted.
    return np.asarray(cdist(queries, np.ascontiguousarray(codes), metric, dtype=kind, out_dtype="float32"))


def _blocks(compare: Callable[[Codes], Finish], codes: Codes, rows: Rows, most: float) -> Iterator[Block]:
    """Comparisons of about ``most`` rows of a segment each: the columns of their bounds, and a function."""
    import numpy as np

    leaves = len(codes.scales)
    is_sparse = len(rows) * _DENSE < leaves
    count = len(rows) if is_sparse else leaves
    blocks = 2 * round(count / (2 * most)) or 1  # an even number, or one
    starts = [*range(0, count, max(1, -(-count // blocks))), count]
    places = starts if count == len(rows) else np.searchsorted(rows, starts).tolist()

    def compared(block: slice, chosen: Rows) -> Finish:
        some = chosen if is_sparse else block
        finish = compare(codes.at(some))
        return finish if count == len(rows) else lambda: finish()[chosen - block.start]

    for block, (first, end) in zip(pairwise(starts), pairwise(places), strict=True):
        if first < end:
            yield slice(first, end), partial(compared, slice(*block), rows[first:end])
