"""The clusterer of the RAPTOR paper (Sarthi et al., ICLR 2024, section 3): Gaussian mixtures on vectors reduced by UMAP."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isqrt
from typing import TYPE_CHECKING, Any

from leafspan.checks import check_number, keep_whole
from leafspan.errors import MissingExtra
from leafspan.trees import Bisecting, check_clusters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOCAL_NEIGHBOURS = 10  # of UMAP, when a part is divided again
_MAX_SHARE = 0.75  # a part with a larger share of its original rows is bisected instead of being clustered again


@dataclass(frozen=True, slots=True, kw_only=True)
class RaptorClusters:
    """Clusters as in the RAPTOR paper, without the faults of its official code. ``Bisecting`` is far faster.

    UMAP reduces the vectors to at most ``dimension`` dimensions (cosine distance; the number of neighbours is the square
    root of the number of texts). The reduced vectors are divided by a Gaussian mixture: the one with the lowest Bayesian
    information criterion among those with fewer than ``most_components``. Each part is reduced (10 neighbours) and divided
    once more. A text is in every part to which it belongs with a probability above ``threshold``, so it can be in several
    clusters.

    A part that is too long for a cluster is clustered again. ``Bisecting`` divides it instead if it has at most
    ``dimension`` + 1 texts, or more than three quarters of the texts that it was divided from. ``Bisecting`` also divides
    all texts if there would be as many clusters as texts. ``dimension`` + 1 texts or fewer are one cluster if they fit
    together.

    Args:
        dimension: Most dimensions after UMAP, >= 2. Default: 10.
        most_components: Number that the components of a mixture stay below, >= 2. Default: 50.
        threshold: Probability, in [0, 1), above which a text belongs to a component. Default: 0.1.
        seed: Seed of UMAP and of the mixtures, >= 0. Default: 224.

    Raises:
        InvalidArgument: if an option is out of its range.

    The same vectors and ``seed`` give the same clusters on the same machine. Clusters come in the order of their places.
    Needs the extra ``umap``. Source: Sarthi et al., RAPTOR, ICLR 2024, section 3.
    """

    dimension: int = 10
    most_components: int = 50
    threshold: float = 0.1
    seed: int = 224

    def __post_init__(self) -> None:
        for name, least in (("dimension", 2), ("most_components", 2), ("seed", 0)):
            keep_whole(self, name, least)
        check_number("threshold", self.threshold, at_least=0, below=1)

    def __call__(self, vectors: NDArray[np.float32], sizes: Sequence[int], max_cluster_words: int) -> list[list[int]]:
        """See Clusterer.

        Raises:
            MissingExtra: if umap-learn is not installed.
        """
        import numpy as np

        if find_spec("umap") is None:
            raise MissingExtra.of("umap-learn is not installed", "umap")
        clusters: list[list[int]] = []
        waiting = [np.arange(len(vectors))] if len(vectors) else []
        few = self.dimension + 1
        while waiting:
            rows = waiting.pop()
            if _fits(rows, sizes, max_cluster_words) and (len(rows) < len(vectors) or len(rows) <= few):
                clusters.append(rows.tolist())
                continue
            parts = self._parts(vectors[rows]) if len(rows) > few else []
            for part in (rows[part] for part in parts):
                if _fits(part, sizes, max_cluster_words):
                    clusters.append(part.tolist())
                elif len(part) <= _MAX_SHARE * len(rows):
                    waiting.append(part)
                else:
                    clusters += self._bisect(vectors, part, sizes, max_cluster_words)
            if not parts:
                clusters += self._bisect(vectors, rows, sizes, max_cluster_words)
        clusters = check_clusters(clusters, sizes, max_cluster_words)
        if len(clusters) < len(vectors):
            return clusters
        return self._bisect(vectors, np.arange(len(vectors)), sizes, max_cluster_words)

    def _bisect(
        self, vectors: NDArray[np.float32], rows: NDArray[np.intp], sizes: Sequence[int], max_cluster_words: int
    ) -> list[list[int]]:
        """Divide these rows by ``Bisecting``."""
        divide = Bisecting(seed=self.seed)
        clusters = divide(vectors[rows], [sizes[row] for row in rows], max_cluster_words)
        return [rows[cluster].tolist() for cluster in clusters]

    def _parts(self, vectors: NDArray[np.float32]) -> list[NDArray[np.intp]]:
        """Divide all rows into parts, and each part again."""
        parts = []
        for part in self._components(self._reduce(vectors, isqrt(len(vectors) - 1))):
            if len(part) <= self.dimension + 1:
                parts.append(part)
            else:
                parts += [part[rows] for rows in self._components(self._reduce(vectors[part], _LOCAL_NEIGHBOURS))]
        return parts

    def _reduce(self, vectors: NDArray[np.float32], neighbours: int) -> NDArray[np.float64]:
        """Reduce the vectors to at most ``dimension`` dimensions."""
        import numpy as np

        with warnings.catch_warnings():
            # UMAP warns when it works around a problem: no TensorFlow, an unconnected graph, missing eigenvectors.
            warnings.simplefilter("ignore")
            from umap import UMAP

            mapped = UMAP(
                n_neighbors=max(2, min(neighbours, len(vectors) - 1)),
                n_components=min(self.dimension, len(vectors) - 2),
                metric="cosine",
                random_state=self.seed,
                n_jobs=1,  # UMAP cannot run in parallel with a seed
            ).fit_transform(vectors)
        # UMAP gives no coordinates to a vector without near neighbours: here it gets the origin.
        return np.nan_to_num(np.asarray(mapped, dtype=np.float64))

    def _components(self, points: NDArray[np.float64]) -> list[NDArray[np.intp]]:
        """The rows of each component of the best mixture. Of equally good mixtures, the one with fewest components wins."""
        import numpy as np
        from sklearn.mixture import GaussianMixture

        best: Any = None
        lowest = np.inf
        distinct = len(np.unique(points, axis=0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mixtures that have not converged are used as they are
            for components in range(1, min(self.most_components, len(points), distinct + 1)):
                mixture = GaussianMixture(components, random_state=self.seed).fit(points)
                criterion = mixture.bic(points)
                if criterion < lowest:
                    best, lowest = mixture, criterion
        probabilities = best.predict_proba(points)
        is_member = probabilities > self.threshold
        # With many components, all probabilities can be below the threshold: then the most probable component is used.
        is_member[np.arange(len(points)), probabilities.argmax(axis=1)] = True
        return [np.flatnonzero(column) for column in is_member.T if column.any()]


def _fits(rows: NDArray[np.intp], sizes: Sequence[int], max_cluster_words: int) -> bool:
    return len(rows) == 1 or sum(sizes[row] for row in rows) <= max_cluster_words
