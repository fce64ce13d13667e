"""The words of a text that a question has, too, where they stand in the text."""

from __future__ import annotations

import re
from collections.abc import Callable

from leafspan.lexical._analysis import Analyzer

_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
_LONGEST = 60  # characters of a word: a run of Chinese has no spaces, and is no word


def matching_words(analyzer: Analyzer, question: str) -> Callable[[str], list[tuple[int, int]]]:
    """A function from a text to the places of words whose terms are all terms of the question, as (start, end), in order.

    Args:
        analyzer: What makes terms of words.
        question: The question.
    """
    asked = frozenset(analyzer([question])[0])

    def places(text: str) -> list[tuple[int, int]]:
        met = [match for match in _WORD.finditer(text) if match.end() - match.start() <= _LONGEST]
        words = list(dict.fromkeys(match[0] for match in met))
        known = {word for word, terms in zip(words, analyzer(words), strict=True) if terms and asked.issuperset(terms)}
        return [match.span() for match in met if match[0] in known]

    return places
