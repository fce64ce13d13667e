"""The recipe for segments with all words, as postings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from typing import Any

from leafspan.checks import STRUCTURE_KEY
from leafspan.documents import ordinal_and_firsts, titles_of_leaves
from leafspan.flows import NDArray, np
from leafspan.lexical import (
    Analysis,
    LeafWords,
    build_leaf_words,
    build_postings,
    compared_text,
    describe_analyzer,
    encode,
    leaf_digests,
    length_of,
    merge_leaf_words,
    merge_postings,
    plain_words_of,
    probe_terms,
    read_as,
    reading_number,
    starts_of,
    terms_digest,
    to_terms,
)
from leafspan.segments._mirror import Compare
from leafspan.segments._snapshot import MaskedArrays
from leafspan.store import DocumentToWrite, Row
from leafspan.text import has_word

_KIND = "starts leaf_words, blank leaves without terms, pairs in alphabets, readings"  # what older copies do not have


class WordPostings:
    """The recipe for segments with the leaves' words: postings of the terms of title, headings and text.

    The segments also have the starts of larger nodes, so that these can be scored, and the words of each leaf.

    The analyzer gets title, headings and text one by one, without surrounding white space, and reads them in the document's
    language. A leaf without a word has no terms, not even from its title, so that a blank page is not found.
    """

    task = "Indexing words"
    content = "words"
    needs_vectors = False

    def __init__(self, analyzer: Analysis) -> None:
        self._analyzer = analyzer
        self._compared = partial(compared_text, analyzer)

    @property
    def name(self) -> str:
        """Analyzers that make different terms have different names."""
        import Stemmer

        analysis = f"{describe_analyzer(self._analyzer)} {Stemmer.version()} {_KIND} apart {probe_terms(self._analyzer)}"
        return f"words-{hashlib.sha256(analysis.encode()).hexdigest()[:8]}"

    def of(self, documents: Sequence[DocumentToWrite]) -> dict[str, NDArray[Any]]:
        titles = [each for document in documents for each in _titles(document.row)]
        texts = [text for document in documents for text in document.texts]
        places = [place for document in documents for place in _places(document)]
        readings = [each for document in documents for each in self._readings(document.row)]
        terms = self._terms(titles, texts, readings)
        postings = build_postings(terms, _starts(places), np.array(readings, np.uint8))
        return postings | build_leaf_words(map(self._compared, readings, texts))

    def merge(self, parts: Sequence[MaskedArrays]) -> dict[str, NDArray[Any]]:
        return merge_postings(parts) | merge_leaf_words(parts)

    def comparing(self, arrays: Mapping[str, NDArray[Any]]) -> Compare:
        digests = cache(lambda: leaf_digests(arrays))  # computed only if the segment has one of the documents
        words = cache(lambda: LeafWords(arrays))

        def differing(first: int, document: DocumentToWrite) -> list[int]:
            readings = self._readings(document.row)
            terms = self._terms(list(_titles(document.row)), document.texts, readings)
            starts = _starts(_places(document))
            return [
                ordinal
                for ordinal, of_leaf in enumerate(terms)
                if arrays["lengths"][first + ordinal] != length_of(of_leaf)
                or arrays["starts"][first + ordinal] != starts[ordinal]
                or arrays["readings"][first + ordinal] != readings[ordinal]
                or digests()[first + ordinal] != terms_digest(of_leaf)
                or list(map(words().word, words().of([first + ordinal])[0].tolist()))
                != list(map(encode, plain_words_of(self._compared(readings[ordinal], document.texts[ordinal]))))
            ]

        return differing

    def _readings(self, row: Row) -> list[int]:
        """The reading number of each leaf of a document."""
        return [reading_number(self._analyzer, row.language)] * row.leaves

    def _terms(self, titles: Sequence[Sequence[str]], texts: Sequence[str], readings: Sequence[int]) -> list[list[str]]:
        """The terms of leaves. Titles that several leaves share are analysed once."""
        terms: list[list[str]] = []
        at = 0
        for reading, leaves in groupby(readings):
            some = slice(at, at := at + sum(1 for _ in leaves))
            terms += self._terms_read_as(read_as(self._analyzer, reading), titles[some], texts[some])
        return terms

    def _terms_read_as(self, analyzer: Analysis, titles: Sequence[Sequence[str]], texts: Sequence[str]) -> list[list[str]]:
        leaves = [
            [part.strip() for part in (*above, text)] if has_word(text) else []
            for above, text in zip(titles, texts, strict=True)
        ]
        parts = list(dict.fromkeys(part for leaf in leaves for part in leaf if part))
        terms_of = dict(zip(parts, to_terms(analyzer, parts), strict=True))
        return [[term for part in leaf if part for term in terms_of[part]] for leaf in leaves]


def _places(document: DocumentToWrite) -> Iterator[str]:
    return (str(metadata[STRUCTURE_KEY]) for metadata in document.metadatas)


def _starts(places: Iterable[str]) -> NDArray[Any]:
    return starts_of(map(ordinal_and_firsts, places))


def _titles(row: Row) -> Sequence[Sequence[str]]:
    return titles_of_leaves(row.title, row.sections, row.leaves)
