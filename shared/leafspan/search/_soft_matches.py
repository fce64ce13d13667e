"""Soft matches of leaves with a question: see ``leafspan.embedding``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leafspan.embedding import soft_matches
from leafspan.lexical import Analysis, Analyzer, find_plain_words, to_terms

_LANGUAGE = "english"  # of the words whose vectors come with the package


def words_of(question: str, analyzer: Analysis, idf: Mapping[str, float]) -> dict[str, float]:
    """The words of a question that are in the language of the vectors and no stop words, each with the idf of its term.

    Args:
        question: The question.
        analyzer: How the index makes terms of it.
        idf: The idf of each of its terms.
    """
    if not isinstance(analyzer, Analyzer) or analyzer.language != _LANGUAGE:
        return {}
    words = list(dict.fromkeys(find_plain_words(question)))
    terms = to_terms(analyzer, words)
    weights = ((word, sum(idf.get(term, 0.0) for term in own)) for word, own in zip(words, terms, strict=True))
    return {word: weight for word, weight in weights if weight > 0}


def soft_matches_of(words: Mapping[str, float], texts: Sequence[str]) -> list[float]:
    """The score of each text: see ``soft_matches``."""
    return soft_matches(words, [find_plain_words(text) for text in texts])
