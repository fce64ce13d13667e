"""Several inverted indexes made into one, without what was deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafspan.lexical._postings import Postings, assemble, ends

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def merge_postings(
    parts: Sequence[tuple[Mapping[str, NDArray[Any]], NDArray[np.bool_] | None]],
) -> dict[str, NDArray[Any]]:
    """What ``build_postings`` gives for the leaves of all parts, one part behind the other, that are marked in its mask.

    A part without a mask keeps all of its leaves.
    """
    import numpy as np

    kept: list[_Kept] = []
    for arrays, mask in parts:
        kept.append(_keep(Postings(arrays), mask, first=sum(len(part.lengths) for part in kept)))
    vocabulary = sorted({word for part in kept for word in part.words})
    place_of = {word: place for place, word in enumerate(vocabulary)}
    frequencies = np.zeros(len(vocabulary), dtype=np.int64)
    places = [np.fromiter(map(place_of.__getitem__, part.words), np.int64, len(part.words)) for part in kept]
    for part, place in zip(kept, places, strict=True):
        frequencies[place] += part.frequencies

    # A term's leaves of one part go where those of the parts before have left off.
    free = ends(frequencies)[:-1].astype(np.int64)
    rows = np.empty(int(frequencies.sum()), dtype=np.uint32)
    counts = np.empty(len(rows), dtype=np.result_type(np.uint8, *(part.counts.dtype for part in kept)))
    for part, place in zip(kept, places, strict=True):
        shift = free[place] - ends(part.frequencies)[:-1]
        target = np.repeat(shift, part.frequencies) + np.arange(len(part.rows))
        rows[target], counts[target] = part.rows, part.counts
        free[place] += part.frequencies
    lengths = np.concatenate([np.empty(0, dtype=np.uint8), *(part.lengths for part in kept)])
    return assemble(lengths, vocabulary, frequencies, rows, counts)


class _Kept(NamedTuple):
    """What is left of one part: its arrays, with the leaves' new numbers, and the terms that still have a leaf."""

    lengths: NDArray[Any]
    words: list[bytes]
    frequencies: NDArray[np.int64]
    rows: NDArray[Any]
    counts: NDArray[Any]


def _keep(part: Postings, mask: NDArray[np.bool_] | None, *, first: int) -> _Kept:
    """The part's leaves that are marked, numbered from ``first`` on."""
    import numpy as np

    frequencies = part.frequencies(mask)
    words = [part.word(place) for place in np.flatnonzero(frequencies).tolist()]
    if mask is None:
        return _Kept(part.lengths, words, frequencies, part.rows + np.uint32(first), part.counts)
    number = (np.cumsum(mask) + (first - 1)).astype(np.uint32)
    marked = mask[part.rows]
    return _Kept(part.lengths[mask], words, frequencies[frequencies > 0], number[part.rows[marked]], part.counts[marked])
