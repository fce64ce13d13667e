"""A recipe for a mirror of all words, as postings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from leafspan.documents import ordinal_and_firsts, titles_of_leaves
from leafspan.engine import Call, Flow
from leafspan.lexical import (
    Analysis,
    Analyzer,
    build_postings,
    describe_analyzer,
    leaf_digests,
    merge_postings,
    probe_terms,
    starts_of,
    terms_digest,
    to_terms,
)
from leafspan.mirror._comparing import Compare
from leafspan.reserved import STRUCTURE_KEY
from leafspan.store import DocumentToWrite, Reader, Row, StaleRead

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leafspan.mirror._snapshot import MaskedArrays

_BATCH = 1_000  # texts to read at a time
_ARRAYS = "starts"  # an array that copies of earlier versions lack


class WordPostings:
    """The recipe for a mirror of the leaves' words: postings of the terms of title, headings and text.

    Beside them stands where larger nodes begin, so that these can be scored, too.

    The analyzer gets each of these by itself, without the white space around it.

    Args:
        analyzer: How texts become terms.
    """

    task = "Indexing words"
    content = "words"

    def __init__(self, analyzer: Analysis) -> None:
        self._analyzer = analyzer

    @property
    def name(self) -> str:
        """See Recipe. Analyzers that make different terms have different names."""
        import Stemmer

        analysis = f"{describe_analyzer(self._analyzer)} {Stemmer.version()} {_ARRAYS}"
        if not isinstance(self._analyzer, Analyzer):
            # leafspan 0.1.0 gave a function all in one text. A function that was edited since has other terms.
            analysis += f" apart {probe_terms(self._analyzer)}"
        return f"words-{hashlib.sha256(analysis.encode()).hexdigest()[:8]}"

    def read(self, reader: Reader, rows: Sequence[Row], ids: Sequence[str]) -> Flow[dict[str, NDArray[Any]]]:
        """See Recipe."""
        titles = [each for row in rows for each in _titles(row)]
        terms: list[list[str]] = []
        places: list[str] = []
        for start in range(0, len(ids), _BATCH):
            some = ids[start : start + _BATCH]
            records = yield from reader.fetch_records(some)
            if len(records) < len(some):
                raise StaleRead
            stored = [records[id_] for id_ in some]
            terms += yield Call(self._terms, (titles[start : start + _BATCH], [text for text, _ in stored]))
            places += [str(metadata[STRUCTURE_KEY]) for _, metadata in stored]
        return (yield Call(build_postings, (terms, _starts(places))))  # type: ignore[no-any-return]

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        """See Recipe."""
        titles = [each for document in documents for each in _titles(document.row)]
        terms = self._terms(titles, [text for document in documents for text in document.texts])
        return build_postings(terms, _starts(place for document in documents for place in _places(document)))

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        """See Recipe."""
        return merge_postings(parts)

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        """See Recipe."""
        digests = cache(lambda: leaf_digests(arrays))  # made only if the segment has one of the documents

        def differing(first: int, document: DocumentToWrite) -> list[int]:
            terms = self._terms(list(_titles(document.row)), document.texts)
            starts = _starts(_places(document))
            return [
                ordinal
                for ordinal, of_leaf in enumerate(terms)
                if arrays["lengths"][first + ordinal] != len(of_leaf)
                or arrays["starts"][first + ordinal] != starts[ordinal]
                or digests()[first + ordinal] != terms_digest(of_leaf)
            ]

        return differing

    def _terms(self, titles: Sequence[Sequence[str]], texts: Sequence[str]) -> list[list[str]]:
        """The terms of leaves. Titles that several leaves share are analysed once."""
        leaves = [[part.strip() for part in (*above, text)] for above, text in zip(titles, texts, strict=True)]
        parts = list(dict.fromkeys(part for leaf in leaves for part in leaf if part))
        terms_of = dict(zip(parts, to_terms(self._analyzer, parts), strict=True))
        return [[term for part in leaf if part for term in terms_of[part]] for leaf in leaves]


def _places(document: DocumentToWrite) -> Iterator[str]:
    return (str(metadata[STRUCTURE_KEY]) for metadata in document.metadatas)


def _starts(places: Iterable[str]) -> NDArray[Any]:
    return starts_of(map(ordinal_and_firsts, places))


def _titles(row: Row) -> Sequence[Sequence[str]]:
    return titles_of_leaves(row.title, row.sections, row.leaves)
