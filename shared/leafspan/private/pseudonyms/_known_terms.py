"""Finds names, addresses and other terms that the user lists."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

from leafspan.errors import InvalidArgument
from leafspan.private.pseudonyms._entities import SEPARATORS, Found
from leafspan.text import BROKEN_WORD, INVISIBLE, WITHOUT_SPACES, fold, fold_with_places

_RUN = re.compile(SEPARATORS.pattern.replace("[", "[^", 1))
# Scripts in which a name needs no space around it. Folded texts have Hangul syllables in parts.
_ANYWHERE = re.compile(f"[{WITHOUT_SPACES}\u1100-\u11ff\u3005-\u3007]")
_SYLLABLE = re.compile("[\u1100-\u115f][\u1160-\u11a7]|[\u1160-\u11a7][\u11a8-\u11ff]")  # two parts of one syllable
_IN_WORD = re.compile(rf"{BROKEN_WORD.pattern}|(?<=[^\W_])[-_\u2010\u2011](?=[^\W_])")  # search joins what is around it
_PARTING = re.compile("[\u115f\u1160\u200b\u200c\u3164\uffa0]")  # invisible characters that separate words
# Arabic and Hebrew join words such as "and", "in", "to" and "the" to a name.
_PREFIXES = re.compile(
    "[\u0648\u0641]?[\u0628\u0643\u0644\u0633]?(?:\u0627?\u0644)?|[\u05d5\u05d4\u05d1\u05db\u05dc\u05de\u05e9]{1,3}"
)
_LONGEST_PREFIX = 4
_FIRST_LETTERS = 4  # a term is looked up by its first letters
_OF_PREFIXES = "[\u0628\u0641\u0643\u0644\u0633\u0648\u05d1\u05d4\u05d5\u05db\u05dc\u05de\u05e9]"
_BEGINS_WITHIN = re.compile(f"{_ANYWHERE.pattern}|{_OF_PREFIXES}")
_ARTICLE, _TO_THE = "\u0627\u0644", "\u0644\u0644"  # the Arabic article, and its form after "to"


class _Term(NamedTuple):
    """A term without its letters: where its words must and may be separated, and the entity that it names."""

    parted: frozenset[int]
    may_be_parted: frozenset[int]
    kind: str
    value: str


class KnownTerms:
    """A finder of terms that the user lists, in any spelling.

    Differences in case, accents, Unicode form, invisible characters, white space, ``_`` or ``-`` between words, and a
    hyphen within a word, also at a line's end, do not matter. Terms match whole words: ``Smith`` matches in ``Smith's``,
    but not in ``Smithson``. Arabic and Hebrew terms also match after the prefixes that these languages join to words. In
    scripts without spaces, and in Korean, terms match anywhere, with or without blanks in them.
    """

    def __init__(self, terms: Mapping[str, Iterable[str | Sequence[str]]]) -> None:
        if not isinstance(terms, Mapping):
            raise InvalidArgument(f"known terms must be lists of texts by kind, got {type(terms).__name__}")
        self.kinds = frozenset(str(kind) for kind in terms)
        self._terms: defaultdict[str, list[_Term]] = defaultdict(list)  # by letters
        self._lengths: defaultdict[str, set[int]] = defaultdict(set)  # by the first letters
        for kind, spellings, value in _entries(terms):
            for spelling in spellings:
                self._add(kind, _Letters(spelling), value)
        self._first_letters = sorted({len(each) for each in self._lengths})

    def _add(self, kind: str, term: _Letters, value: str) -> None:
        places = range(1, len(term.text))
        parted = frozenset(place for place in places if place in term.beginnings and not term.is_optional_gap(place))
        may_be = frozenset(place for place in places if term.has_gap(place) or term.is_optional_gap(place))
        spellings = [term.text]
        if term.text.startswith(_ARTICLE):
            spellings.append(term.text.replace(_ARTICLE, _TO_THE, 1))
        for each in spellings:
            self._terms[each].append(_Term(parted, may_be, kind, value))
            self._lengths[each[:_FIRST_LETTERS]].add(len(each))

    def __call__(self, text: str) -> list[Found]:
        """See Finder."""
        return list(self._matches(_Letters(text)))

    def _matches(self, letters: _Letters) -> Iterator[Found]:
        text, ends = letters.text, dict[str, int]()  # the end of the last match, by its letters
        for start in letters.possible_beginnings():
            firsts = (text[start : start + first] for first in self._first_letters)
            lengths = [length for first in firsts for length in self._lengths.get(first, ())]
            keys = [key for length in lengths if (key := text[start : start + length]) in self._terms]
            if not keys or not letters.begins_word(start):
                continue
            for key in keys:
                end = start + len(key)
                if ends.get(key, 0) > start or not letters.is_parted(end):
                    continue
                gaps = [place - start for place in letters.separators(start, end) if place not in letters.in_words]
                for term in self._terms[key]:
                    if term.may_be_parted.issuperset(gaps) and all(letters.has_gap(start + each) for each in term.parted):
                        ends[key] = end
                        yield Found(*letters.origin(start, end), term.kind, term.value)


class _Letters:
    """The letters of a text, folded, with punctuation and without separators. A place is a number of letters."""

    def __init__(self, text: str) -> None:
        self._original = text
        folded, self._origins = fold_with_places(text)
        runs = [(run.start(), run[0]) for run in _RUN.finditer(folded)]
        self.text = "".join([run for _, run in runs])
        self._in_folded = [start for start, _ in runs]
        self._starts = list(accumulate((len(run) for _, run in runs[:-1]), initial=0))
        self._runs = [run for _, run in runs]
        self.beginnings = frozenset(self._starts)
        self._after_parting = frozenset(self._places_after(_PARTING) if self._origins else ())
        self.in_words = frozenset(self._places_after(_IN_WORD))

    def _places_after(self, pattern: re.Pattern[str]) -> Iterator[int]:
        for match in pattern.finditer(self._original):
            folded = bisect_left(self._origins, match.end(), key=itemgetter(0)) if self._origins else match.end()
            run = bisect_right(self._in_folded, folded) - 1
            if run >= 0 and folded < self._in_folded[run] + len(self._runs[run]):
                yield self._starts[run] + folded - self._in_folded[run]

    def possible_beginnings(self) -> Iterator[int]:
        """The places where words may begin, in order. A quick look finds them, and may find too many."""
        after_parting = sorted(self._after_parting)
        for start, run in zip(self._starts, self._runs, strict=False):
            if not run.isalnum() or (not run.isascii() and _BEGINS_WITHIN.search(run)):
                yield from range(start, start + len(run))
                continue
            yield start
            if after_parting:
                end = start + len(run)
                yield from after_parting[bisect_right(after_parting, start) : bisect_left(after_parting, end)]

    def begins_word(self, place: int) -> bool:
        """Whether a word can begin at a place, also after a prefix that is joined to the word."""
        if self.is_parted(place):
            return True
        if not _PREFIXES.fullmatch(self.text, place - 1, place):
            return False
        before = range(place - 1, max(-1, place - 1 - _LONGEST_PREFIX), -1)
        return any(self.is_parted(each) and _PREFIXES.fullmatch(self.text, each, place) for each in before)

    def is_parted(self, place: int) -> bool:
        """Whether a word can end before a place, and another word begin there."""
        if place in self.beginnings or place == len(self.text):
            return True
        before, after = self.text[place - 1], self.text[place]
        if _is_mark(after) or _SYLLABLE.match(before + after):
            return False
        in_word = (before.isalnum() or _is_mark(before)) and after.isalnum()
        return not in_word or place in self._after_parting or bool(_ANYWHERE.search(before + after))

    def is_optional_gap(self, place: int) -> bool:
        """Whether a name may have or lack a separator between the letters before and after a place."""
        before, after = self.text[place - 1], self.text[place]
        if _is_mark(after) or _SYLLABLE.match(before + after):
            return False
        return bool(_ANYWHERE.search(before + after)) or not after.isalnum() or not (before.isalnum() or _is_mark(before))

    def has_gap(self, place: int) -> bool:
        """Whether a separator or an invisible character is before a place."""
        return place in self.beginnings or bool(INVISIBLE.search(self._behind(place)))

    def separators(self, start: int, end: int) -> list[int]:
        """The places of separators between two other places."""
        return self._starts[bisect_right(self._starts, start) : bisect_left(self._starts, end)]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the text that holds the letters from one place to another, as (start, end)."""
        first, last = self._to_folded(start), self._to_folded(end - 1)
        return (first, last + 1) if self._origins is None else (self._origins[first][0], self._origins[last][1])

    def _behind(self, place: int) -> str:
        """The letter before a place as the text has it, with the invisible characters after it."""
        if self._origins is None or place == 0:
            return ""
        start, end = self._origins[self._to_folded(place - 1)]
        return self._original[start:end]

    def _to_folded(self, place: int) -> int:
        run = bisect_right(self._starts, place) - 1
        return self._in_folded[run] + place - self._starts[run]


def _is_mark(letter: str) -> bool:
    """Whether the character is written on the letter before it, like vowels of Hindi."""
    return not letter.isascii() and unicodedata.category(letter).startswith("M")


def _entries(terms: Mapping[str, Any]) -> Iterator[tuple[str, list[str], str]]:
    """Each entity's kind, its spellings, and the first spelling."""
    for kind, things in terms.items():
        if not isinstance(kind, str) or not kind.strip():
            raise InvalidArgument(f"the kind of known terms must be a text such as 'PERSON', got {type(kind).__name__}")
        if isinstance(things, str) or not isinstance(things, Iterable):
            raise InvalidArgument(f"the known terms of kind {kind!r} must be a list of texts, got {type(things).__name__}")
        for thing in things:
            spellings = [thing] if isinstance(thing, str) else thing
            texts = list(spellings) if isinstance(spellings, Iterable) else []
            if not texts or not all(isinstance(text, str) and SEPARATORS.sub("", fold(text)) for text in texts):
                raise InvalidArgument(
                    f"a known term of kind {kind!r} must be a text that is not blank, or a list of such texts, got "
                    f"{'a blank text' if isinstance(thing, str) else type(thing).__name__}"
                )
            yield kind, texts, texts[0]
