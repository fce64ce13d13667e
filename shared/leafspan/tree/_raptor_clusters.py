"""The clusterer of the RAPTOR paper (Sarthi et al., ICLR 2024, section 3): Gaussian mixtures over UMAP."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isqrt
from typing import TYPE_CHECKING, Any

from leafspan.checks import check_number, check_whole
from leafspan.errors import MissingExtra
from leafspan.tree._bisecting import Bisecting
from leafspan.tree._clusters import check_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOCAL_NEIGHBOURS = 10
_PROGRESS = 0.75  # clustered again is what has at most this share of the places that were clustered


@dataclass(frozen=True, slots=True, kw_only=True)
class RaptorClusters:
    """Clusters as the paper makes them, and its official code, whose faults are corrected; ``Bisecting`` is far faster.

    The vectors are brought to at most ``dimension`` dimensions by UMAP (cosine; the neighbours are the square root of the
    places), then divided by the Gaussian mixture with the least Bayesian information criterion among those of fewer
    than ``most_components``, and so is each of the parts once more (10 neighbours). A place is in every part that it
    belongs to with a probability above ``threshold``, so it may be in several clusters.

    A cluster over the limit is clustered again; one that hardly gets smaller by that, or has at most ``dimension`` + 1
    places, is divided by ``Bisecting``. So is everything, should there be no fewer clusters than places. Where there
    are at most ``dimension`` + 1 places in all, they are one cluster, if they fit together.

    Equal for equal rows and ``seed``, on one machine; clusters are as ``check_clusters`` leaves them. Needs the extra
    ``umap``.

    Raises:
        InvalidArgument: if ``dimension`` or ``most_components`` is below 2, ``seed`` below 0, or ``threshold`` not in
            [0, 1).
    """

    dimension: int = 10
    most_components: int = 50
    threshold: float = 0.1
    seed: int = 224

    def __post_init__(self) -> None:
        for name, least in (("dimension", 2), ("most_components", 2), ("seed", 0)):
            check_whole(name, getattr(self, name), least)
        check_number("threshold", self.threshold, at_least=0, below=1)

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_words: int) -> list[list[int]]:
        """Clusters of rows, as a ``Clusterer`` gives them.

        Raises:
            MissingExtra: if umap-learn is not installed.
        """
        import numpy as np

        if find_spec("umap") is None:
            raise MissingExtra('umap-learn is not installed: pip install "leafspan[umap]"')
        done: list[list[int]] = []
        waiting = [np.arange(len(vectors))] if len(vectors) else []
        few = self.dimension + 1
        while waiting:
            rows = waiting.pop()
            if _fits(rows, sizes, max_words) and (len(rows) < len(vectors) or len(rows) <= few):
                done.append(rows.tolist())
                continue
            parts = self._parts(vectors[rows]) if len(rows) > few else []
            for part in (rows[part] for part in parts):
                if _fits(part, sizes, max_words):
                    done.append(part.tolist())
                elif len(part) <= _PROGRESS * len(rows):
                    waiting.append(part)
                else:
                    done += self._bisected(vectors, part, sizes, max_words)
            if not parts:
                done += self._bisected(vectors, rows, sizes, max_words)
        clusters = check_clusters(done, sizes, max_words)
        if len(clusters) < len(vectors):
            return clusters
        return self._bisected(vectors, np.arange(len(vectors)), sizes, max_words)

    def _bisected(
        self, vectors: NDArray[np.float32], rows: NDArray[np.intp], sizes: Sequence[int], max_words: int
    ) -> list[list[int]]:
        divide = Bisecting(seed=self.seed)
        return [rows[found].tolist() for found in divide(vectors[rows], [sizes[row] for row in rows], max_words)]

    def _parts(self, vectors: NDArray[np.float32]) -> list[NDArray[np.intp]]:
        """The rows divided, then each part divided."""
        found = []
        for part in self._mixture(self._reduced(vectors, isqrt(len(vectors) - 1))):
            if len(part) <= self.dimension + 1:
                found.append(part)
            else:
                found += [part[rows] for rows in self._mixture(self._reduced(vectors[part], _LOCAL_NEIGHBOURS))]
        return found

    def _reduced(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        import numpy as np

        with warnings.catch_warnings():
            # That TensorFlow is not there, a graph is not connected, eigenvectors were not found: UMAP helps itself.
            warnings.simplefilter("ignore")
            from umap import UMAP

            mapped = UMAP(
                n_neighbors=max(2, min(neighbours, len(vectors) - 1)),
                n_components=min(self.dimension, len(vectors) - 2),
                metric="cosine",
                random_state=self.seed,
                n_jobs=1,  # a seed rules out more
            ).fit_transform(vectors)
        # What is near to nothing has no place on the map: it counts as standing at its origin.
        return np.nan_to_num(np.asarray(mapped, dtype=np.float64))

    def _mixture(self, points: NDArray[np.float64]) -> list[NDArray[np.intp]]:
        """The rows of each component of the mixture with the least criterion; of equal ones that of fewer components."""
        import numpy as np
        from sklearn.mixture import GaussianMixture

        best: Any = None
        least = np.inf
        distinct = len(np.unique(points, axis=0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of mixtures that are still moving: they count as they are
            for components in range(1, min(self.most_components, len(points), distinct + 1)):
                mixture = GaussianMixture(components, random_state=self.seed).fit(points)
                criterion = mixture.bic(points)
                if criterion < least:
                    best, least = mixture, criterion
        probabilities = best.predict_proba(points)
        # The likeliest component counts even where there are so many that none is above the threshold.
        chosen = probabilities > self.threshold
        chosen[np.arange(len(points)), probabilities.argmax(axis=1)] = True
        return [np.flatnonzero(column) for column in chosen.T if column.any()]


def _fits(rows: NDArray[np.intp], sizes: Sequence[int], max_words: int) -> bool:
    return len(rows) == 1 or sum(sizes[row] for row in rows) <= max_words
