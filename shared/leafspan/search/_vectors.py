"""Vector search: finds the leaves nearest to vectors, among all or some of the documents.

In a folder, an exact search compares a copy of all vectors with the query: a million vectors of 256 numbers in ten
milliseconds. Filters are evaluated on documents, so only leaves of matching documents are compared.

Behind a client, reading vectors is slow, so the engine searches:

- If all leaves match, its answer is the result.
- If many match, it is asked for more leaves than are wanted, and leaves that do not match are left out (over-fetching). If
  too few remain to be sure of the nearest, an exact search of the matching leaves follows.
- If few match, the engine compares only these, if it can; otherwise their vectors are fetched for an exact search.

Most engines search a graph that links each leaf to some of its nearest leaves. Many equal vectors may only be linked to
each other, so a search does not find all of them. If a result looks like that, the exact search follows, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from leafspan.embedding import normalize
from leafspan.engines import MOST_RESULTS, StaleRead
from leafspan.filters import Where
from leafspan.flows import Call, Flow, NDArray, np
from leafspan.search._scanning import Scan, cosines, rank, scan, vectors_of
from leafspan.segments import Mirror, MirrorSnapshot
from leafspan.store import Catalogue, Nearest, Reader, Selection
from leafspan.values import Hit, LeafId

Rows: TypeAlias = "NDArray[np.intp]"

_FEW_FETCHED = 200  # number of leaves whose vectors a server sends as fast as it searches
_LINKS = 32  # links of a leaf in such a graph. Of 100 equal vectors, a search finds all; of 200, it misses some
_MIN_SHARE = 0.05  # share of matching leaves from which over-fetching is faster than any exact search
_SAME = 1e-6  # largest difference between the scores of equal vectors, which engines round
_MORE = 2.5  # over-fetching asks for this many times what it would need if matching leaves were spread evenly
_MOST_AMONG = 20_000  # largest number of leaves to send to an engine to search among: half a megabyte of ids
_MIN_CACHED = 500  # number of leaves from which their rows are cached
_CACHE_SIZE = 16
_CACHE: WeakKeyDictionary[MirrorSnapshot, dict[tuple[Catalogue, tuple[LeafId, ...]], Rows]] = WeakKeyDictionary()


def nearest_leaves(
    reader: Reader,
    copy: Mirror | None,
    vectors: Any,
    count: int,
    where: Where | None,
    *,
    most: int | None = None,
    complete: bool = False,
    exact: bool = False,
) -> Flow[list[list[Hit]]]:
    """The leaves nearest to each vector, among the visible documents that match a filter, best first.

    Scores are cosine similarities. Ties are ordered by document, then position.
    """
    if copy is None and not exact and where is None and reader.scope is None:
        nearest = yield from reader.search_hits(vectors, count)
        if not (yield from misses_some(reader, nearest, count, complete=complete)):
            return nearest.rows
        exact = True
    everything = yield from reader.everything()
    visible = yield from reader.whole_catalogue(where)
    chosen = visible.select(where)
    if not chosen.leaves:
        return [[] for _ in vectors]
    needed = count if most is None else min(count, most)
    if copy is not None:
        snapshot = yield from copy.current(reader)
        return (yield Call(scan, (snapshot, visible, chosen, vectors, needed), computes=True))  # type: ignore[no-any-return]
    share = chosen.leaves / everything.leaves
    if reader.searches_among and share < 1 and chosen.leaves <= _MOST_AMONG:
        rows = [row for row in visible.rows.values() if visible.stored_id(row.document_id) in chosen.ids]
        ids = [id_ for row in rows for id_ in row.record_ids]
        hits = yield from _overfetch(reader, vectors, count + 1, count, chosen, ids)
        return [row[:count] for row in hits]
    if not exact and (share == 1 or (share >= _MIN_SHARE and chosen.leaves > _FEW_FETCHED)):
        limit = math.ceil(count / share * (_MORE if share < 1 else 1)) + 1
        hits = yield from _overfetch(reader, vectors, limit, count, chosen)
        if all(_is_complete(row, count, chosen) and not (complete and _are_equal(row)) for row in hits):
            return [row[:count] for row in hits]
    leaves, stored = yield from _fetch_vectors(reader, visible, chosen)
    return (yield Call(rank, (leaves, stored, vectors, needed), computes=True))  # type: ignore[no-any-return]


def misses_some(reader: Reader, nearest: Nearest[Any], count: int, *, complete: bool) -> Flow[bool]:
    """Whether the engine's graph may have missed some of the nearest leaves, because many vectors are equal."""
    if complete and any(map(_are_equal, nearest.rows)):
        return True
    # An isolated part of the graph has more leaves than a leaf has links, so a search in it finds more than that.
    short = [row for row, all_ in zip(*nearest, strict=True) if all_ > _LINKS and len(row) < count]
    if not short:
        return False
    everything = yield from reader.everything()
    versions = {id_: version for id_, version, _ in everything.versions()}
    if any(versions.get(each.leaf.document_id) != each.leaf.version for row in short for each in row):
        raise StaleRead  # it was replaced before the catalogue was read, so the search may have missed leaves
    return bool(min(map(len, short)) < everything.leaves)


