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


class NodesOfPart(NamedTuple):
    """The nodes of one of the inverted indexes, for each scale.

    Attributes:
        numbers: The number of the node that each leaf is in.
        firsts: The first leaf of each node.
        lengths: Length of each node, in terms.
        place: The number of the part's first leaf among those of all parts.
        leaves: Number of the part's leaves.
    """

    numbers: list[NDArray[np.int32]]
    firsts: list[NDArray[np.intp]]
    lengths: list[NDArray[np.int64]]
    place: int
    leaves: int


def nodes_of(parts: Sequence[Postings]) -> list[NodesOfPart]:
    """The nodes of several inverted indexes, whose leaves are numbered part after part."""
    import numpy as np

    found: list[NodesOfPart] = []
    place = 0
    for postings in parts:
        begins = [(postings.starts & scale) != 0 for scale in SCALES]
        firsts = [np.flatnonzero(each) for each in begins]
        numbers = [np.cumsum(each, dtype=np.int32) - np.int32(1) for each in begins]
        lengths = [_sums(postings.lengths, each) for each in firsts]
        found.append(NodesOfPart(numbers, firsts, lengths, place, len(postings.lengths)))
        place += len(postings.lengths)
    return found


class FoundTerm(NamedTuple):
    """A term that stands in a query this many times, and for each part the leaves that have it, and how often."""

    times: int
    leaves: list[tuple[int, NDArray[np.intp], NDArray[Any]]]


class NodeScores(NamedTuple):
    """The scores of all nodes of a scale for one query.

    Attributes:
        scores: The scores, part after part. 0 for nodes that do not count.
        firsts: The number of each node's first leaf.
        lasts: The number of its last leaf.
    """

    scores: NDArray[np.float64]
    firsts: NDArray[np.intp]
    lasts: NDArray[np.intp]


def score_nodes(
    terms: Sequence[FoundTerm],
    parts: Sequence[NodesOfPart],
    masks: Sequence[Mask | None],
    length: float,
    settings: BM25Settings,
) -> list[NodeScores]:
    """The scores of the nodes of each scale for a query.

    Args:
        terms: Terms of the query, each with the leaves that count and have it.
        parts: The nodes.
        masks: For each part, mask of the leaves that count, with all leaves of a document or none. None: all count.
        length: Length of all leaves that count, in terms.
        settings: k1 and b.
    """
    import numpy as np

    settings = BM25Settings(settings.k1, settings.b)
    scores = [[np.zeros(len(firsts)) for firsts in part.firsts] for part in parts]
    counts = [_count(parts, masks, scale) for scale in range(len(SCALES))]
    for term in terms:
        below = term.leaves
        for scale, nodes in enumerate(counts):
            # From one scale to the next, since there are fewer nodes the larger they are.
            found = [(number, *_add_by_node(parts[number], scale, rows, tf)) for number, rows, tf in below]
            idf = settings.idf(nodes, sum(len(own) for _, own, _ in found))
            for number, own, tf in found:
                norms = settings.norms(parts[number].lengths[scale][own], length / nodes if length else 1.0)
                scores[number][scale][own] += settings.tf(tf, norms) * (idf * term.times)
            below = [(number, parts[number].firsts[scale][own], tf) for number, own, tf in found]
    return [_joined(parts, [each[scale] for each in scores], scale) for scale in range(len(SCALES))]


def _add_by_node(
    part: NodesOfPart, scale: int, rows: NDArray[np.intp], counts: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The nodes that leaves are in, and the sum of the counts of each. The leaves are in ascending order."""
    import numpy as np

    numbers = part.numbers[scale].take(rows)
    changes = np.empty(len(numbers), bool)
    changes[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=changes[1:])
    firsts = np.flatnonzero(changes)
    return numbers[firsts], _sums(counts, firsts)


def _sums(numbers: NDArray[Any], firsts: NDArray[np.intp]) -> NDArray[np.int64]:
    """The sum of each run of numbers, given where the runs begin."""
    import numpy as np

    return np.add.reduceat(numbers, firsts, dtype=np.int64) if len(firsts) else np.zeros(0, np.int64)


def _count(parts: Sequence[NodesOfPart], masks: Sequence[Mask | None], scale: int) -> int:
    """The number of nodes that count, at least 1."""
    import numpy as np

    counted = (
        len(part.firsts[scale]) if mask is None else int(np.count_nonzero(mask[part.firsts[scale]]))
        for part, mask in zip(parts, masks, strict=True)
    )
    return max(sum(counted), 1)


def _joined(parts: Sequence[NodesOfPart], scores: Sequence[NDArray[np.float64]], scale: int) -> NodeScores:
    """The nodes of all parts, with their leaves as they are numbered there."""
    import numpy as np

    none = np.zeros(0, np.intp)
    firsts = [part.firsts[scale] + part.place for part in parts]
    lasts = [np.append(part.firsts[scale][1:], part.leaves) + (part.place - 1) for part in parts if len(part.firsts[scale])]
    return NodeScores(
        np.concatenate([np.zeros(0), *scores]), np.concatenate([none, *firsts]), np.concatenate([none, *lasts])
    )
