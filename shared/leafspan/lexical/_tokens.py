"""The words of a text, each written in one way wherever it stands."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, pairwise

# Characters of scripts without spaces, or with particles joined to words: kana, ideographs with their extensions, Hangul.
_CJK = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_ANY_CJK = re.compile(f"[{_CJK}]")
_CJK_RUN = re.compile(f"([{_CJK}]+)")
_ACCENT = re.compile("[\u0300-\u036f]")
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_POSSESSIVE = re.compile(r"'s\b", re.IGNORECASE)


def find_words(text: str, language: str) -> list[str]:
    """The words of a text in order, case-folded and in Unicode's compatibility form (NFKC).

    A word is a run of letters and digits with their marks. COVID-19 and ``max_words`` are two words each. Initials (U.S.)
    and numbers (1,000 or 2.5) stay whole. Each pair of neighbouring characters in a run of Chinese, Japanese or Korean
    characters is a word; a run of one character is one word.

    English letters lose their accents, since writers often leave these out. An apostrophe is part of an English word. In
    other languages it mostly stands between two words, and so it separates them.
    """
    english = language == "english"
    if text.isascii() and language != "turkish":
        return _ascii_words(english).findall(text.lower().replace("_", " "))
    words = _words(english)
    if language == "turkish":
        text = text.replace("İ", "i").replace("I", "ı")
    text = unicodedata.normalize("NFKC", text).casefold().replace("_", " ")
    if english:
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text))).replace("’", "'")
    if not _ANY_CJK.search(text):
        return words.findall(text)
    return _in_pairs(text, words)


def find_plain_words(text: str) -> list[str]:
    """The words of a text in order, in any language: like ``find_words``, but each word is letters and digits alone.

    So initials and numbers with commas are several words, and a possessive 's is left out. It takes a fifth of the time.
    """
    if text.isascii():
        if "'" in text:
            text = _POSSESSIVE.sub("", text)
        return text.translate(_PLAIN).split()
    text = unicodedata.normalize("NFKC", text).casefold().replace("_", " ").replace("’", "'")
    text = _POSSESSIVE.sub("", unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text))))
    return _in_pairs(text, _plain_words()) if _ANY_CJK.search(text) else _plain_words().findall(text)


def _in_pairs(text: str, words: re.Pattern[str]) -> list[str]:
    """The words of a text, where each pair of neighbouring characters of a script without spaces is one."""
    found: list[str] = []
    for index, piece in enumerate(_CJK_RUN.split(text)):  # every second piece is a run of such characters
        if index % 2 == 0:
            found += words.findall(piece)
        elif len(piece) == 1:
            found.append(piece)
        else:
            found += [first + second for first, second in pairwise(piece)]
    return found


def normalize_word(word: str) -> str:
    """A word of ``find_words`` without optional characters: ``us`` for U.S., 1000 for 1,000, ``john`` for John's."""
    if word.isalnum():
        return word
    if word[0].isdecimal():
        return word.replace(",", "")
    return word.removesuffix("'s").replace(".", "")


@lru_cache
def _words(english: bool) -> re.Pattern[str]:
    return re.compile(_word(rf"[\w{_marks()}]+", english))


@lru_cache
def _plain_words() -> re.Pattern[str]:
    return re.compile(rf"[\w{_marks()}]+")


@lru_cache
def _ascii_words(english: bool) -> re.Pattern[str]:
    return re.compile(_word(r"\w+", english), re.ASCII)  # finds the same words in ASCII text, in two thirds of the time


def _word(letters: str, english: bool) -> str:
    initials = r"(?<!\w)[^\W\d](?:\.[^\W\d])+(?!\w)"
    number = r"\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)+"
    return rf"{initials}|{number}|{letters}(?:'{letters})*" if english else rf"{initials}|{number}|{letters}"


def _marks() -> str:
    """Combining marks, as ranges for a character class. Without them, words of Hindi would be cut at each mark."""
    marks = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    ranges = []
    for _, group in groupby(enumerate(marks), key=lambda place: place[1] - place[0]):
        run = [code for _, code in group]
        ranges.append(f"{chr(run[0])}-{chr(run[-1])}")
    return "".join(ranges)
