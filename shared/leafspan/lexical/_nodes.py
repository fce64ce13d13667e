"""BM25 of larger nodes: a leaf's parent, its section and its document.

Leaves partition a document, and every larger node is a run of leaves. So a node's count of a term is the sum over its
leaves, and its BM25 follows from their postings without a second index. Title and headings are indexed with each leaf, and
are counted each time.

An array beside the postings, ``starts``, has a byte for each leaf: the sum of ``PARENT``, ``SECTION`` and ``DOCUMENT`` for
those nodes that start there. For a leaf without ancestors, the document is its parent and its section.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.lexical._found_terms import NodeTerm, added_up
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
    """Return the array ``starts``, from each leaf's ordinal and the first ordinals of its ancestors, parents first."""
    import numpy as np

    starts = bytearray()
    for ordinal, ancestors in leaves:
        parent = ancestors[0] if ancestors else 0
        section = ancestors[1] if len(ancestors) > 1 else 0
        starts.append(PARENT * (ordinal == parent) + SECTION * (ordinal == section) + DOCUMENT * (ordinal == 0))
    return np.frombuffer(bytes(starts), dtype=np.uint8)


class NodeScores(NamedTuple):
    """The scores of all nodes of a scale for one query."""

    scores: NDArray[np.float64]  # the scores. 0 for nodes that are not counted
    firsts: NDArray[np.intp]  # the number of each node's first leaf
    lasts: NDArray[np.intp]  # the number of its last leaf


class Nodes:
    """The nodes of a corpus."""

    def __init__(self, parts: Sequence[Postings]) -> None:
        import numpy as np

        starts = np.concatenate([np.zeros(0, np.uint8), *(part.starts for part in parts)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
        self._scales = [_Scale.of((starts & scale) != 0, lengths) for scale in SCALES]

    def count(self, counting: Mask | None) -> list[int]:
        """Return the number of counted nodes of each scale, at least 1."""
        import numpy as np

        firsts = (scale.firsts for scale in self._scales)
        return [max(len(each) if counting is None else int(np.count_nonzero(counting[each])), 1) for each in firsts]

    def of_term(
        self,
        leaves: NDArray[np.intp],
        times: NDArray[Any],
        counts: Sequence[int],
        length: float,
        settings: BM25Settings,
    ) -> list[NodeTerm]:
        """Return a term in each scale's nodes, from its counts in the leaves."""
        import numpy as np

        settings = BM25Settings(settings.k1, settings.b)
        found = []
        for scale, nodes in zip(self._scales, counts, strict=True):
            # From one scale to the next, since larger nodes are fewer.
            numbers, times = _by_node(scale.numbers.take(leaves), times)
            leaves = scale.firsts.take(numbers)
            norms = settings.norms(scale.lengths.take(numbers), length / nodes if length else 1.0)
            idf = settings.idf(nodes, len(numbers))
            found.append(NodeTerm(numbers.astype(np.intp), settings.tf(times, norms), idf))
        return found

    def score(self, terms: Sequence[tuple[float, Sequence[NodeTerm]]]) -> list[NodeScores]:
        """Return the scores of each scale's nodes, for a query's terms and the factor of each."""
        found = []
        for number, scale in enumerate(self._scales):
            in_scale = [(of_scales[number], factor) for factor, of_scales in terms]
            given = [(term.numbers, term.tf, term.idf * factor) for term, factor in in_scale]
            found.append(NodeScores(added_up(given, len(scale.firsts)), scale.firsts, scale.lasts))
        return found


class _Scale(NamedTuple):
    """The nodes of one scale."""

    numbers: NDArray[np.int32]  # the number of each leaf's node
    firsts: NDArray[np.intp]  # the first leaf of each node
    lasts: NDArray[np.intp]  # its last leaf
    lengths: NDArray[np.int64]  # its length, in terms

    @classmethod
    def of(cls, begins: NDArray[np.bool_], lengths: NDArray[np.int64]) -> _Scale:
        """Return the nodes that start at the marked leaves, given each leaf's length."""
        import numpy as np

        firsts = np.flatnonzero(begins)
        numbers = np.cumsum(begins, dtype=np.int32) - np.int32(1)
        return cls(numbers, firsts, np.append(firsts[1:], len(begins)) - 1, _sums(lengths, firsts))


def _by_node(numbers: NDArray[np.int32], times: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return each node's number and sum of times, given the node of each leaf, in order."""
    import numpy as np

    begins = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
    places = np.flatnonzero(begins)
    return numbers.take(places), _sums(times, places)


def _sums(numbers: NDArray[Any], firsts: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sum of each run of numbers, given where the runs start."""
    import numpy as np

    # Most runs are short, and np.add.reduceat has a fixed cost for each.
    before = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(numbers, out=before[1:])
    return np.diff(before.take(firsts), append=before[-1])
