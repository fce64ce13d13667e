"""Merges several inverted indexes into one, without the deleted leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.lexical._postings import Postings, assemble, end_offsets

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def merge_postings(
    parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]],
) -> dict[str, NDArray[Any]]:
    """Return the arrays that ``build_postings`` gives for the kept leaves of all parts, part after part."""
    import numpy as np

    kept: list[_KeptLeaves] = []
    for arrays, mask in parts:
        kept.append(_keep(Postings(arrays), mask, first=sum(len(part.lengths) for part in kept)))
    vocabulary = sorted({word for part in kept for word in part.words})
    place_of = {word: place for place, word in enumerate(vocabulary)}
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    places = [np.fromiter(map(place_of.__getitem__, part.words), np.int64, len(part.words)) for part in kept]
    for part, place in zip(kept, places, strict=True):
        frequencies[place] += part.frequencies

    # For each term, a part's leaves come after the leaves of earlier parts.
    next_free = end_offsets(frequencies)[:-1].astype(np.int64)
    rows = np.empty(int(frequencies.sum()), dtype=np.uint32)
    counts = np.empty(len(rows), dtype=np.result_type(np.uint8, *(part.counts.dtype for part in kept)))
    for part, place in zip(kept, places, strict=True):
        shift = next_free[place] - end_offsets(part.frequencies)[:-1]
        target = np.repeat(shift, part.frequencies) + np.arange(len(part.rows))
        rows[target], counts[target] = part.rows, part.counts
        next_free[place] += part.frequencies
    lengths = np.concatenate([np.empty(0, dtype=np.uint8), *(part.lengths for part in kept)])
    starts = np.concatenate([np.empty(0, dtype=np.uint8), *(part.starts for part in kept)])
    readings = np.concatenate([np.empty(0, dtype=np.uint8), *(part.readings for part in kept)])
    return assemble(lengths, starts, readings, vocabulary, frequencies, rows, counts)


class _KeptLeaves(NamedTuple):
    """The kept leaves of one part, under their new numbers."""

    lengths: NDArray[Any]  # length of each leaf in terms
    starts: NDArray[np.uint8]  # which larger nodes start at each leaf
    readings: NDArray[np.uint8]  # how the words of each leaf were read
    words: list[bytes]  # the terms that at least one kept leaf has
    frequencies: NDArray[np.int64]  # number of kept leaves that have each of these terms
    rows: NDArray[Any]  # new numbers of the leaves that have each term, term after term
    counts: NDArray[Any]  # how often the leaf has the term, for each of ``rows``


def _keep(part: Postings, mask: NDArray[np.bool_] | None, *, first: int) -> _KeptLeaves:
    """Return the part's leaves that the mask marks, numbered from ``first`` on."""
    import numpy as np

    frequencies = part.frequencies(mask)
    words = [part.word(place) for place in np.flatnonzero(frequencies).tolist()]
    if mask is None:
        rows = part.rows + np.uint32(first)
        return _KeptLeaves(part.lengths, part.starts, part.readings, words, frequencies, rows, part.counts)
    number = (np.cumsum(mask) + (first - 1)).astype(np.uint32)
    marked = mask[part.rows]
    rows, counts = number[part.rows[marked]], part.counts[marked]
    of_leaves = part.lengths[mask], part.starts[mask], part.readings[mask]
    return _KeptLeaves(*of_leaves, words, frequencies[frequencies > 0], rows, counts)
