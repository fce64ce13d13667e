"""Exact search for the leaves nearest to vectors, among all leaves or some. It compares each of them.

It compares 8-bit codes first. The error of each code is known, so they give an upper bound for each cosine. Vectors are
compared in full only if their bound reaches the last place. So the result is exact for all vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leafspan.embedding import normalize
from leafspan.errors import DamagedIndex
from leafspan.lexical import score_reached_by
from leafspan.search._bounds import ROUNDING, Bounds
from leafspan.segments import MirrorSnapshot, in_parts
from leafspan.store import Catalogue, Selection
from leafspan.values import Hit, LeafId, to_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
        found = []
        for queries in self._queries:
            bounds, self._begun = self._begun or self._bounds_of(queries), None
            found += [
                best(row, self._vectors_at, query, self._leaves_at, self._count)
                for row, query in zip(bounds.computed(), queries, strict=True)
            ]
        return found

    def _bounds_of(self, queries: NDArray[np.float32], *, ahead: bool = False) -> Bounds:
        return Bounds(_parts(self._snapshot, self._rows), queries, ahead=ahead)

    def _leaves_at(self, places: NDArray[np.intp]) -> list[LeafId]:
        return self._visible.shown_leaves(self._snapshot.leaves_in(self._rows[places].tolist()))

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
