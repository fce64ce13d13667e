"""Reads the words of a question that no leaf has as words that leaves have, at one edit, or two for a long word.

An edit swaps two neighbours, leaves out, adds or replaces a letter, but not in a name. Of several words the one whose stem
most leaves have is used, then an English one, then the first in this order. An index has stems, so every word at one edit
is made, and its stem looked up; two edits are looked for in stems. English words must also occur, or begin another form.

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
    r"""|(?<!\S)\S*(?:[\d_@#=<>/\\]|\w[.:]\w)\S*|(?<![^\W\d_])([^\W\d_]{5,30}+)(?![^\W\d_]|['’](?!s\b))"""
)
_LEAST = 4  # letters of a word that another one is read as
_MOST = 20  # words of a question that are read as others; each takes milliseconds
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
    words_with: Callable[[Sequence[str]], Iterable[str]],
) -> dict[str, str]:
    """Return the words that no leaf has in any of its readings, each with the word that it is read as.

    ``own`` is the reading of the question. ``leaves_with`` returns the number of leaves with each of some terms that leaves
    have, ``words_with`` the words of these leaves, and ``is_english`` whether a list has an English word.
    """
    terms_of, english = terms_of_chunks(own), own.language == "english"

    def best(words: Iterable[str]) -> str | None:
        terms = {each: terms_of[each] for each in words if len(each) >= _LEAST}
        leaves = leaves_with(chain.from_iterable(terms.values()))
        counts = {each: max((leaves.get(term, 0) for term in some), default=inf) for each, some in terms.items()}
        order = {each: (-count, not (english and is_english(each))) for each, count in counts.items() if count}
        return next(filter(None, (form(each, terms[each]) for each in sorted(order, key=order.__getitem__))), None)

    def form(word: str, terms: Sequence[str]) -> str | None:
        words = sorted(words_with(terms)) if english and terms else [word]
        return min((each for each in words if each.startswith(word) and terms_of[each] == terms), key=len, default=None)

    def nearest(written: str, stem: str) -> str | None:
        word, is_name = written.lower(), written[0].isupper()
        near = edits(word, replacing=not is_name)
        edited = best(each for each in near if each[0] == word[0] and (english or each[-_ENDING:] == word[-_ENDING:]))
        if edited is not None or is_name or not english or len(stem) < _LONG or not word.startswith(stem):
            return edited
        ending, once, begun = word[len(stem) :], {*edits(stem)}, sorted(corpus.beginning(stem[:_BEGINNING]))
        some = [each for each in begun if abs(len(each) - len(stem)) < 2 and len({*stem} ^ {*each}) < 5]  # to be fast
        return best(
            each + ending for each in some if terms_of[each + ending] == [each] and not once.isdisjoint(edits(each))
        )

    unknown = {}
    for word in dict.fromkeys(match[1] for match in _WORD.finditer(question) if match[1]):
        lower = word.lower()
        terms, stem = [terms_of_chunks(each)[lower] for each in readings], terms_of[lower][:1]
        if not word[1:].islower() or not all(terms) or leaves_with([HYPHENATED + lower, *chain(*terms)]):
            continue
        if not (any(map(is_english, (word, lower, *stem))) if english else len(word) <= _LEAST):
            unknown[word] = stem[0]
    read = {word: nearest(word, stem) for word, stem in islice(unknown.items(), _MOST)}
    return {word: each.capitalize() if word[0].isupper() else each for word, each in read.items() if each}


def in_other_words(question: str, words: Mapping[str, str]) -> str:
    """Return the question with these words of ``respelt`` replaced."""
    return _WORD.sub(lambda match: words.get(match[1], match[0]), question)


def edits(word: str, *, replacing: bool = True) -> list[str]:
    """Return every word at one edit of a word in lower case, in the letters of its alphabet."""
    letters = next((each for each in _ALPHABETS if not set(each).isdisjoint(word)), "")
    places = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    swapped = [before + after[1::-1] + after[2:] for before, after in places if len(after) > 1]
    less = [before + after[1:] for before, after in places if after]
    more = [before + letter + after for before, after in places for letter in letters]
    replaced = [before + letter + after[1:] for before, after in places if after and replacing for letter in letters]
    return [each for each in dict.fromkeys(swapped + less + more + replaced) if each != word]
