"""Reads the words of a question that no leaf has as words that leaves have, at one edit, or two for a long word.

An edit swaps two neighbours, leaves out, adds or replaces a letter (optimal string alignment). Of several such words the
one that most leaves have is used, then one in a list of English words, then the first in this order of edits and of places.
An index has stems of words, so every word at one edit is made, and its stem looked up. Two edits are looked for in stems.

Source: Norvig, How to Write a Spelling Corrector (2007).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from math import inf

from leafspan.lexical._analysis import Analyzer, terms_of_chunks
from leafspan.lexical._ranking import Corpus
from leafspan.lexical._tokens import HYPHENATED

# Words in quotes, codes, paths and addresses stay as they are, and words before an apostrophe, except a possessive.
_WORD = re.compile(
    r"""["“„][^"“”]*["“”]|«[^«»]*»|`[^`]*`|(?<!\w)'[^']+'(?!\w)"""
    r"""|(?<!\S)\S*(?:[\d_@#=<>/\\]|\w[.:]\w)\S*|(?<![^\W\d_])([^\W\d_]{4,30}+)(?![^\W\d_]|['’](?!s\b))"""
)
_LEAST = 4  # letters of a word
_MOST = 20  # words of a question, each of which takes milliseconds
_ENDING = 3  # letters that stay at the end of a word that is not English, since there other letters make another form
_LONG = 8  # letters of a stem that may have two errors
_BEGINNING = 4  # letters of this stem that stay
_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω")


def respelt(
    question: str,
    own: Analyzer,
    readings: Sequence[Analyzer],
    corpus: Corpus,
    leaves_with: Callable[[Iterable[str]], Mapping[str, int]],
    is_english: Callable[[str], bool],
) -> dict[str, str]:
    """Return the words that no leaf has in any of its readings, each with the word that it is read as.

    ``own`` is the reading of the question. ``leaves_with`` returns the number of leaves with each of some terms, without
    terms that no leaf has, and ``is_english`` says whether a list has an English word.
    """
    terms_of, english = terms_of_chunks(own), own.language == "english"

    def best(words: Iterable[str]) -> str | None:
        terms = {each: terms_of[each] for each in words if len(each) >= _LEAST}
        leaves = leaves_with(chain.from_iterable(terms.values()))
        counts = {each: max((leaves.get(term, 0) for term in some), default=inf) for each, some in terms.items()}
        order = {each: (-count, not (english and is_english(each))) for each, count in counts.items() if count}
        return min(order, key=order.__getitem__, default=None)

    def nearest(word: str, stem: str) -> str | None:
        edited = best(each for each in edits(word) if english or (each[0], each[-_ENDING:]) == (word[0], word[-_ENDING:]))
        if edited is not None or not english or len(stem) < _LONG or not word.startswith(stem):
            return edited
        ending, near = word[len(stem) :], sorted(corpus.beginning(stem[:_BEGINNING]))
        return best(each + ending for each in near if _at_two_edits(stem, each) and terms_of[each + ending] == [each])

    unknown = {}
    for word in dict.fromkeys(match[1] for match in _WORD.finditer(question) if match[1]):
        lower = word.lower()
        terms, stem = [terms_of_chunks(each)[lower] for each in readings], terms_of[lower][:1]
        if not word[1:].islower() or not all(terms) or leaves_with([HYPHENATED + lower, *chain(*terms)]):
            continue
        if not (any(map(is_english, (word, lower, *stem))) if english else len(word) <= _LEAST):
            unknown[word] = stem[0]
    read = {word: nearest(word.lower(), stem) for word, stem in islice(unknown.items(), _MOST)}
    return {word: each.capitalize() if word[0].isupper() else each for word, each in read.items() if each}


def in_other_words(question: str, words: Mapping[str, str]) -> str:
    """Return the question with these words of ``respelt`` replaced."""
    return _WORD.sub(lambda match: words.get(match[1], match[0]), question)


def edits(word: str) -> list[str]:
    """Return every word at one edit of a word in lower case, in the letters of its alphabet."""
    letters = next((each for each in _ALPHABETS if not set(each).isdisjoint(word)), "")
    places = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = [before + after[1::-1] + after[2:] for before, after in places if len(after) > 1]
    less = [before + after[1:] for before, after in places if after]
    more = [before + letter + after for before, after in places for letter in letters]
    replaced = [before + letter + after[1:] for before, after in places if after for letter in letters]
    return [each for each in dict.fromkeys(swapped + less + more + replaced) if each != word]


def _at_two_edits(word: str, other: str) -> bool:
    """Whether at most two edits lie between two words."""
    if abs(len(word) - len(other)) > 2 or len({*word} ^ {*other}) > 4:
        return False
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for place, letter in enumerate(word):
        two_before, before, row = before, row, [place + 1]
        for at, another in enumerate(other):
            least = min(before[at] + (letter != another), before[at + 1] + 1, row[at] + 1)
            if place and at and (letter, another) == (other[at - 1], word[place - 1]):
                least = min(least, two_before[at - 1] + 1)
            row.append(least)
    return row[-1] <= 2
