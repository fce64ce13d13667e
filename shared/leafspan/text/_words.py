"""Counts the words of a text, the unit of leaves and budgets, and folds a text for search, privacy and mentions.

Folding makes different spellings of a word equal. Each character is folded alone, so the time for a long run of combining
marks is proportional to its length. Python's ``unicodedata.normalize`` takes quadratic time for such a run, so only this
module normalises text from outside.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

# Chinese and Japanese are written without spaces. Each character of these scripts counts as a word, and so does each
# Korean one, as in word processors. (Kana, ideographs with their extensions, Hangul, half-width forms.)
_CJK_BELOW = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_CJK_ABOVE = "\U00020000-\U0003ffff"
_CJK = f"{_CJK_BELOW}{_CJK_ABOVE}"
LETTERS_IN_A_ROW = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u17d7\u17dc\u17dd"
    "\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
)
"""Letters and marks of Thai, Lao, Burmese and Khmer, for a class of characters: alphabets without spaces between words."""

# Of these, the marks: each belongs to the letter before it.
_MARKS_IN_A_ROW = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d"
    "\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\ua9e5\uaa7b-\uaa7d"
)
WITHOUT_SPACES = f"{_CJK}{LETTERS_IN_A_ROW}"
"""Scripts without spaces between words, or with particles joined to them, for a class of characters."""

_WORD = re.compile(f"[{_CJK}]|(?:[{LETTERS_IN_A_ROW}][{_MARKS_IN_A_ROW}]*){{1,4}}|[^\\s{WITHOUT_SPACES}]+")
_ANY = re.compile(f"[{_CJK_BELOW}{LETTERS_IN_A_ROW}]|[{_CJK_ABOVE}]")  # two classes take half the time of one


_LINE_END = r"[ \t]*(?:\r\n?|\n)[ \t]*"
BROKEN_WORD = re.compile(rf"(?<=[^\W_])(?:{_LINE_END}(?=[\xac\xad]))?([-\xac\xad\u2010\u2011]){_LINE_END}(?=[^\W_])")
"""Where a line's end breaks a word: a hyphen or soft hyphen (``\xac`` in some old files), the line's end, and blanks.

A soft hyphen may stand on a line of its own.
"""

_LETTER = re.compile("[^\\W_]|[\u2600-\u27bf\U0001f000-\U0001faff]")


def has_word(text: str) -> bool:
    """Whether a text has a letter, a digit or an emoji: something to find, besides white space and punctuation."""
    return _LETTER.search(without_invisible(text)) is not None


def count_words(text: str) -> int:
    """The number of words of a text: runs without white space, and each Chinese, Japanese or Korean character.

    Four letters of Thai, Lao, Burmese or Khmer count as a word, with their marks.
    """
    if text.isascii() or not _ANY.search(text):
        return len(text.split())
    return len(_WORD.findall(text))


def end_of_words(text: str, words: int, start: int = 0) -> int:
    """The end of the first ``words`` words from ``start``, with the white space after them, or the text's end."""
    for number, match in enumerate(_WORD.finditer(text, start)):
        if number == words:
            return match.start()
    return len(text)


_BEGINNING = 60  # characters


def first_words(text: str, most: int = _BEGINNING) -> str:
    """The start of a text as a one-line Python literal without control characters."""
    line = " ".join(text[: 8 * most].split())
    if len(line) <= most and len(text) <= 8 * most:
        return repr(line)
    words = line[: most - 3].rpartition(" ")[0] or line[: most - 3]
    return repr(f"{words}...")


