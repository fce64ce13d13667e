"""What a clusterer is, and what its clusters must be."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Protocol

from leafspan.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clusterer(Protocol):
    """Groups what is alike; a function of these three arguments is one."""

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_words: int, /) -> Sequence[Sequence[int]]:
        """Clusters as lists of places, which are rows of ``vectors``.

        ``vectors``: shape (n, d), each of length 1, or 0 where a text has no direction. ``sizes``: n lengths in words.
        ``max_words``: the most words of a cluster, >= 1; only a cluster of one may be over it. A place may be in several
        clusters, and must be in one; a cluster of one waits for the next layer.
        """
        ...


def check_clusters(clusters: Sequence[Sequence[int]], sizes: Sequence[int], max_words: int) -> list[list[int]]:
    """The clusters that a clusterer gave for texts of these sizes in words, each in order and without repetition.

    Dropped are those that say nothing new: empty ones, and those whose places are all in another cluster, of equal ones all
    but the first. The rest comes by its smallest place, then the next, and so on.

    Raises:
        InvalidArgument: if a place is no whole number from 0 to below the number of sizes, or is in no cluster, or if a
            cluster of more than one is over ``max_words``.
    """
    chosen = sorted({tuple(sorted({_place(place, len(sizes)) for place in cluster})) for cluster in clusters} - {()})
    missing = set(range(len(sizes))).difference(*chosen)
    if missing:
        raise InvalidArgument(f"every place must be in a cluster, got none for {min(missing)}")
    for cluster in chosen:
        words = sum(sizes[place] for place in cluster)
        if len(cluster) > 1 and words > max_words:
            raise InvalidArgument(
                f"a cluster of more than one must have at most {max_words} words, got {words} in {list(cluster)}"
            )
    return [list(cluster) for cluster in _largest(chosen)]


def _largest(clusters: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those that are no part of another."""
    holders: dict[int, set[int]] = {}
    for i, cluster in enumerate(clusters):
        for place in cluster:
            holders.setdefault(place, set()).add(i)
    # They all differ, so where only one holds all places of a cluster, it is the cluster itself.
    return [cluster for cluster in clusters if len(set.intersection(*(holders[place] for place in cluster))) == 1]


def _place(place: object, count: int) -> int:
    try:
        found = index(place)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if isinstance(place, bool) or not 0 <= found < count:
        raise InvalidArgument(f"a place must be a whole number >= 0 and below {count}, got {place!r}")
    return found
