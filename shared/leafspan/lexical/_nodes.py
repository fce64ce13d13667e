"""BM25 of larger nodes: a leaf's parent, its section and its document.

Leaves partition a document, and every larger node is a run of them. So how often a node has a term is the sum over its
leaves, and its BM25 follows from their postings: there is no second index. The title and the headings are indexed with each
leaf, and count each time.

An array beside the postings, ``starts``, has a byte for each leaf: the sum of ``PARENT``, ``SECTION`` and ``DOCUMENT`` for
those nodes that begin there. A leaf without ancestors has the document as its parent and its section.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.lexical._postings import Postings
from leafspan.lexical._variants import BM25Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

PARENT, SECTION, DOCUMENT = 1, 2, 4
SCALES = (PARENT, SECTION, DOCUMENT)
"""The scales, each above the one before it."""


def starts_of(leaves: Iterable[tuple[int, Sequence[int]]]) -> NDArray[np.uint8]:
    """The array ``starts``, from each leaf's ordinal and the first ordinals of its ancestors, parents first."""
    import numpy as np

    starts = bytearray()
    for ordinal, ancestors in leaves:
        parent = ancestors[0] if ancestors else 0
        section = ancestors[1] if len(ancestors) > 1 else 0
        starts.append(PARENT * (ordinal == parent) + SECTION * (ordinal == section) + DOCUMENT * (ordinal == 0))
    return np.frombuffer(bytes(starts), dtype=np.uint8)


class NodeScores(NamedTuple):
    """The scores of all nodes of a scale for one query.

    Attributes:
        scores: The scores. 0 for nodes that do not count.
        firsts: The number of each node's first leaf.
        lasts: The number of its last leaf.
    """

    scores: NDArray[np.float64]
    firsts: NDArray[np.intp]
    lasts: NDArray[np.intp]


class FoundTerm(NamedTuple):
    """A term that stands in a query this many times, with the leaves that have it, in order, and how often each has it.

    ``kept`` says which of them get something for it, None for all; the others only make it less rare.
    """

    times: float
    leaves: NDArray[np.intp]
    counts: NDArray[Any]
    kept: NDArray[np.bool_] | None = None


class Nodes:
    """The nodes of a corpus."""

    def __init__(self, parts: Sequence[Postings]) -> None:
        import numpy as np

        starts = np.concatenate([np.zeros(0, np.uint8), *(part.starts for part in parts)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        self._scales = [_Scale.of((starts & scale) != 0, lengths) for scale in SCALES]

    def count(self, counting: Mask | None) -> list[int]:
        """The number of nodes of each scale that count, at least 1."""
        import numpy as np

        firsts = (scale.firsts for scale in self._scales)
        return [max(len(each) if counting is None else int(np.count_nonzero(counting[each])), 1) for each in firsts]

    def score(
        self, terms: Sequence[FoundTerm], counts: Sequence[int], length: float, settings: BM25Settings
    ) -> list[NodeScores]:
        """The scores of the nodes of each scale for a query."""
        import numpy as np

        settings = BM25Settings(settings.k1, settings.b)
        # The leaves of all terms, one term after the other, and where those of each begin and end.
        rows = np.concatenate([np.zeros(0, np.intp), *(term.leaves for term in terms)])
        times = np.concatenate([np.zeros(0, np.int64), *(term.counts for term in terms)])
        bounds = np.cumsum([0, *(len(term.leaves) for term in terms)])
        kept = None
        if any(term.kept is not None for term in terms):
            every = [np.ones(len(term.leaves), np.bool_) if term.kept is None else term.kept for term in terms]
            kept = np.concatenate(every)
        found = []
        for scale, nodes in zip(self._scales, counts, strict=True):
            # From one scale to the next, since there are fewer nodes the larger they are.
            places, numbers, times, bounds = _by_node(scale.numbers.take(rows), times, bounds)
            rows = scale.firsts.take(numbers)
            frequencies = np.diff(bounds)
            weights = [
                settings.idf(nodes, frequency) * term.times
                for term, frequency in zip(terms, frequencies.tolist(), strict=True)
            ]
            norms = settings.norms(scale.lengths.take(numbers), length / nodes if length else 1.0)
            added = settings.tf(times, norms) * np.repeat(weights, frequencies)
            if kept is not None:  # all leaves of a node are of one document, and so were read in one way
                kept = kept.take(places)
                added = np.where(kept, added, 0.0)
            scores = np.bincount(numbers, added, len(scale.firsts)).astype(np.float64, copy=False)
            found.append(NodeScores(scores, scale.firsts, scale.lasts))
        return found


class _Scale(NamedTuple):
    """The nodes of one scale.

    Attributes:
        numbers: The number of the node that each leaf is in.
        firsts: The first leaf of each node.
        lasts: Its last leaf.
        lengths: Its length, in terms.
    """

    numbers: NDArray[np.int32]
    firsts: NDArray[np.intp]
    lasts: NDArray[np.intp]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, begins: NDArray[np.bool_], lengths: NDArray[np.int64]) -> _Scale:
        """The nodes that begin at the leaves which are marked, where each leaf has this length."""
        import numpy as np

        firsts = np.flatnonzero(begins)
        numbers = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        return cls(numbers, firsts, np.append(firsts[1:], len(begins)) - 1, _sums(lengths, firsts))


def _by_node(
    numbers: NDArray[np.int32], counts: NDArray[Any], bounds: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int64], NDArray[np.intp]]:
    """For each term: where its nodes begin, its nodes, their counts, and where its slice of the arrays begins and ends."""
    import numpy as np

    changes = np.ones(len(numbers) + 1, np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=changes[1:-1])
    changes[bounds] = True
    places = np.flatnonzero(changes[:-1])
    return places, numbers.take(places), _sums(counts, places), np.searchsorted(places, bounds)


def _sums(numbers: NDArray[Any], firsts: NDArray[np.intp]) -> NDArray[np.int64]:
    """The sum of each run of numbers, given where the runs begin."""
    import numpy as np

    # Most runs are short, and np.add.reduceat takes its time for each.
    before = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=before[1:])
    return np.diff(before.take(firsts), append=before[-1])
