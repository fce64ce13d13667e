"""Finds the places in a text of words that a query also has."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache

from leafspan.lexical._analysis import Analyzer
from leafspan.lexical._languages import find_language

_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
_RUN = re.compile(r"\w+")
_LONGEST = 60  # characters; a longer run, such as Chinese without spaces, is not treated as a word


def matching_words(analyzer: Analyzer, question: str) -> Callable[[str], list[tuple[int, int]]]:
    """Return a function from a text to the places of the query's words in it, as (start, end), in order.

    The query has a word if it has all of the word's terms, or one term of a word in a compound or name.
    """

    @cache
    def asked_in(reading: Analyzer) -> frozenset[str]:
        return frozenset(reading([question], asked=True)[0])

    def places(text: str) -> list[tuple[int, int]]:
        reading = analyzer.reading(find_language(text))
        asked = asked_in(reading)
        met = [match for match in _WORD.finditer(text) if match.end() - match.start() <= _LONGEST]
        terms = terms_of(reading, {match[0] for match in met})
        found = []
        for match in met:
            if terms[match[0]] and asked.issuperset(terms[match[0]]):
                found.append(match.span())
            elif not asked.isdisjoint(terms[match[0]]):
                runs = list(_RUN.finditer(text, *match.span()))
                of_runs = terms_of(reading, {run[0] for run in runs})
                found += [run.span() for run in runs if not asked.isdisjoint(of_runs[run[0]])]
        return found

    def terms_of(reading: Analyzer, words: Collection[str]) -> dict[str, list[str]]:
        return dict(zip(words, reading(list(words), asked=True), strict=True))

    return places
