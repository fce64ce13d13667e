"""Clusters of similar texts: the protocol of clusterers, leafspan's clusterer, and a check of the clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from operator import index
from typing import Protocol

from leafspan.checks import keep_whole, shown
from leafspan.embedding import normalize
from leafspan.errors import InvalidArgument
from leafspan.flows import NDArray, np


class Clusterer(Protocol):
    """Groups texts that are alike. A function with these three parameters is a clusterer, too."""

    def __call__(
        self, vectors: NDArray[np.float32], sizes: Sequence[int], max_cluster_words: int, /
    ) -> Sequence[Sequence[int]]:
        """Clusters of similar texts. Each is summarised, but a text alone in its cluster stays for the next layer."""


def check_clusters(clusters: Sequence[Sequence[int]], sizes: Sequence[int], max_cluster_words: int) -> list[list[int]]:
    """Check clusters of places, and return them and their places sorted, without empty and contained clusters.

    Every place must be in a cluster, and a cluster of more than one text must have at most ``max_cluster_words``.
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
    clusters_with: dict[int, set[int]] = {}
    for number, cluster in enumerate(chosen):
        for place in cluster:
            clusters_with.setdefault(place, set()).add(number)
    # All clusters differ. So if only one cluster has all places of a cluster, no other contains it.
    return [list(each) for each in chosen if len(set.intersection(*(clusters_with[place] for place in each))) == 1]


def _place(place: object, count: int) -> int:
    """The checked place as an int; a clusterer may return numpy's numbers."""
    try:
        number = index(place)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(place, bool) or not 0 <= number < count:
        raise InvalidArgument(f"a place must be a whole number >= 0 and below {count}, got {shown(place)}")
    return number


_ROUNDS = 10  # most rounds of k-means, which mostly converges earlier
_MIN_SHARE = 0.125  # least share of the smaller half: no cut splits off one outlier, and the depth of cuts is logarithmic


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisecting:
    """Clusters of about ``size`` texts that are alike.

    Spherical k-means cuts the texts in two, and each part again, until no piece has more than ``largest_piece`` texts. So
    time grows as n log n. Ward's method clusters each piece, and merges only what fits together.

    A cluster rarely has more than one and a half times ``size`` texts. If two texts together are short enough for one
    cluster, there are fewer clusters than texts. A text stays alone only if it would make every other cluster of its piece
    too long.

    Args:
        size: Average number of texts of a cluster, >= 2. Default: 8.
        largest_piece: Most texts that Ward's method clusters at once, >= 2. Default: 1000.
        seed: Seed of k-means, >= 0. Default: 0.

    Raises:
        InvalidArgument: if an option is out of its range.

    The same vectors and ``seed`` give the same clusters. Clusters come in the order of their places. Sources: Steinbach et
    al., A Comparison of Document Clustering Techniques, KDD workshop 2000; Ward, Hierarchical Grouping to Optimize an
    Objective Function, 1963.
    """

    size: int = 8
    largest_piece: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("size", 2), ("largest_piece", 2), ("seed", 0)):
            keep_whole(self, name, least)

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_cluster_words: int) -> list[list[int]]:
        """Clusters of the texts, sorted by their places."""
        words = np.asarray(sizes, dtype=np.int64)
        most = self.size + self.size // 2
        clusters: list[list[int]] = []
        for piece in _pieces(vectors, self.largest_piece, self.seed):
            rows, lengths = vectors[piece], words[piece]
            of_piece = ward_clusters(rows, lengths, mean=self.size, most=most, max_cluster_words=max_cluster_words)
            clusters += [piece[cluster].tolist() for cluster in of_piece]
        if len(clusters) == len(sizes) > 1:
            # No piece has two texts that fit together. If any two texts fit, the two shortest texts do.
            first, second = sorted(np.argsort(words, kind="stable")[:2].tolist())
            if words[first] + words[second] <= max_cluster_words:
                clusters.append([first, second])
        return check_clusters(clusters, sizes, max_cluster_words)


def _pieces(vectors: NDArray[np.float32], largest: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Split the rows into pieces of at most ``largest`` similar rows."""
    random = np.random.default_rng(seed)
    waiting = [np.arange(len(vectors))]
    while waiting:
        piece = waiting.pop()
        if len(piece) <= largest:
            yield piece
        else:
            first, second = _halves(vectors[piece], int(random.integers(len(piece))))
            waiting += [piece[second], piece[first]]


def _halves(vectors: NDArray[np.float32], start: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split the rows into two parts, by spherical k-means.

    The first centroid is the row farthest from row ``start``. The second centroid is the row farthest from the first one.
    """
    smallest = ceil(_MIN_SHARE * len(vectors))
    one = vectors[(vectors @ vectors[start]).argmin()]
    other = vectors[(vectors @ one).argmin()]
    cut, order = 0, np.arange(0)
    for _ in range(_ROUNDS):
        nearer_to_one = vectors @ (one - other)
        order = np.argsort(-nearer_to_one, kind="stable")
        cut = min(max(int((nearer_to_one > 0).sum()), smallest), len(vectors) - smallest)
        centroids = normalize(np.stack([vectors[order[:cut]].mean(axis=0), vectors[order[cut:]].mean(axis=0)]))
        if np.array_equal(centroids, [one, other]):
            break
        one, other = centroids
    return np.sort(order[:cut]), np.sort(order[cut:])


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
    squares = np.einsum("ij,ij->i", vectors, vectors)
    products = vectors @ vectors.T
    distances: NDArray[np.float64] = np.maximum(squares[:, None] + squares - 2 * products, 0).astype(np.float64)
    np.fill_diagonal(distances, np.inf)
    return distances


def _merged_distances(
    distances: NDArray[np.float64], count: NDArray[np.float64], first: int, second: int
) -> NDArray[np.float64]:
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