def _are_equal(row: Sequence[Hit]) -> bool:
    """Whether the number of equal scores is so high that the search may have missed more of them."""
    return any(abs(one.score - other.score) < _SAME for one, other in zip(row, row[_LINKS:], strict=False))


def begin_scan(reader: Reader, copy: Mirror | None, vectors: Any, count: int, where: Where | None) -> Flow[Scan | None]:
    """Start a search like ``nearest_leaves``. Return None if there is no copy of the vectors."""
    if copy is None or not len(vectors):
        return None
    visible = yield from reader.whole_catalogue(where)
    chosen = visible.select(where)
    if not chosen.leaves:
        return None
    snapshot = yield from copy.current(reader)
    return (yield Call(partial(Scan, ahead=True), (snapshot, visible, chosen, vectors, count), computes=True))  # type: ignore[no-any-return]


def similarities(reader: Reader, copy: Mirror | None, vectors: Any, ids: Sequence[LeafId]) -> Flow[NDArray[np.float64]]:
    """The cosine similarities of leaves to vectors."""
    stored = (yield from leaf_vectors(reader, copy, ids)) if ids else ()
    return (yield Call(_cosines_of, (stored, vectors), computes=True))  # type: ignore[no-any-return]


def leaf_vectors(reader: Reader, copy: Mirror | None, ids: Sequence[LeafId]) -> Flow[NDArray[np.float32]]:
    """The vectors of at least one leaf, a row for each."""
    if copy is None:
        names = list(map(str, ids))
        stored = yield from reader.fetch_vectors(names)
        return np.asarray([stored[name] for name in names], dtype=np.float32)
    visible = yield from reader.catalogue()
    snapshot = yield from copy.current(reader)
    read = Call(lambda: vectors_of(snapshot, _rows(snapshot, visible, tuple(ids))), computes=True)
    return (yield read)  # type: ignore[no-any-return]


def _rows(snapshot: MirrorSnapshot, visible: Catalogue, ids: tuple[LeafId, ...]) -> NDArray[np.intp]:
    """The rows of leaves. Long lists are cached, since strategies often compare the same leaves."""
    cache = _CACHE.setdefault(snapshot, {}) if len(ids) >= _MIN_CACHED else {}
    if (rows := cache.get((visible, ids))) is None:
        rows = np.asarray(snapshot.rows(visible, ids), dtype=np.intp)
        if len(cache) >= _CACHE_SIZE:
            cache.clear()
        cache[visible, ids] = rows
    return rows


def _cosines_of(stored: Any, vectors: Any) -> NDArray[np.float64]:
    queries = normalize(np.asarray(vectors, dtype=np.float32))
    matrix = normalize(np.asarray(stored, dtype=np.float32).reshape(-1, queries.shape[1]))
    return np.array([cosines(matrix, query) for query in queries]).reshape(len(queries), len(matrix))


def _overfetch(
    reader: Reader, vectors: Any, limit: int, count: int, chosen: Selection, among: Sequence[str] | None = None
) -> Flow[list[list[Hit]]]:
    """The engine's nearest leaves of a selection, best first. More are asked for until the best ``count`` are sure."""
    while True:
        rows = yield from reader.nearest(vectors, min(limit, MOST_RESULTS), chosen, among=among)
        if limit >= MOST_RESULTS or all(_is_complete(row, count, chosen) for row in rows):
            return rows
        limit *= 4


def _is_complete(row: Sequence[Hit], count: int, chosen: Selection) -> bool:
    """Whether these leaves are sure to contain the ``count`` best leaves of the selection.

    They are if they are the whole selection, or if the last leaf scores lower than the leaf at place ``count``: then no
    leaf with the same score as that one is missing.
    """
    return len(row) >= chosen.leaves or (len(row) > count and row[-1].score < row[count - 1].score)


def _fetch_vectors(reader: Reader, visible: Catalogue, chosen: Selection) -> Flow[tuple[list[LeafId], Any]]:
    """The leaves of a selection, and a matrix of their vectors."""
    rows = [row for row in visible.rows.values() if visible.stored_id(row.document_id) in chosen.ids]
    ids = [id_ for row in rows for id_ in row.record_ids]
    vectors = yield from reader.fetch_vectors(ids)
    leaves = [leaf for row in rows for leaf in row.leaf_ids]
    return leaves, np.asarray([vectors[id_] for id_ in ids], dtype=np.float32)
