"""The default clusterer: Ward's method within limits, on pieces that bisecting k-means cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from leafspan.checks import check_number, check_whole
from leafspan.embedding import normalize
from leafspan.tree._clusters import check_clusters
from leafspan.tree._ward import ward_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROUNDS = 10  # of k-means; it mostly settles before
_SMALLER_PART = 0.125  # the least share of the smaller half: no outlier is cut off alone, and the depth stays logarithmic


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisecting:
    """Clusters of about ``size`` places that are alike, rarely of more than half as many again.

    Up to ``largest_piece`` places are clustered by Ward's method, merging only what fits together; more of them are first
    cut in two by spherical k-means (Steinbach et al., KDD workshop 2000), again and again. So time grows as n log n.

    With a ``margin`` > 0 membership is soft: a place is also in those other clusters of its piece to whose centroid its
    cosine is less than that much below the one to its own, the nearest first, while they have room. On real text this
    found no more, nor did the paper's mixtures put places into several clusters; so the default is 0.

    There are fewer clusters than places wherever two of them fit together. A place is alone only where it fits in with no
    other cluster of its piece. Equal for equal rows and ``seed``; clusters are as ``check_clusters`` leaves them.

    Raises:
        InvalidArgument: if ``size`` or ``largest_piece`` is below 2, or ``margin`` or ``seed`` below 0.
    """

    size: int = 8
    margin: float = 0.0
    largest_piece: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("size", 2), ("largest_piece", 2), ("seed", 0)):
            check_whole(name, getattr(self, name), least)
        check_number("margin", self.margin, at_least=0)

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_words: int) -> list[list[int]]:
        """Clusters of rows, as a ``Clusterer`` gives them."""
        import numpy as np

        words = np.asarray(sizes, dtype=np.int64)
        most = self.size + self.size // 2
        clusters: list[list[int]] = []
        for piece in _pieces(vectors, self.largest_piece, self.seed):
            rows, lengths = vectors[piece], words[piece]
            found = ward_clusters(rows, lengths, mean=self.size, most=most, max_words=max_words)
            found = _soft(found, rows, lengths, margin=self.margin, most=most, max_words=max_words)
            clusters += [piece[cluster].tolist() for cluster in found]
        if len(clusters) == len(sizes) > 1:
            # No two fit together within a piece. The two shortest of all do, if any do.
            first, second = sorted(np.argsort(words, kind="stable")[:2].tolist())
            if words[first] + words[second] <= max_words:
                clusters.append([first, second])
        return check_clusters(clusters, sizes, max_words)


def _pieces(vectors: NDArray[np.float32], largest: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """The rows in pieces of at most ``largest`` that are alike."""
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
    """The rows in two parts by spherical k-means, which begins with two rows that are far apart, as seen from ``start``."""
    import numpy as np

    least = ceil(_SMALLER_PART * len(vectors))
    one = vectors[(vectors @ vectors[start]).argmin()]
    other = vectors[(vectors @ one).argmin()]
    cut, order = 0, np.arange(0)
    for _ in range(_ROUNDS):
        nearer = vectors @ (one - other)
        order = np.argsort(-nearer, kind="stable")
        cut = min(max(int((nearer > 0).sum()), least), len(vectors) - least)
        centroids = normalize(np.stack([vectors[order[:cut]].mean(axis=0), vectors[order[cut:]].mean(axis=0)]))
        if np.array_equal(centroids, [one, other]):
            break
        one, other = centroids
    return np.sort(order[:cut]), np.sort(order[cut:])


def _soft(
    clusters: Sequence[Sequence[int]],
    vectors: NDArray[np.float32],
    words: NDArray[np.int64],
    *,
    margin: float,
    most: int,
    max_words: int,
) -> list[list[int]]:
    """The clusters with those rows more whose cosine to the centroid is within the margin, the nearest first."""
    import numpy as np

    grown = [list(cluster) for cluster in clusters]
    if not margin or len(clusters) < 2:
        return grown
    own = np.empty(len(vectors), dtype=np.intp)
    for place, cluster in enumerate(clusters):
        own[cluster] = place
    centroids = normalize(np.stack([vectors[cluster].mean(axis=0) for cluster in clusters]))
    cosines = vectors @ centroids.T
    to_own = cosines[np.arange(len(vectors)), own]
    gaps = to_own[:, None] - cosines
    gaps[np.arange(len(vectors)), own] = np.inf
    gaps[to_own <= 0] = np.inf  # no direction, so near to nothing
    rows, places = np.nonzero(gaps < margin)
    lengths = [int(words[cluster].sum()) for cluster in clusters]
    for i in np.argsort(gaps[rows, places], kind="stable"):
        row, place = int(rows[i]), int(places[i])
        if len(grown[place]) < most and lengths[place] + words[row] <= max_words:
            grown[place].append(row)
            lengths[place] += int(words[row])
    return [sorted(cluster) for cluster in grown]
