"""Documents whose texts are nearly the same: MinHash finds pairs, which are then compared exactly (Broder, 1997)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import groupby
from zlib import crc32

from leafspan.checks import check_number
from leafspan.documents import read_documents
from leafspan.flows import NDArray, np
from leafspan.text import WITHOUT_SPACES, fold
from leafspan.values import Document
from leafspan.view import View

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
    sequences: dict[str, NDArray[np.uint64]] = {}
    alike: defaultdict[tuple[int, bytes], list[str]] = defaultdict(list)  # documents with the same smallest hashes
    for document, own in _of_view(view):
        sequences[document] = own
        for band in _bands(own):
            alike[band].append(document)
    groups = {document: [document] for document in sequences}

    def share(one: str, other: str) -> float:
        if groups[one] is groups[other]:
            return 1
        return _share(sequences[one], sequences[other])

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


def without_near_duplicates(
    documents: Iterable[object] | object,
    view: View,
    *,
    threshold: float = 0.8,
    on_skip: Callable[[str, str], object] = lambda id, original: None,
) -> Iterator[Document]:
    """The documents that are not nearly the same as one of a view, or as an earlier one: ``index.add`` takes them.

    Do not give them to ``sync``, which deletes what a source no longer has.

    A document is not compared with the one that it replaces, which has its id. The texts of the view are read first:
    add many documents by one call. What is nearly the same is as for ``near_duplicates``.

    Args:
        documents: What ``View.add`` takes.
        view: An index or a view of one.
        threshold: Least share, in [0.7, 1]. Default: 0.8.
        on_skip: Function that gets the id of each document that is left out, and the id of the other one. Default: none.

    Raises:
        InvalidArgument: if ``threshold`` is out of its range.
        InvalidDocument: if something is no document.
    """
    check_number("threshold", threshold, at_least=0.7, at_most=1)
    return _without(read_documents(documents), view, threshold, on_skip)


def _without(
    documents: Iterable[Document], view: View, threshold: float, on_skip: Callable[[str, str], object]
) -> Iterator[Document]:
    sequences = dict(_of_view(view))
    alike: defaultdict[tuple[int, bytes], set[str]] = defaultdict(set)
    for id_, own in sequences.items():
        for band in _bands(own):
            alike[band].add(id_)
    for document in documents:
        own = _sequences(document.text)
        bands = _bands(own) if own.size else []
        others = sorted(set().union(*(alike[band] for band in bands)) - {document.id})
        original = next((other for other in others if _share(own, sequences[other]) >= threshold), None)
        if original is not None:
            on_skip(document.id, original)
            continue
        if document.id in sequences:
            for band in _bands(sequences.pop(document.id)):
                alike[band].discard(document.id)
        if own.size:
            sequences[document.id] = own
            for band in bands:
                alike[band].add(document.id)
        yield document


def _of_view(view: View) -> Iterator[tuple[str, NDArray[np.uint64]]]:
    """Yield the sequences of each document of a view that has words."""
    for document, leaves in groupby(view.leaves(), key=lambda each: each.document_id):
        if (own := _sequences("".join(leaf.text for leaf in leaves))).size:
            yield document, own


def _bands(sequences: NDArray[np.uint64]) -> list[tuple[int, bytes]]:
    """Return the smallest hashes of a document. Two documents that share one of them are compared."""
    smallest = np.array([(sequences * factor).min() for factor in _factors()]).reshape(_BANDS, _ROWS)
    return [(band, row.tobytes()) for band, row in enumerate(smallest)]


@cache
def _factors() -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(0, 2**63, _BANDS * _ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _share(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    """Return Jaccard's index of two documents."""
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


def _sequences(text: str) -> NDArray[np.uint64]:
    """The hashes of all words in a row, each once. A short text is one sequence."""
    words = np.array([crc32(word.encode()) for word in _PART.findall(fold(text))], dtype=np.uint64)
    length = min(_IN_A_ROW, len(words))
    hashes = np.zeros(len(words) - length + 1 if length else 0, dtype=np.uint64)
    for start in range(length):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + words[start : start + len(hashes)]
    return np.unique(hashes)
