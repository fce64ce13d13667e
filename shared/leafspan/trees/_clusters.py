"""The protocol of clusterers, and the check of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Protocol

from leafspan.checks import shown
from leafspan.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clusterer(Protocol):
    """Groups texts that are alike. A function with these three parameters is a clusterer, too."""

    def __call__(
        self, vectors: NDArray[np.float32], sizes: Sequence[int], max_cluster_words: int, /
    ) -> Sequence[Sequence[int]]:
        """Clusters of similar texts. Each is summarised, but a text alone in its cluster stays for the next layer."""
        ...


def check_clusters(clusters: Sequence[Sequence[int]], sizes: Sequence[int], max_cluster_words: int) -> list[list[int]]:
    """Check clusters, and return them sorted, without repetitions.

    A cluster has places of texts. The places of each cluster are sorted, each once. The clusters are sorted by their
    places. Empty clusters are left out, and so are clusters whose places are all in another cluster.

    Raises:
        InvalidArgument: if a place is not a whole number >= 0 and below the number of sizes, if a place is in no cluster,
            or if a cluster of more than one text has more than ``max_cluster_words``.
    """
    chosen = sorted({tuple(sorted({_place(place, len(sizes)) for place in cluster})) for cluster in clusters} - {()})
    missing = set(range(len(sizes))).difference(*chosen)
    if missing:
        raise InvalidArgument(f"every place must be in a cluster, got none for {min(missing)}")
    for cluster in chosen:
        words = sum(sizes[place] for place in cluster)
        if len(cluster) > 1 and words > max_cluster_words:
            raise InvalidArgument(
                f"a cluster of more than one must have at most {max_cluster_words} words, got {words} in {list(cluster)}"
            )
    return [list(cluster) for cluster in _largest(chosen)]


def _largest(clusters: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The clusters that no other cluster contains."""
    clusters_with: dict[int, set[int]] = {}
    for number, cluster in enumerate(clusters):
        for place in cluster:
            clusters_with.setdefault(place, set()).add(number)
    # All clusters differ. So if only one cluster has all places of a cluster, no other contains it.
    return [cluster for cluster in clusters if len(set.intersection(*(clusters_with[place] for place in cluster))) == 1]


def _place(place: object, count: int) -> int:
    """The checked place as an int; a clusterer may return numpy's numbers."""
    try:
        number = index(place)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(place, bool) or not 0 <= number < count:
        raise InvalidArgument(f"a place must be a whole number >= 0 and below {count}, got {shown(place)}")
    return number
