"""Folds text for search, privacy and mentions, so that different spellings of a word become equal.

Each character is folded alone, so the time for a long run of combining marks is proportional to its length. Python's
``unicodedata.normalize`` takes quadratic time for such a run, so only this module normalises text from outside.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import accumulate

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
    found = None if letter.isascii() else _LETTER_WITH.match(unicodedata.name(letter, ""))
    return found[1].lower() if found else letter


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