_LETTER_WITH = re.compile(r"LATIN (?:SMALL|CAPITAL) LETTER ([A-Z]) WITH ")
_WITHOUT_DECOMPOSITION = {"ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
_MOST_REPLACED = 40  # different letters; looking up each character is faster for more letters than replacing them
_ALIKE = {"\u2019": "'", "\u2018": "'", "\u02bc": "'"} | dict.fromkeys("\u2010\u2011\u2212", "-")
# Unicode's property Default_Ignorable_Code_Point, and the marks of annotations between lines.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_INVISIBLE}]")
"""One invisible character: a soft hyphen, joiner, zero-width space, direction, variation selector, tag or filler."""

# Accents, the points of Hebrew and the short vowels of Arabic: writers may leave them out.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)


def fold(text: str, *, accents: bool = False) -> str:
    """The text without case, invisible characters and accents, in Unicode's compatibility form (NFKC).

    Letters that Unicode does not decompose lose their strokes (ł, ø, đ); æ, œ and ß become two letters. All four letters i
    of Turkish are one. Apostrophes are ``'``, and hyphens ``-``.
    """
    if text.isascii():
        return text.lower()
    folded = _WITH_ACCENTS if accents else _PLAIN
    text = text.lower()
    changed = [each for each in set(text) if not each.isascii() and folded[each] != each]
    if len(changed) > _MOST_REPLACED:
        text = "".join(map(folded.__getitem__, text))
    else:
        for each in changed:
            text = text.replace(each, folded[each])
    return unicodedata.normalize("NFC", _in_order(text))


def fold_with_places(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """The folded text, decomposed, and for each of its characters the (start, end) of its source in the text.

    Invisible characters and accents belong to the character before them. Texts that ``fold`` makes equal are also equal
    here.
    """
    if text.isascii():
        return text.lower(), None
    parts = [unicodedata.normalize("NFD", _PLAIN[each]) for each in text]
    ends = list(accumulate(bool(part) and not unicodedata.combining(part[0]) for part in parts))
    starts: dict[int, int] = {}
    stops: dict[int, int] = {}
    for place, piece in enumerate(ends):
        starts.setdefault(piece, place)
        stops[piece] = place + 1
    places = [(starts[piece], stops[piece]) for part, piece in zip(parts, ends, strict=True) for _ in part]
    return _in_order("".join(parts)), places  # all marks on a letter have the letter's place


def without_invisible(text: str) -> str:
    """The text without invisible characters."""
    return text if text.isascii() else INVISIBLE.sub("", text)


def normalize(form: str, text: str) -> str:
    """``unicodedata.normalize`` in time proportional to the text: only the first 30 of a run of combining marks stay."""
    if text.isascii():
        return text
    return unicodedata.normalize(form, _too_many_marks().sub(r"\1", text))  # type: ignore[arg-type]


class _Folded(dict[str, str]):
    """The folded form of each character, computed at its first use."""

    def __init__(self, accents: bool) -> None:
        super().__init__()
        self._accents = accents

    def __missing__(self, letter: str) -> str:
        decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
        decomposed = "".join(_ALIKE.get(each, each) for each in INVISIBLE.sub("", decomposed))
        if not self._accents:
            decomposed = "".join(map(_without_stroke, _OPTIONAL.sub("", decomposed)))
        folded = self[letter] = unicodedata.normalize("NFC", decomposed)
        return folded


_PLAIN, _WITH_ACCENTS = _Folded(accents=False), _Folded(accents=True)


def _without_stroke(letter: str) -> str:
    if letter in _WITHOUT_DECOMPOSITION:
        return _WITHOUT_DECOMPOSITION[letter]
    match = None if letter.isascii() else _LETTER_WITH.match(unicodedata.name(letter, ""))
    return match[1].lower() if match else letter


def _in_order(text: str) -> str:
    """The text with the marks on each letter in Unicode's order, as in ``normalize``."""
    return _several_marks().sub(lambda run: "".join(sorted(run[0], key=unicodedata.combining)), text)


@lru_cache(maxsize=1)
def _several_marks() -> re.Pattern[str]:
    return re.compile(f"{_mark()}{{2,}}")


@lru_cache(maxsize=1)
def _too_many_marks() -> re.Pattern[str]:
    return re.compile(f"({_mark()}{{30}}){_mark()}+")


def _mark() -> str:
    """A pattern for one character that combines with the letter before it."""
    marks = [chr(code) for code in range(0x300, 0x1F000) if unicodedata.combining(chr(code))]
    below, above = ("".join(each for each in marks if (each > "\uffff") is high) for high in (False, True))
    return f"(?:[{below}]|(?![\\x00-\\uffff])[{above}])"  # classes without characters above U+FFFF are ten times as fast


UnicodeErrors = Literal["strict", "replace"]
"""How to treat a text with half of a surrogate pair: raise an error, or replace each half by U+FFFD."""

_HALF = re.compile("[\ud800-\udfff]")


def without_surrogates(value: Any) -> Any:
    """The value with U+FFFD instead of each half, also in lists, mappings and dataclasses. Texts keep their length."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(map(without_surrogates, value))
    if isinstance(value, Mapping):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{each.name: without_surrogates(getattr(value, each.name)) for each in fields(value) if each.init}
        )
    return value
