"""Ward's method within limits: what is most alike is merged first, as long as it fits together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LAST_RESORT = 1e9  # above any distance: added for clusters that would have too many members


def ward_clusters(
    vectors: NDArray[np.float32], words: NDArray[np.int64], *, mean: int, most: int, max_words: int
) -> list[list[int]]:
    """Clusters of rows, each row in one, of about ``mean`` members, at most ``most``, and of at most ``max_words``.

    Two clusters are merged that fit together and whose merging adds least to the sum of squared distances from centroids
    (Ward 1963; distances are kept up to date as by Lance and Williams 1967), until there are few enough. A row that is then
    still alone, but would fit in somewhere by its words, is merged even where that makes too many members.

    Time and memory grow with the square of the rows. Of equal distances, the smaller rows come first.
    """
    import numpy as np

    rows = len(vectors)
    if not rows:
        return []
    members = {row: [row] for row in range(rows)}
    enough = _enough(words, mean, most, max_words)
    count, size = np.ones(rows), words.astype(np.float64)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    distances = np.maximum(squares[:, None] + squares - 2 * (vectors @ vectors.T), 0).astype(np.float64)
    distances[size[:, None] + size > max_words] = np.inf
    np.fill_diagonal(distances, np.inf)
    # How near the nearest is, at least: merging the nearest makes no distance smaller, so an old figure is a lower bound.
    # (It may make some smaller where limits kept the nearest apart; then these two are merged a little later.)
    nearest = distances.min(axis=1)
    while True:
        left = nearest if len(members) > enough else np.where(count == 1, nearest, np.inf)
        first = int(left.argmin())
        if left[first] == np.inf:
            break
        if left[first] >= _LAST_RESORT and len(members) > enough:
            enough = len(members)  # only rows alone are merged from here on
            continue
        now = distances[first] + np.where(count + count[first] > most, _LAST_RESORT, 0)
        second = int(now.argmin())
        if now[second] > nearest[first]:
            nearest[first] = now[second]
            continue
        joined = (count[first] + count) * distances[first] + (count[second] + count) * distances[second]
        # Where one of the two is too long to be merged with, so are both: infinite less something stays infinite.
        joined -= count * distances[first, second]
        joined /= count[first] + count[second] + count
        count[first] += count[second]
        size[first] += size[second]
        joined[size + size[first] > max_words] = np.inf
        joined[[first, second]] = np.inf
        distances[first] = distances[:, first] = joined
        distances[second] = distances[:, second] = np.inf
        nearest[second] = np.inf
        members[first] += members.pop(second)
    return sorted(sorted(rows) for rows in members.values())


def _enough(words: NDArray[np.int64], mean: int, most: int, max_words: int) -> int:
    """So many clusters that they are of ``mean`` members, and as far below the most words as that is below ``most``."""
    by_members = len(words) / mean
    by_words = float(words.clip(max=max_words).sum()) / max_words * most / mean
    return max(1, round(max(by_members, by_words)))
