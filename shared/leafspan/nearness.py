"""Finding the leaves nearest to vectors among some of the documents.

Chroma's own filter is slow where much matches, and its meaning is not ours. So documents are decided here, and there are
three ways to the nearest of their leaves: where all match, Chroma's search as it is; where few do, a look at every one of
their vectors; where many do, Chroma's search for more than is wanted, leaving out the others, and a look at every one
where too few were among these to tell which are the nearest. For such a look an embedded index keeps a copy of all vectors
in a file that is mapped into memory; from a server those of the documents at hand are fetched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from leafspan.engine import Call, Flow
from leafspan.filters import Where
from leafspan.mirror import Mirror, Mirrored
from leafspan.store import Catalogue, Reader, Selection
from leafspan.store.collection import MOST_RESULTS
from leafspan.unit import unit
from leafspan.values import Hit, leaf_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 30_000  # leaves that are looked at in the copy within 5 ms; Chroma's search for hundreds is not exact, and no faster
_FEW_FETCHED = 200  # leaves whose vectors a server sends as fast as it searches
_MANY = 0.05  # share of the leaves, from which on asking Chroma for more is faster than looking at all, however many
_MORE = 2.5  # times as many as would do if those that match lay evenly among the nearest
_BLOCK = 512  # vectors that fit into a processor's cache
_WORTH_KEEPING = 500  # leaves whose rows are kept, to find them again
_KEPT = 16
_ROWS: WeakKeyDictionary[Mirrored, dict[tuple[Catalogue, tuple[str, ...]], NDArray[np.intp]]] = WeakKeyDictionary()
_NOISE = 1e-5  # what rounding may add to a cosine in numbers of 32 bits, and more


def nearest(reader: Reader, copy: Mirror | None, vectors: Any, count: int, where: Where | None) -> Flow[list[list[Hit]]]:
    """The ``count`` nearest leaves to each vector, among the documents that match, best first.

    Raises:
        Gone: if something that was just seen has been replaced.
    """
    if where is None and reader.scope is None:
        return (yield from reader.search_hits(vectors, count))
    everything = yield from reader.everything()
    view = yield from reader.catalogue()
    chosen = view.select(where)
    if not chosen.leaves:
        return [[] for _ in vectors]
    share = chosen.leaves / everything.leaves
    if share == 1 or (share >= _MANY and chosen.leaves > (_FEW_FETCHED if copy is None else _FEW)):
        rows = yield from _overfetch(reader, vectors, count, chosen, share=share, most=MOST_RESULTS if copy is None else 0)
        if all(_is_complete(row, count, chosen) for row in rows):
            return [row[:count] for row in rows]
    if copy is not None:
        mirrored = yield from copy.current(reader)
        return (yield Call(_scan, (mirrored, view, chosen, vectors, count)))  # type: ignore[no-any-return]
    ids, stored = yield from _vectors_of(reader, view, chosen)
    return (yield Call(_rank, (ids, stored, vectors, count)))  # type: ignore[no-any-return]


def similarities(reader: Reader, copy: Mirror | None, vectors: Any, ids: Sequence[str]) -> Flow[NDArray[np.float64]]:
    """The cosines of these leaves, in the order of their ids, with each vector: shape (vectors, ids).

    Raises:
        Gone: if one of them has been replaced.
    """
    if copy is None:
        stored = yield from reader.fetch_vectors(ids)
        return (yield Call(_cosines_of, ([stored[id_] for id_ in ids], vectors)))  # type: ignore[no-any-return]
    view = yield from reader.catalogue()
    mirrored = yield from copy.current(reader)
    return (yield Call(_cosines_in, (mirrored, view, vectors, ids)))  # type: ignore[no-any-return]


def _cosines_in(mirrored: Mirrored, view: Catalogue, vectors: Any, ids: Sequence[str]) -> NDArray[np.float64]:
    import numpy as np

    rows = _rows(mirrored, view, tuple(ids))
    order = np.argsort(rows, kind="stable")
    stored = np.empty((len(rows), np.shape(vectors)[-1]), dtype=np.float32)
    if len(rows):
        stored[order] = np.concatenate(list(_matrices(mirrored, rows[order])))
    return _cosines_of(stored, vectors)


def _rows(mirrored: Mirrored, view: Catalogue, ids: tuple[str, ...]) -> NDArray[np.intp]:
    """The rows of leaves in the copy. Where they are many, they are what a view begins with, and are asked for again."""
    import numpy as np

    known = _ROWS.setdefault(mirrored, {}) if len(ids) >= _WORTH_KEEPING else {}
    if (rows := known.get((view, ids))) is None:
        split = (id_.rsplit("#", 2) for id_ in ids)
        places = [(view.stored_id(document_id) or "", int(ordinal)) for document_id, _, ordinal in split]
        rows = np.asarray(mirrored.rows(places), dtype=np.intp)
        if len(known) >= _KEPT:
            known.clear()
        known[view, ids] = rows
    return rows


def _cosines_of(stored: Any, vectors: Any) -> NDArray[np.float64]:
    import numpy as np

    wanted = unit(np.asarray(vectors, dtype=np.float32))
    matrix = unit(np.asarray(stored, dtype=np.float32).reshape(-1, wanted.shape[1])).astype(np.float64)
    # Not as one product, of which what it makes of a vector depends on where it stands: equal ones are to tie.
    cosines = np.array([(matrix * vector).sum(axis=1) for vector in wanted]).reshape(len(wanted), len(matrix))
    return cosines.clip(-1.0, 1.0)


def _overfetch(
    reader: Reader, vectors: Any, count: int, chosen: Selection, *, share: float, most: int
) -> Flow[list[list[Hit]]]:
    """Those of the selection among more of the nearest, and more again, up to ``most``, while these do not do."""
    asked = min(MOST_RESULTS, math.ceil(count / share * (_MORE if share < 1 else 1)) + 1)
    while True:
        found = yield from reader.nearest(vectors, asked, chosen)
        if asked >= most or all(_is_complete(row, count, chosen) for row in found):
            return found
        asked = min(asked * 4, MOST_RESULTS)


def _is_complete(row: Sequence[Hit], count: int, chosen: Selection) -> bool:
    """Whether these are the best of the selection: all of it, or those that tie at the last place and one after them."""
    return len(row) >= chosen.leaves or (len(row) > count and row[-1].score < row[count - 1].score)


def _vectors_of(reader: Reader, view: Catalogue, chosen: Selection) -> Flow[tuple[list[tuple[str, str, int]], Any]]:
    import numpy as np

    places = [
        (row.document_id, row.version or "", ordinal)
        for row in view.rows.values()
        if view.stored_id(row.document_id) in chosen.ids
        for ordinal in range(row.leaves)
    ]
    vectors = yield from reader.fetch_vectors([leaf_id(*place) for place in places])
    return places, np.asarray([vectors[leaf_id(*place)] for place in places], dtype=np.float32)


def _rank(places: Sequence[tuple[str, str, int]], stored: NDArray[np.float32], vectors: Any, count: int) -> list[list[Hit]]:
    import numpy as np

    stored, wanted = unit(stored), unit(np.asarray(vectors, dtype=np.float32))
    columns = zip((stored @ wanted.T).T, wanted, strict=True)
    return [_best(column, stored.__getitem__, vector, places.__getitem__, count) for column, vector in columns]


def _scan(mirrored: Mirrored, view: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """The nearest by the copy; only rows of the selection are looked at."""
    import numpy as np

    rows = np.flatnonzero(mirrored.mask(chosen))
    wanted = unit(np.asarray(vectors, dtype=np.float32))
    scores = np.empty((len(rows), len(wanted)), dtype=np.float32)
    # All at once they would be copied into fresh memory, which takes ten times as long as to multiply them.
    for start in range(0, len(rows), _BLOCK):
        done = start
        for matrix in _matrices(mirrored, rows[start : start + _BLOCK]):
            np.matmul(matrix, wanted.T, out=scores[done : done + len(matrix)])
            done += len(matrix)

    def place(at: int) -> tuple[str, str, int]:
        document_id, version, ordinal = mirrored.leaf(int(rows[at]))
        return view.shown_id(document_id) or "", version, ordinal

    def stored(at: NDArray[np.intp]) -> NDArray[np.float32]:
        return np.concatenate(list(_matrices(mirrored, rows[at])))  # some, since a selection is not empty

    return [_best(column, stored, vector, place, count) for column, vector in zip(scores.T, wanted, strict=True)]


def _matrices(mirrored: Mirrored, rows: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
    """The vectors of these rows, in ascending order, a matrix for each part of the copy that has some."""
    import numpy as np

    first = begin = 0
    for arrays, _ in mirrored.parts:
        matrix = arrays["vectors"]
        last = int(np.searchsorted(rows, begin + len(matrix)))
        if last > first:
            yield matrix[rows[first:last] - begin]
        first, begin = last, begin + len(matrix)


def _best(scores: NDArray[np.float32], stored: Any, vector: NDArray[np.float32], place: Any, count: int) -> list[Hit]:
    """The best, those that tie at the last place by document and position."""
    import numpy as np

    at = np.arange(len(scores))
    if len(scores) > count:
        at = np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count] - _NOISE)
    # What a product of matrices makes of a vector depends on the row it is in. These few are computed one like the other,
    # so that equal leaves tie, and no score depends on what else there is.
    cosines = (stored(at).astype(np.float64) * vector).sum(axis=1)
    found: list[tuple[str, str, int]] = [place(int(each)) for each in at]
    hits = [Hit(*leaf, max(-1.0, min(1.0, float(cosine)))) for leaf, cosine in zip(found, cosines, strict=True)]
    return sorted(hits, key=lambda hit: hit.order)[:count]
