"""Exact search for the leaves nearest to vectors, among all leaves or some. It compares each of them.

It compares 8-bit codes first. The error of each code is known, so they give an upper bound for each cosine. Vectors are
compared in full only if their bound reaches the last place. So the result is exact for all vectors. Of many long vectors,
signs are compared before, a bit a number: a leaf that belongs to the result is left out once in fifty million times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from math import inf, sqrt
from typing import Any, TypeAlias
from weakref import WeakSet

from leafspan.embedding import QUESTION_ERROR, Codes, normalize, rotated
from leafspan.errors import DamagedIndex
from leafspan.flows import NDArray, np, on_other_core
from leafspan.lexical import score_reached_by
from leafspan.segments import MirrorSnapshot, in_parts, vectors_at
from leafspan.store import Catalogue, Selection
from leafspan.values import Hit, LeafId, to_hits

Rows: TypeAlias = "NDArray[np.intp]"
Floats: TypeAlias = "NDArray[np.float32]"
Part: TypeAlias = "tuple[Mapping[str, NDArray[Any]], Rows]"
Finish: TypeAlias = "Callable[[], Floats]"
Compare: TypeAlias = "Callable[[slice | Rows], Finish]"
Block: TypeAlias = "tuple[slice, Callable[[], Finish]]"


_FIRST = 2  # at first, twice the wanted number of leaves and some more are compared in full
_MORE = 24
_FEW = 64  # signs are compared if at most one leaf in 64 is wanted
_LIKELY = 8  # times the wanted number of leaves, whose codes are compared first if signs were compared
_SURE = 5.5  # standard deviations: the probability that an estimate misses its leaf by more is 2 * 10^-8


class Scan:
    """A running search for the leaves of a selection nearest to each vector. The caller does other work in between."""

    def __init__(
        self, snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int, *, ahead: bool
    ) -> None:
        self._snapshot = snapshot
        self._visible = visible
        self._rows = snapshot.rows_in(chosen)
        self._count = count
        self._queries = normalize(np.asarray(vectors, dtype=np.float32))
        self._signed = len(self._rows) >= _FEW * (count + _FEW) and any(
            "sign_bits" in arrays for arrays, _ in snapshot.parts
        )
        self._begun = [self._bounds_of(query, ahead=ahead) for query in self._queries[:1]]

    def hits(self) -> list[list[Hit]]:
        """The leaves, best first.

        Ties are ordered by document, then position, even at the last place. No score depends on other leaves.
        """
        bounds = chain(self._begun, map(self._bounds_of, self._queries[1:]))
        return [self._nearest(each.computed(), query) for each, query in zip(bounds, self._queries, strict=True)]

    def _bounds_of(self, query: Floats, *, ahead: bool = False) -> Bounds:
        return Bounds(_parts(self._snapshot, self._rows), query, ahead=ahead, signed=self._signed)

    def _nearest(self, bounds: Floats, query: Floats) -> list[Hit]:
        rows, bounds = self._narrowed(bounds, query) if self._signed else (self._rows, bounds)

        def leaves_at(places: Rows) -> list[LeafId]:
            return self._visible.shown_leaves(self._snapshot.leaves_in(rows[places]))

        return best(bounds, lambda places: _vectors_in_order(self._snapshot, rows[places]), query, leaves_at, self._count)

    def _narrowed(self, bounds: Floats, query: Floats) -> tuple[Rows, Floats]:
        """The rows that may be among the best by these bounds of their signs, and the bounds of their codes."""

        def closer(least: float) -> tuple[Rows, Floats]:
            rows = self._rows[bounds >= least]
            return rows, Bounds(_parts(self._snapshot, rows), query).computed()

        rows, of_codes = closer(score_reached_by(_LIKELY * self._count + _MORE, bounds))
        best_rows = np.sort(rows[np.argpartition(of_codes, -self._count)[-self._count :]])
        return closer(cosines(_vectors_in_order(self._snapshot, best_rows), query).min())


def scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    return Scan(snapshot, visible, chosen, vectors, count, ahead=False).hits()


def rank(leaves: Sequence[LeafId], stored: Floats, vectors: Any, count: int) -> list[list[Hit]]:
    """Like ``scan``, for leaves whose vectors are in memory, as a matrix with a row for each."""
    stored, queries = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    if stored.shape[1] != queries.shape[1]:
        raise DamagedIndex(f"stored vectors must have {queries.shape[1]} numbers, got {stored.shape[1]}: run repair()")

    def leaves_at(places: Rows) -> list[LeafId]:
        return [leaves[place] for place in places]

    return [best(stored @ query + ROUNDING, stored.__getitem__, query, leaves_at, count) for query in queries]


def vectors_of(snapshot: MirrorSnapshot, rows: Rows) -> Floats:
    """The vectors of at least one row, in the order of the rows."""
    order = np.argsort(rows, kind="stable")
    return _vectors_in_order(snapshot, rows[order])[np.argsort(order)]


def _vectors_in_order(snapshot: MirrorSnapshot, rows: Rows) -> Floats:
    """Like ``vectors_of``, for rows in ascending order."""
    pieces = [vectors_at(arrays, within) for arrays, within in _parts(snapshot, rows)]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def best(
    bounds: Floats,
    vectors_at: Callable[[Rows], Floats],
    query: Floats,
    leaves_at: Callable[[Rows], list[LeafId]],
    count: int,
) -> list[Hit]:
    """The ``count`` best leaves, best first. Ties are ordered as above."""
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
    # Not as a matrix product, whose result for a vector depends on its row: equal vectors must tie.
    return np.multiply(vectors, query.astype(np.float64)).sum(axis=1).clip(-1.0, 1.0)  # type: ignore[no-any-return]


def _parts(snapshot: MirrorSnapshot, rows: Rows) -> Iterator[Part]:
    """The arrays of each segment that has some of these rows, and the rows in it. The rows are in ascending order."""
    start = segment_start = 0
    for arrays, _ in snapshot.parts:
        segment_end = segment_start + len(in_parts(arrays, "scales"))
        stop = int(np.searchsorted(rows, segment_end))
        if stop > start:
            yield arrays, rows[start:stop] - segment_start if segment_start else rows[start:stop]
        start, segment_start = stop, segment_end


ROUNDING = 1e-5  # an upper limit for the rounding error of a cosine of 32-bit numbers
_DENSE = 4  # a segment is compared as a whole if at least a quarter of its leaves are wanted
_BLOCK = 6_000_000  # 8-bit numbers that a thread compares at a time, in 0.2 ms: waking another core is worth it from there


class Bounds:
    """Upper bounds of the cosines of a query and leaves. Another core starts computing while the caller does other work.

    Codes are compared in blocks, since that releases Python's lock. Each thread takes the next block when it is done, so no
    thread waits for one that the processor delays. If the caller does other work in between (``ahead``), a segment is one
    block: the other thread would have to wait for the lock between two blocks. If several questions are asked at once, each
    is answered by its own thread, since waking another core for each would take longer in all.
    """

    def __init__(self, parts: Iterable[Part], query: Floats, *, ahead: bool = False, signed: bool = False) -> None:
        is_alone = not _UNDER_WAY
        _UNDER_WAY.add(self)
        self._left: list[Block] = []
        most = inf if ahead or not is_alone else _BLOCK / len(query)
        coded = Codes.of(query[None])
        count = 0
        for arrays, rows in parts:
            leaves = len(arrays["scales"])
            if signed and "sign_bits" in arrays:
                blocks = _blocks(_comparing_signs(query, arrays), leaves, rows, 8 * most)
            else:  # of a file, only the codes of the rows are read
                codes = in_parts(arrays, "codes") if len(rows) * _DENSE < leaves else arrays["codes"]
                blocks = _blocks(_comparing_codes(coded, codes, arrays), leaves, rows, most)
            for columns, made in blocks:
                self._left.append((slice(count + columns.start, count + columns.stop), made))
            count += len(rows)
        self._bounds = np.empty(count, np.float32)
        self._blocks = len(self._left)
        self._computed: list[tuple[slice, Finish]] = []
        is_much = self._blocks > 1 or (ahead and count * len(query) >= _BLOCK)
        self._other = on_other_core(self._compute) if is_alone and is_much else None

    def computed(self) -> Floats:
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


def _comparing_codes(query: Codes, codes: Any, arrays: Mapping[str, NDArray[Any]]) -> Compare:
    """The function that compares some codes with a query. It returns another one, which makes bounds of the result.

    The product of a query q and a vector v, coded as q' and v', is q'v' + (q - q')v' + q(v - v'), and q has length 1.
    """
    numbers, (scale,), (error,) = query
    scales, errors = arrays["scales"], arrays["errors"]

    def compare(rows: slice | Rows) -> Finish:
        (products,) = _compared(numbers, codes[rows], "inner", "int8")
        return lambda: products * scales[rows] * scale + errors[rows] * (1 + error) + (error + ROUNDING)

    return compare


def _comparing_signs(query: Floats, arrays: Mapping[str, NDArray[Any]]) -> Compare:
    """Like ``_comparing_codes``, for signs. Each bound holds with a high probability.

    A query's number is coded as -3, -1, 1 or 3 times a step, which is twice a sign and another sign. A product of signs is
    how many are alike, less how many differ.
    """
    mean, bits, scales, errors, offsets = (
        arrays[f"sign_{name}"] for name in ("mean", "bits", "scales", "errors", "offsets")
    )
    (turned,) = rotated(query[None])
    centred = turned - mean
    square = float(centred @ centred) or 1.0
    positive, large = centred > 0, np.abs(centred) > sqrt(square / len(mean))
    numbers = np.packbits([positive, large == positive], axis=1)
    levels = np.where(positive, 1, -1) * np.where(large, 3, 1)
    step = square / (float(levels @ centred) or 1.0)
    error = float(levels @ levels) * step**2 / square - 1
    slope = _SURE * sqrt(square * max(error / QUESTION_ERROR, 1))
    most, least = 3 * len(mean), float(turned @ mean) + ROUNDING

    def compare(rows: slice | Rows) -> Finish:
        first, second = _compared(numbers, bits[rows], "hamming", "bin8")
        return lambda: (
            (most - 4 * first - 2 * second) * (step * scales[rows]) + errors[rows] * slope + offsets[rows] + least
        )

    return compare


def _compared(queries: NDArray[Any], codes: NDArray[Any], metric: Any, kind: Any) -> Floats:
    """Compare each row with each code by the processor's own instructions."""
    from simsimd import cdist

    # Not with out=: simsimd 6.5 then returns None without adding a reference to it, and before Python 3.12 a process that
    # has lost its last reference to None is aborted.
    return np.asarray(cdist(queries, np.ascontiguousarray(codes), metric, dtype=kind, out_dtype="float32"))


def _blocks(compare: Compare, leaves: int, rows: Rows, most: float) -> Iterator[Block]:
    """Comparisons of about ``most`` rows of a segment each: the columns of their bounds, and a function."""
    is_sparse = len(rows) * _DENSE < leaves
    count = len(rows) if is_sparse else leaves
    blocks = 2 * round(count / (2 * most)) or 1  # an even number, or one
    starts = [*range(0, count, max(1, -(-count // blocks))), count]
    places = starts if count == len(rows) else np.searchsorted(rows, starts).tolist()

    def compared(block: slice, chosen: Rows) -> Finish:
        finish = compare(chosen if is_sparse else block)
        return finish if count == len(rows) else lambda: finish()[chosen - block.start]

    for block, (first, end) in zip(pairwise(starts), pairwise(places), strict=True):
        if first < end:
            yield slice(first, end), partial(compared, slice(*block), rows[first:end])
