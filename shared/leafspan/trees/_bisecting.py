"""The default clusterer: bisecting k-means cuts the vectors into pieces, and Ward's method clusters each piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from leafspan.checks import check_number, keep_whole
from leafspan.embedding import normalize
from leafspan.trees._clusters import check_clusters
from leafspan.trees._ward import ward_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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

    With a ``margin``, a text can be in several clusters. On real texts, this found no more answers, so the default is 0.

    Args:
        size: Average number of texts of a cluster, >= 2. Default: 8.
        margin: Largest difference of cosines, >= 0. A text also joins another cluster of its piece if its cosine with that
            cluster's centroid is lower than the cosine with its own centroid by less than ``margin``. The nearest texts
            join first, while there is room. Default: 0, each text is in one cluster.
        largest_piece: Most texts that Ward's method clusters at once, >= 2. Default: 1000.
        seed: Seed of k-means, >= 0. Default: 0.

    Raises:
        InvalidArgument: if an option is out of its range.

    The same vectors and ``seed`` give the same clusters. Clusters come in the order of their places. Sources: Steinbach et
    al., A Comparison of Document Clustering Techniques, KDD workshop 2000; Ward, Hierarchical Grouping to Optimize an
    Objective Function, 1963.
    """

    size: int = 8
    margin: float = 0.0
    largest_piece: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("size", 2), ("largest_piece", 2), ("seed", 0)):
            keep_whole(self, name, least)
        check_number("margin", self.margin, at_least=0)

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_cluster_words: int) -> list[list[int]]:
        """See Clusterer."""
        import numpy as np

        words = np.asarray(sizes, dtype=np.int64)
        most = self.size + self.size // 2
        clusters: list[list[int]] = []
        for piece in _pieces(vectors, self.largest_piece, self.seed):
            rows, lengths = vectors[piece], words[piece]
            of_piece = ward_clusters(rows, lengths, mean=self.size, most=most, max_cluster_words=max_cluster_words)
            of_piece = _with_near_rows(
                of_piece, rows, lengths, margin=self.margin, most=most, max_cluster_words=max_cluster_words
            )
            clusters += [piece[cluster].tolist() for cluster in of_piece]
        if len(clusters) == len(sizes) > 1:
            # No piece has two texts that fit together. If any two texts fit, the two shortest texts do.
            first, second = sorted(np.argsort(words, kind="stable")[:2].tolist())
            if words[first] + words[second] <= max_cluster_words:
                clusters.append([first, second])
        return check_clusters(clusters, sizes, max_cluster_words)


def _pieces(vectors: NDArray[np.float32], largest: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Split the rows into pieces of at most ``largest`` similar rows."""
    import numpy as np

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
    import numpy as np

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


def _with_near_rows(
    clusters: Sequence[Sequence[int]],
    vectors: NDArray[np.float32],
    words: NDArray[np.int64],
    *,
    margin: float,
    most: int,
    max_cluster_words: int,
) -> list[list[int]]:
    """The clusters, extended by rows of other clusters that lie within the margin, nearest first."""
    import numpy as np

    grown = [list(cluster) for cluster in clusters]
    if not margin or len(clusters) < 2:
        return grown
    own = np.empty(len(vectors), dtype=np.intp)
    for number, cluster in enumerate(clusters):
        own[cluster] = number
    centroids = normalize(np.stack([vectors[cluster].mean(axis=0) for cluster in clusters]))
    cosines = vectors @ centroids.T
    to_own = cosines[np.arange(len(vectors)), own]
    gaps = to_own[:, None] - cosines
    gaps[np.arange(len(vectors)), own] = np.inf
    gaps[to_own <= 0] = np.inf  # a zero vector is near no cluster
    rows, numbers = np.nonzero(gaps < margin)
    lengths = [int(words[cluster].sum()) for cluster in clusters]
    for i in np.argsort(gaps[rows, numbers], kind="stable"):
        row, number = int(rows[i]), int(numbers[i])
        if len(grown[number]) < most and lengths[number] + words[row] <= max_cluster_words:
            grown[number].append(row)
            lengths[number] += int(words[row])
    return [sorted(cluster) for cluster in grown]
