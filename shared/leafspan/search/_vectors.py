"""Vector search: finding the leaves nearest to vectors, among all or some of the documents.

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

from leafspan.embedding import normalize
from leafspan.engine import Call, Flow
from leafspan.filters import Where
from leafspan.mirror import Mirror, MirrorSnapshot
from leafspan.store import MOST_RESULTS, Catalogue, Reader, Selection
from leafspan.values import Hit, LeafId

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
_ROWS: WeakKeyDictionary[MirrorSnapshot, dict[tuple[Catalogue, tuple[str, ...]], NDArray[np.intp]]] = WeakKeyDictionary()
_NOISE = 1e-5  # what rounding may add to a cosine in numbers of 32 bits, and more


def nearest_leaves(
    reader: Reader, copy: Mirror | None, vectors: Any, count: int, where: Where | None
) -> Flow[list[list[Hit]]]:
    """The ``count`` nearest leaves to each vector, among the documents that match, best first.

    Raises:
        Gone: if something that was just seen has been replaced.
    """
    if where is None and reader.scope is None:
        return (yield from reader.search_hits(vectors, count))
    everything = yield from reader.everything()
    visible = yield from reader.catalogue()
    chosen = visible.select(where)
    if not chosen.leaves:
        return [[] for _ in vectors]
    share = chosen.leaves / everything.leaves
    if share == 1 or (share >= _MANY and chosen.leaves > (_FEW_FETCHED if copy is None else _FEW)):
        rows = yield from _overfetch(reader, vectors, count, chosen, share=share, most=MOST_RESULTS if copy is None else 0)
        if all(_is_complete(row, count, chosen) for row in rows):
            return [row[:count] for row in rows]
    if copy is not None:
        snapshot = yield from copy.current(reader)
        return (yield Call(_scan, (snapshot, visible, chosen, vectors, count)))  # type: ignore[no-any-return]
    ids, stored = yield from _vectors_of(reader, visible, chosen)
    return (yield Call(_rank, (ids, stored, vectors, count)))  # type: ignore[no-any-return]


def similarities(reader: Reader, copy: Mirror | None, vectors: Any, ids: Sequence[str]) -> Flow[NDArray[np.float64]]:
    """The cosines of these leaves, in the order of their ids, with each vector: shape (vectors, ids).

    Raises:
        Gone: if one of them has been replaced.
    """
    if copy is None:
        stored = yield from reader.fetch_vectors(ids)
        return (yield Call(_cosines_of, ([stored[id_] for id_ in ids], vectors)))  # type: ignore[no-any-return]
    visible = yield from reader.catalogue()
    snapshot = yield from copy.current(reader)
    return (yield Call(_cosines_in, (snapshot, visible, vectors, ids)))  # type: ignore[no-any-return]


def _cosines_in(snapshot: MirrorSnapshot, visible: Catalogue, vectors: Any, ids: Sequence[str]) -> NDArray[np.float64]:
    import numpy as np

    rows = _rows(snapshot, visible, tuple(ids))
    order = np.argsort(rows, kind="stable")
    stored = np.empty((len(rows), np.shape(vectors)[-1]), dtype=np.float32)
    if len(rows):
        stored[order] = np.concatenate(list(_matrices(snapshot, rows[order])))
    return _cosines_of(stored, vectors)


def _rows(snapshot: MirrorSnapshot, visible: Catalogue, ids: tuple[str, ...]) -> NDArray[np.intp]:
    """The rows of leaves in the copy. Where they are many, they are what a visible begins with, and are asked for again."""
    import numpy as np

    known = _ROWS.setdefault(snapshot, {}) if len(ids) >= _WORTH_KEEPING else {}
    if (rows := known.get((visible, ids))) is None:
        leaves = map(LeafId.parse, ids)
        places = [(visible.stored_id(leaf.document_id) or "", leaf.ordinal) for leaf in leaves]
        rows = np.asarray(snapshot.rows(places), dtype=np.intp)
        if len(known) >= _KEPT:
            known.clear()
        known[visible, ids] = rows
    return rows


def _cosines_of(stored: Any, vectors: Any) -> NDArray[np.float64]:
    import numpy as np

    wanted = normalize(np.asarray(vectors, dtype=np.float32))
    matrix = normalize(np.asarray(stored, dtype=np.float32).reshape(-1, wanted.shape[1])).astype(np.float64)
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


def _vectors_of(reader: Reader, visible: Catalogue, chosen: Selection) -> Flow[tuple[list[LeafId], Any]]:
    import numpy as np

    rows = [row for row in visible.rows.values() if visible.stored_id(row.document_id) in chosen.ids]
    vectors = yield from reader.fetch_vectors([id_ for row in rows for id_ in row.leaf_ids])
    leaves = [LeafId(row.document_id, row.version or "", ordinal) for row in rows for ordinal in range(row.leaves)]
    return leaves, np.asarray([vectors[str(leaf)] for leaf in leaves], dtype=np.float32)


def _rank(leaves: Sequence[LeafId], stored: NDArray[np.float32], vectors: Any, count: int) -> list[list[Hit]]:
    import numpy as np

    stored, wanted = normalize(stored), normalize(np.asarray(vectors, dtype=np.float32))
    columns = zip((stored @ wanted.T).T, wanted, strict=True)
    return [_best(column, stored.__getitem__, vector, leaves.__getitem__, count) for column, vector in columns]


def _scan(snapshot: MirrorSnapshot, visible: Catalogue, chosen: Selection, vectors: Any, count: int) -> list[list[Hit]]:
    """The nearest by the copy; only rows of the selection are looked at."""
    import numpy as np

    rows = np.flatnonzero(snapshot.mask(chosen))
    wanted = normalize(np.asarray(vectors, dtype=np.float32))
    scores = np.empty((len(rows), len(wanted)), dtype=np.float32)
    # All at once they would be copied into fresh memory, which takes ten times as long as to multiply them.
    for start in range(0, len(rows), _BLOCK):
        done = start
        for matrix in _matrices(snapshot, rows[start : start + _BLOCK]):
            np.matmul(matrix, wanted.T, out=scores[done : done + len(matrix)])
            done += len(matrix)

    def leaf_at(place: int) -> LeafId:
        leaf = snapshot.leaf(int(rows[place]))
        return leaf._replace(document_id=visible.shown_id(leaf.document_id) or "")

    def stored(at: NDArray[np.intp]) -> NDArray[np.float32]:
        return np.concatenate(list(_matrices(snapshot, rows[at])))  # some, since a selection is not empty

    return [_best(column, stored, vector, leaf_at, count) for column, vector in zip(scores.T, wanted, strict=True)]


def _matrices(snapshot: MirrorSnapshot, rows: NDArray[np.intp]) -> Iterator[NDArray[np.float32]]:
    """The vectors of these rows, in ascending order, a matrix for each part of the copy that has some."""
    import numpy as np

    first = begin = 0
    for arrays, _ in snapshot.parts:
        matrix = arrays["vectors"]
        last = int(np.searchsorted(rows, begin + len(matrix)))
        if last > first:
            yield matrix[rows[first:last] - begin]
        first, begin = last, begin + len(matrix)


def _best(scores: NDArray[np.float32], stored: Any, vector: NDArray[np.float32], leaf_at: Any, count: int) -> list[Hit]:
    """The best, those that tie at the last place by document and position."""
    import numpy as np

    at = np.arange(len(scores))
    if len(scores) > count:
        at = np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count] - _NOISE)
    # What a product of matrices makes of a vector depends on the row it is in. These few are computed one like the other,
    # so that equal leaves tie, and no score depends on what else there is.
    cosines = (stored(at).astype(np.float64) * vector).sum(axis=1)
    hits = [Hit(leaf_at(int(each)), max(-1.0, min(1.0, float(cosine)))) for each, cosine in zip(at, cosines, strict=True)]
    return sorted(hits, key=lambda hit: hit.order)[:count]
