"""Upper bounds of cosines, computed from 8-bit codes whose errors are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from leafspan.flows import on_other_core
from leafspan.segments import Codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Part = tuple[Mapping[str, NDArray[Any]], NDArray[np.intp]]
    Finish = Callable[[], NDArray[np.float32]]
    Block = tuple[slice, Callable[[], Finish]]

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
