"""Ward's method within limits: merges the most similar clusters that fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PENALTY = 1e9  # larger than any distance: added if a merged cluster would have too many members


def ward_clusters(
    vectors: NDArray[np.float32], words: NDArray[np.int64], *, mean: int, most: int, max_cluster_words: int
) -> list[list[int]]:
    """Clusters of similar rows. Each row is in exactly one cluster.

    Of all pairs of clusters that fit together, the pair that adds least to the sum of squared distances from centroids is
    merged, until the number of clusters is small enough. Then rows that are still alone are merged too, if some cluster has
    room for their words, even if it gets too many members.

    Time and memory grow with the square of the number of rows.
    """
    import numpy as np

    rows = len(vectors)
    if not rows:
        return []
    members = {row: [row] for row in range(rows)}
    enough = _enough(words, mean, most, max_cluster_words)
    count, size = np.ones(rows), words.astype(np.float64)
    distances = _squared_distances(vectors)
    distances[size[:, None] + size > max_cluster_words] = np.inf
    # A lower bound of each cluster's distance to the nearest other cluster. It stays a lower bound, since merging the
    # nearest pair makes no distance smaller. (If limits kept the nearest pair apart, a merge can make one smaller; then
    # some pair is merged a little too late.)
    nearest = distances.min(axis=1)
    while True:
        # Once the number of clusters is small enough, only single rows are merged.
        bounds = nearest if len(members) > enough else np.where(count == 1, nearest, np.inf)
        first = int(bounds.argmin())
        if bounds[first] == np.inf:
            break
        if bounds[first] >= _PENALTY and len(members) > enough:
            enough = len(members)
            continue
        to_others = distances[first] + np.where(count + count[first] > most, _PENALTY, 0)
        second = int(to_others.argmin())
        if to_others[second] > nearest[first]:
            nearest[first] = to_others[second]
            continue
        merged = _merged_distances(distances, count, first, second)
        count[first] += count[second]
        size[first] += size[second]
        merged[size + size[first] > max_cluster_words] = np.inf
        merged[[first, second]] = np.inf
        distances[first] = distances[:, first] = merged
        distances[second] = distances[:, second] = np.inf
        nearest[second] = np.inf
        members[first] += members.pop(second)
    return sorted(sorted(rows) for rows in members.values())


def _squared_distances(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The squared distances between rows; infinite on the diagonal."""
    import numpy as np

    squares = np.einsum("ij,ij->i", vectors, vectors)
    products = vectors @ vectors.T
    distances: NDArray[np.float64] = np.maximum(squares[:, None] + squares - 2 * products, 0).astype(np.float64)
    np.fill_diagonal(distances, np.inf)
    return distances


def _merged_distances(
    distances: NDArray[np.float64], count: NDArray[np.float64], first: int, second: int
) -> NDArray[np.float64]:
    """The distances of all clusters from the merger of two clusters."""
    merged: NDArray[np.float64] = (count[first] + count) * distances[first] + (count[second] + count) * distances[second]
    # A cluster that is too long for one of the two is too long for both: infinity stays infinite.
    merged -= count * distances[first, second]
    merged /= count[first] + count[second] + count
    return merged


def _enough(words: NDArray[np.int64], mean: int, most: int, max_cluster_words: int) -> int:
    """The number of clusters to aim for.

    With this number, clusters have ``mean`` members on average, and their length is as far below ``max_cluster_words`` as
    ``mean`` is below ``most``.
    """
    by_members = len(words) / mean
    by_words = float(words.clip(max=max_cluster_words).sum()) / max_cluster_words * most / mean
    return max(1, round(max(by_members, by_words)))
