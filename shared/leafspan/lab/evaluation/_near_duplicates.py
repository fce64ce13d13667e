"""Documents whose texts are nearly the same: MinHash finds pairs, which are then compared exactly (Broder, 1997)."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING
from zlib import crc32

from leafspan.checks import check_number
from leafspan.flows import np
from leafspan.text import WITHOUT_SPACES, fold
from leafspan.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PART = re.compile(f"[{WITHOUT_SPACES}]|[^\\W{WITHOUT_SPACES}]+")
_IN_A_ROW = 5  # words that are compared together
_BANDS, _ROWS = 16, 4  # two documents that share 0.7 are compared with a probability of 0.98, those that share 0.8 of 0.999


def near_duplicates(view: View, *, threshold: float = 0.8) -> list[list[str]]:
    """Groups of documents whose texts are nearly the same, to delete all but one of each.

    Two documents are nearly the same if they share most of their sequences of five words: those that both have, divided by
    those that either has (Jaccard's index). Titles, metadata, case, accents and punctuation do not count. Each document of
    a group is nearly the same as another one of it. All texts are read, and about 10 bytes a word kept until the end.

    Args:
        view: An index or a view of one.
        threshold: Least share, in [0.7, 1]. Default: 0.8, which is a changed word in about 45.

    Returns:
        The ids of each group, in order, by the first one.

    Raises:
        InvalidArgument: if ``threshold`` is out of its range.
    """
    check_number("threshold", threshold, at_least=0.7, at_most=1)
    factors = np.random.default_rng(0).integers(0, 2**63, _BANDS * _ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    sequences: dict[str, NDArray[np.uint64]] = {}
    alike: defaultdict[tuple[int, bytes], list[str]] = defaultdict(list)  # documents with the same smallest hashes
    for document, leaves in groupby(view.leaves(), key=lambda each: each.document_id):
        if (own := _sequences("".join(leaf.text for leaf in leaves))).size:
            sequences[document] = own
            smallest = np.array([(own * factor).min() for factor in factors]).reshape(_BANDS, _ROWS)
            for band, row in enumerate(smallest):
                alike[band, row.tobytes()].append(document)
    groups = {document: [document] for document in sequences}

    def share(one: str, other: str) -> float:
        if groups[one] is groups[other]:
            return 1
        both = len(np.intersect1d(sequences[one], sequences[other], assume_unique=True))
        return both / (len(sequences[one]) + len(sequences[other]) - both)

    for documents in alike.values():
        firsts: list[str] = []  # one of each group
        for document in documents:
            near = [first for first in firsts if share(first, document) >= threshold]
            for first in near:
                if (joined := groups[first]) is not (added := groups[document]):
                    joined += added
                    groups.update(dict.fromkeys(added, joined))
            if not near:
                firsts.append(document)
    return sorted({id(each): sorted(each) for each in groups.values() if len(each) > 1}.values())


def _sequences(text: str) -> NDArray[np.uint64]:
    """The hashes of all words in a row, each once. A short text is one sequence."""
    words = np.array([crc32(word.encode()) for word in _PART.findall(fold(text))], dtype=np.uint64)
    length = min(_IN_A_ROW, len(words))
    hashes = np.zeros(len(words) - length + 1 if length else 0, dtype=np.uint64)
    for start in range(length):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + words[start : start + len(hashes)]
    return np.unique(hashes)
